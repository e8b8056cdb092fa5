/**
 * A resource is one file, a feature is one folder and a line in main.ts, a figure is one file: with the three and no other
 * change, the program builds, its sandbox serves the resource, its commands sync and show what is new, and every list of
 * them includes it. Runs a copy of the project, without the bundle, which contains whatever exists.
 */
import { execFile } from 'node:child_process'
import { copyFileSync, cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { createSandbox as createSandboxHere, Sandbox } from '../../src/sandbox/index.js'
import { shopsync } from '../support/harness/call.js'
import { configure } from '../support/harness/place.js'
import { scratch } from '../support/harness/scratch.js'
import { isWhole } from '../support/harness/size.js'
import { root } from '../support/harness/tree.js'
import { query } from '../support/harness/views.js'
import { reopen, warehouses } from '../support/harness/warehouse.js'

const project = scratch()
/** Milliseconds: each is a build or several runs, on a machine that does other things too. */
const patience = 240_000

/** Every word of the vocabulary, and a path that differs from the name. */
const widgets = `import {
  boolean, cents, defineResource, field, id, integer, json, many, nullable, number, object, one, oneOf, ref, scalars,
  stamps, text, timestamp,
} from './resource.js'

const gears = many(
  {
    table: 'gears',
    key: 'id',
    ownerColumn: 'gear_id',
    fields: {
      id: id('Id.'),
      ...stamps,
      teeth: integer('Teeth.'),
      marks: many({ table: 'marks', key: 'id', fields: { id: id('Id.'), word: nullable(text('Word.')) } }, 'Marks.'),
    },
  },
  'Gears.',
)

export default defineResource({
  name: 'widgets',
  singular: 'widget',
  entity: 'Widget',
  doc: 'A made-up resource.',
  source: 'nowhere',
  grain: 'one widget of a tenant',
  path: 'workshop/widgets',
  fields: {
    id: id('Id of the widget.'),
    ...stamps,
    title: text('Title.'),
    price_cents: cents('Price.'),
    weight: nullable(number('Weight.')),
    state: oneOf(['new', 'worn'], 'State.'),
    spare: boolean('Whether it is a spare.'),
    customer_id: ref('customers', 'Whose it is.', { indexed: true }),
    parent_id: nullable(ref('widgets', 'The widget that it is part of.')),
    serial: field('id', 'A number from elsewhere.'),
    checked_at: nullable(timestamp('When it was checked.')),
    notes: json('Anything.'),
    size: nullable(object({ width: number('Width.'), unit: text('Unit.') }, 'Size.')),
    gears,
    motor: one({ table: 'motors', key: 'id', fields: { id: id('Id.'), name: text('Name.') } }, 'Motor.'),
    colors: scalars({ table: 'colors', column: 'color', key: 'value', of: text('Color.') }, 'Colors.'),
    sizes: scalars({ table: 'sizes', column: 'size', key: 'position', of: integer('Size.') }, 'Sizes.'),
  },
})
`

const tables = ['widgets', 'gears', 'marks', 'motors', 'colors', 'sizes'].map((name) =>
  name === 'widgets' ? name : `widget_${name}`,
)

/** A feature: its command, its settings, and a table of its own. */
const greetings = {
  'feature.ts': `import type { Command, Feature } from '../../shell/command.js'

const greetCommand: Command = {
  name: 'greet',
  summary: 'greet somebody, and remember how often',
  examples: [['shopsync greet Ada', 'greets Ada']],
  argument: { name: 'who', description: 'who is greeted' },
  run: async (invocation) => {
    const { withContext } = await import('../../shell/commandcontext.js')
    const { greet } = await import('./work.js')
    return withContext(invocation, async (context) => {
      const { word, who, times } = await greet(context, invocation.argument ?? '')
      await invocation.out.answer({ word, who, times }, \`\${word}, \${who} (\${times})\`)
      return 0
    })
  },
}

export const greetings: Feature = {
  command: greetCommand,
  tables: async () => (await import('./tables.js')).greetingTables,
  settings: async () => (await import('./tables.js')).greetingSection,
}
`,
  'tables.ts': `import { integer, text } from '../../../schema/resource.js'
import { section, textLeaf } from '../../engine/config/leaf.js'
import { configSection, settingsOf } from '../../engine/config/section.js'
import { define } from '../../engine/model/statetable.js'

export const greetingTables = {
  sync_greetings: define({
    doc: 'Who was greeted.',
    key: ['who'],
    fields: { who: text('Who.'), times: integer('How often.') },
  }),
} as const

export const greetingSection = configSection({
  name: 'greetings',
  shape: section({ word: textLeaf('a word').default('Hello').describe('The word that greets.') }, 'Greetings.'),
})

export const greetingSettings = settingsOf(greetingSection)
`,
  'work.ts': `import type { RowsOf } from '../../engine/model/statetable.js'
import { openLease } from '../../engine/warehouse/openlease.js'
import type { CommandContext } from '../../shell/command.js'
import { greetingSettings, type greetingTables } from './tables.js'

export async function greet(context: CommandContext, who: string) {
  const { clock, config, invocation } = context
  const warehouse = await context.readyWarehouse()
  await using lease = await openLease({ warehouse, clock, signal: invocation.signals.signal }, 'greet')
  const db = lease.warehouse.db.withTables<RowsOf<typeof greetingTables>>()
  const before = await db.selectFrom('sync_greetings').select('times').where('who', '=', who).executeTakeFirst()
  const times = Number(before?.times ?? 0) + 1
  await lease.warehouse.write([
    db
      .insertInto('sync_greetings')
      .values({ who, times })
      .onConflict((conflict) => conflict.column('who').doUpdateSet({ times }))
      .compile(),
  ])
  return { word: greetingSettings(config).word, who, times }
}
`,
}

const figure = 'labor_before_discount_cents'

const declaration = `import { defineFigure } from '../figure.js'
import orders from '../views/orders.js'

export default defineFigure({
  name: '${figure}',
  label: 'Labor before discount',
  doc: 'Labor on invoices, before its discount.',
  unit: 'cents',
  relation: orders,
  where: "state = 'invoice'",
  day: 'closed_on',
  numerator: { sum: 'labor_cents' },
  by: ['advisor_key'],
  lists: ['repair_orders'],
})
`

/** The copy's own environment: this process is itself a worker of vitest. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST')))
const ran = (...words: string[]): Promise<{ code: number; stdout: string; stderr: string }> =>
  promisify(execFile)('node', words, { cwd: project, env, maxBuffer: 1e8 }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (failed: { code: number; stdout: string; stderr: string }) => failed,
  )
const artifacts = 'dist/src/artifacts.js'

/** The copy's compiled program in this process: what it was built from is seen without starting it each time. */
let grown: typeof shopsync
/** A small sandbox of the copy. */
let sandbox: Sandbox

const read = (file: string): string => readFileSync(join(project, file), 'utf8')
const write = (file: string, text: string): void => writeFileSync(join(project, file), text, { mode: 0o600 })

beforeAll(async () => {
  for (const part of [
    ...['docs', 'jobs', 'schema', 'src', 'test/schema', 'package.json', 'tsconfig.json'],
    ...['call', 'dictionary', 'process', 'scratch', 'tree'].map((name) => `test/support/harness/${name}.ts`),
    // Compiled as it was: only what is added, and what depends on it, is compiled here.
    ...['dist/schema', 'dist/src', 'dist/test/schema', 'dist/test/support', 'dist/.tsbuildinfo'],
  ])
    cpSync(join(root, part), join(project, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'))
  write('schema/widgets.ts', widgets)
  write(`schema/figures/${figure}.ts`, declaration)
  mkdirSync(join(project, 'src/features/greetings'))
  for (const [name, text] of Object.entries(greetings)) write(`src/features/greetings/${name}`, text)
  const line = "import { greetings } from './features/greetings/feature.js'\n"
  write('src/main.ts', line + read('src/main.ts').replace(/\n\]\s*$/, '\n  greetings,\n]\n'))
  for (const script of ['schema/registry.mjs', 'node_modules/typescript/bin/tsc -p tsconfig.json', artifacts])
    expect(await ran(...script.split(' '))).toMatchObject({ code: 0 })
  const call = (await import(join(project, 'dist/test/support/harness/call.js'))) as {
    shopsync: typeof shopsync
  }
  grown = call.shopsync
  const copy = (await import(join(project, 'dist/src/sandbox/index.js'))) as {
    createSandbox: typeof createSandboxHere
  }
  sandbox = await copy.createSandbox({ tenants: [{ id: 101, shops: 1, repairOrders: 60 }], seed: 1 })
}, patience)
afterAll(() => sandbox.close())

describe.each(warehouses())('an existing warehouse on $name', (kind) => {
  const at = { timeout: patience }
  const lists = ['customers', 'repair_orders', 'shops']
  const run = (...words: string[]) => grown(words, { cwd: project })
  let address: Awaited<ReturnType<typeof kind.viewed>>
  let warehouse: Awaited<ReturnType<typeof reopen>>

  const configured = (resources: readonly string[], more: object = {}): void =>
    copyFileSync(configure(sandbox, address, resources, more), join(project, 'config.json'))
  /** On Postgres, tables are in another schema than views. */
  const ofTables = (text: string) =>
    query(
      warehouse,
      text.replaceAll(/\{(\w+)\}/g, (_, name: string) => warehouse.dialect.views().sql.table(name)),
    )
  const count = async (from: string): Promise<number> =>
    Number((await ofTables(`select count(*) as n from ${from}`))[0]?.['n'])

  beforeAll(async () => {
    address = await kind.viewed()
    configured(lists)
    // By the program as it was.
    expect(await shopsync(['sync'], { cwd: project })).toMatchObject({ code: 0 })
    warehouse = await reopen(address)
  }, patience)
  afterAll(() => warehouse.close())

  it('has the figure after migrate, without a request, and shows it on the page', at, async () => {
    const requests = sandbox.requests.length
    const { code, stdout } = await run('migrate')
    expect([code, stdout]).toEqual([0, expect.stringContaining('shop_months: replace view')])
    expect(sandbox.requests.length).toBe(requests)
    const [months] = await query(warehouse, `select sum(${figure}) as n from {shop_months}`)
    const [orders] = await query(
      warehouse,
      "select sum(labor_cents) as n from {orders} where state = 'invoice'",
    )
    expect(Number(months?.['n'])).toBeGreaterThan(1000)
    expect(Number(months?.['n'])).toBe(Number(orders?.['n']))
    expect(await run('report', '--out', 'page.html')).toMatchObject({ code: 0 })
    expect(read('page.html')).toContain('Labor before discount')
  })

  it('syncs the new resource, its past and what the shops do with it', at, async () => {
    configured([...lists, 'widgets'], { resources: { widgets: { path: 'workshop/widgets' } } })
    const moved: number[] = []
    for (const command of ['sync', 'sync', 'reconcile']) {
      const { stdout } = await run(command, '--json', '--quiet')
      const { status, cursors } = JSON.parse(stdout) as {
        status: string
        cursors: { resource: string; records: number }[]
      }
      const own = cursors.filter(({ resource }) => resource === 'widgets')
      expect([status, own]).toMatchObject(['ok', [{ status: 'ok', completeness: 'proven' }]])
      moved.push(own[0]?.records ?? 0)
      sandbox.work(200)
    }
    expect(moved[1]).toBeGreaterThan(0)
    for (const table of tables) expect([table, await count(`{${table}}`)]).not.toEqual([table, 0])
    expect(await count('{sync_quarantine}')).toBe(0)
    expect(await count('{widgets} where _extra is not null')).toBe(0)
    expect(
      await count('{widgets} w join {customers} c on c.tenant_id = w.tenant_id and c.id = w.customer_id'),
    ).toBe(await count('{widgets}'))
    for (const column of ['weight', 'parent_id', 'checked_at', 'size_width'])
      for (const test of ['is null', 'is not null'])
        expect([column, test, await count(`{widgets} where ${column} ${test}`)]).not.toEqual([
          column,
          test,
          0,
        ])
  })

  it('keeps the table of the new feature, whose settings are checked with the others', at, async () => {
    configured(lists)
    expect((await run('greet', 'Ada')).stdout).toBe('Hello, Ada (1)\n')
    expect(JSON.parse((await run('greet', 'Ada', '--json')).stdout)).toEqual({
      word: 'Hello',
      who: 'Ada',
      times: 2,
    })
    expect(await ofTables('select * from {sync_greetings}')).toMatchObject([{ who: 'Ada', times: 2 }])
    configured(lists, { greetings: { word: 'Howdy' } })
    expect((await run('greet', 'Bob')).stdout).toBe('Howdy, Bob (1)\n')
    configured(lists, { greetings: { word: 7 } })
    const { code, stderr } = await run('greet', 'Bob')
    expect([code, stderr]).toEqual([2, expect.stringMatching(/greetings\.word[\s\S]*expected a word/)])
    configured(lists, { greeting: {} })
    expect((await run('greet', 'Bob')).stderr).toContain('greetings')
  })
})

it('every list of resources, tables, commands, settings and figures includes what is new', async () => {
  for (const table of tables) expect(read(`schema/dictionary/${table}.md`)).toContain(table)
  const settings = read('schema/config.schema.json')
  for (const said of ['widgets', 'The word that greets.']) expect(settings).toContain(said)
  expect(read('docs/configuration.md')).toContain('`greetings.word`')
  // On whichever page there was room.
  const [, page] = /\[`shopsync greet`\]\(([^#)]*)#shopsync-greet\)/.exec(read('docs/commands.md')) ?? []
  expect(read(`docs/${page || 'commands.md'}`)).toContain('## shopsync greet')
  expect(read('schema/dictionary/README.md')).toContain('sync_greetings')
  expect(read(`schema/dictionary/figures/${figure}.md`)).toContain('Labor before discount')
  expect((await grown(['--help'])).stdout).toMatch(/^ {2}greet <who> +greet somebody/m)
  const dictionary = async (format: string): Promise<string> =>
    (await grown(['dictionary', '--format', format], { cwd: scratch() })).stdout
  const { figures } = JSON.parse(await dictionary('json')) as {
    figures: { name: string; numerator: string }[]
  }
  expect(figures.find(({ name }) => name === figure)).toMatchObject({ numerator: 'sum(labor_cents)' })
  for (const format of ['dbt', 'superset']) expect(await dictionary(format)).toContain(figure)
})

it('a figure that is wrong fails the build', { timeout: patience }, async () => {
  // To the compiler, both are texts: what refuses the wrong one is the build's last step.
  const compiled = `dist/schema/figures/${figure}.js`
  write(compiled, read(compiled).replace('labor_cents', 'labor_rate'))
  const { code, stderr } = await ran(artifacts)
  const said = `schema/figures/${figure}.ts: found labor_rate, expected columns of orders: `
  expect([code, stderr]).toEqual([1, expect.stringContaining(said)])
})

it.runIf(isWhole())(
  'the new declarations pass the tests of the declarations',
  { timeout: patience },
  async () => {
    // All files in one thread, which loads the declarations once.
    const once = ['--pool=threads', '--no-isolate', '--no-file-parallelism']
    const words = ['run', '--dir', 'test/schema', ...once, `--testTimeout=${patience}`, '--reporter=json']
    const { stdout } = await ran('node_modules/vitest/vitest.mjs', ...words)
    const { success, numPassedTests } = JSON.parse(stdout) as { success: boolean; numPassedTests: number }
    expect(success).toBe(true)
    expect(numPassedTests).toBeGreaterThan(10)
  },
)
