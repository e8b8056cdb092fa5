/**
 * A resource is one file, a feature is one folder and a line in main.ts, a figure is one file: with the three and no other
 * change, the program builds, its sandbox serves the resource, its commands sync and show what is new, and every list of
 * them includes it. Runs a copy of the project, without the bundle, which contains whatever exists.
 */
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import BetterSqlite3 from 'better-sqlite3'
import { beforeAll, describe, expect, it } from 'vitest'
import { resources } from '../../schema/index.js'
import type { createSandbox as createSandboxHere } from '../../src/sandbox/index.js'
import { shopsync } from '../support/harness/call.js'
import { configure } from '../support/harness/place.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
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
  'feature.ts': `import type { Feature } from '../../shell/command.js'
import { greetCommand } from './command.js'

export const greetings: Feature = {
  command: greetCommand,
  tables: async () => (await import('./tables.js')).greetingTables,
  settings: async () => (await import('./settings.js')).greetingSection,
}
`,
  'command.ts': `import type { Command } from '../../shell/command.js'

export const greetCommand: Command = {
  name: 'greet',
  summary: 'greet somebody, and remember how often',
  examples: [['shopsync greet Ada', 'greets Ada']],
  argument: { name: 'who', description: 'who is greeted' },
  run: async (invocation) => {
    const [{ withContext }, { greet }, { greetingText }] = await Promise.all([
      import('../../shell/commandcontext.js'),
      import('./work.js'),
      import('./words.js'),
    ])
    return withContext(invocation, async (context) => {
      const greeting = await greet(context, invocation.argument ?? '')
      await invocation.out.answer(greeting, greetingText(greeting))
      return 0
    })
  },
}
`,
  'words.ts': `import type { Greeting } from './work.js'

export const greetingText = ({ word, who, times }: Greeting): string => \`\${word}, \${who} (\${times})\`
`,
  'settings.ts': `import { section, textLeaf } from '../../engine/config/leaf.js'
import { configSection, settingsOf } from '../../engine/config/section.js'

export const greetingSection = configSection({
  name: 'greetings',
  shape: section({ word: textLeaf('a word').default('Hello').describe('The word that greets.') }, 'Greetings.'),
})

export const greetingSettings = settingsOf(greetingSection)
`,
  'tables.ts': `import { integer, text } from '../../../schema/resource.js'
import { define } from '../../engine/model/statetable.js'

export const greetingTables = {
  sync_greetings: define({
    doc: 'Who was greeted.',
    key: ['who'],
    fields: { who: text('Who.'), times: integer('How often.') },
  }),
} as const
`,
  'work.ts': `import type { RowsOf } from '../../engine/model/statetable.js'
import { openLease } from '../../engine/warehouse/openlease.js'
import type { CommandContext } from '../../shell/command.js'
import { greetingSettings } from './settings.js'
import type { greetingTables } from './tables.js'

export interface Greeting {
  readonly word: string
  readonly who: string
  readonly times: number
}

export async function greet(context: CommandContext, who: string): Promise<Greeting> {
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

interface Answer {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

/** The copy's own environment: this process is itself a worker of vitest. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST')))
const ran = (...words: string[]): Promise<Answer> =>
  promisify(execFile)('node', words, { cwd: project, env, maxBuffer: 1e8 }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (failed: Answer) => failed,
  )

/** Calls the copy's compiled program in this process: what it was built from is seen without starting it each time. */
async function grown(...words: string[]): Promise<Answer> {
  const copy = (await import(join(project, 'dist/test/support/harness/call.js'))) as {
    shopsync: typeof shopsync
  }
  const { code, stdout, stderr } = await copy.shopsync(words, { cwd: project })
  return { code: code ?? -1, stdout, stderr }
}
const artifacts = 'dist/src/artifacts.js'

const read = (file: string): string => readFileSync(join(project, file), 'utf8')
const write = (file: string, text: string): void => writeFileSync(join(project, file), text, { mode: 0o600 })

interface Run {
  readonly status: string
  readonly cursors: readonly {
    readonly resource: string
    readonly status: string
    readonly completeness: string
    readonly records: number
  }[]
}

/** A first sync from a small sandbox of the copy, another one after the shops have worked, and a reconcile. */
async function runs(): Promise<Run[]> {
  const { createSandbox } = (await import(join(project, 'dist/src/sandbox/index.js'))) as {
    createSandbox: typeof createSandboxHere
  }
  const sandbox = await createSandbox({ tenants: [{ id: 101, shops: 1, repairOrders: 60 }], seed: 1 })
  const { url: baseUrl, partnerId, secret } = sandbox
  const settings = { api: { baseUrl, partnerId, secret }, warehouse: { url: 'sqlite:warehouse.db' } }
  write('config.json', JSON.stringify(settings))
  const run = async (command: string): Promise<Run> =>
    JSON.parse((await grown(command, '--json', '--quiet')).stdout) as Run
  const first = await run('sync')
  sandbox.work(200)
  const all = [first, await run('sync'), await run('reconcile')]
  await sandbox.close()
  return all
}

/** How many widgets a small sandbox of the copy serves; the demo syncs only these lists. */
async function served(): Promise<number> {
  const program = `
    const { createSandbox } = await import('./dist/src/sandbox/index.js')
    const sandbox = await createSandbox({ tenants: 1, repairOrders: 5 })
    const headers = { 'X-Api-Partner-Id': sandbox.partnerId, 'X-Api-Secret': sandbox.secret }
    const answer = await fetch(sandbox.url + '/api/v1/tenants/101/workshop/widgets', { headers })
    console.log(answer.status === 200 ? (await answer.json()).total_count : 0)
    await sandbox.close()`
  return Number((await ran('--input-type=module', '--eval', program)).stdout)
}

const sandbox = await sandboxOfFile({ tenants: 1, repairOrders: 15, seed: 3, until: '2026-11-20T12:00:00Z' })

beforeAll(async () => {
  for (const part of [
    'docs',
    'jobs',
    'schema',
    'src',
    'test/schema',
    'test/support/harness/call.ts',
    'test/support/harness/dictionary.ts',
    'test/support/harness/process.ts',
    'test/support/harness/scratch.ts',
    'test/support/harness/tree.ts',
    'package.json',
    'tsconfig.json',
    // Compiled as it was: only what is added, and what depends on it, is compiled here.
    'dist/schema',
    'dist/src',
    'dist/test/schema',
    'dist/test/support',
    'dist/.tsbuildinfo',
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
}, patience)

describe('a resource', () => {
  it('syncs the new resource, its past and what the shops do with it', { timeout: patience }, async () => {
    const found = (await runs()).map(({ status, cursors }) => ({
      status,
      widgets: cursors.filter(({ resource }) => resource === 'widgets'),
    }))
    expect(found.map(({ status }) => status)).toEqual(['ok', 'ok', 'ok'])
    for (const { widgets: cursors } of found) {
      expect(cursors).toHaveLength(1)
      for (const cursor of cursors) expect(cursor).toMatchObject({ status: 'ok', completeness: 'proven' })
    }
    const moved = found[1]?.widgets.reduce((sum, { records }) => sum + records, 0)
    expect(moved).toBeGreaterThan(0)

    const db = new BetterSqlite3(join(project, 'warehouse.db'), { readonly: true })
    const count = (sql: string): unknown => db.prepare(`select count(*) from ${sql}`).pluck().get()
    for (const table of tables) expect([table, count(table)]).not.toEqual([table, 0])
    expect(count('sync_quarantine')).toBe(0)
    expect(count('widgets where _extra is not null')).toBe(0)
    expect(count('widgets w join customers c on c.tenant_id = w.tenant_id and c.id = w.customer_id')).toBe(
      count('widgets'),
    )
    for (const column of ['weight', 'parent_id', 'checked_at', 'size_width'])
      for (const test of ['is null', 'is not null'])
        expect([column, test, count(`widgets where ${column} ${test}`)]).not.toEqual([column, test, 0])
    db.close()
  })

  it('lists it in the dictionary and in the configuration schema', () => {
    for (const table of tables) expect(read(`schema/dictionary/${table}.md`)).toContain(table)
    expect(read('schema/config.schema.json')).toContain('widgets')
  })

  it.runIf(isWhole())('passes the tests of the declarations', { timeout: patience }, async () => {
    // All files in one thread, which loads the declarations once.
    const once = ['--pool=threads', '--no-isolate', '--no-file-parallelism']
    const words = ['run', '--dir', 'test/schema', ...once, `--testTimeout=${patience}`, '--reporter=json']
    const { stdout } = await ran('node_modules/vitest/vitest.mjs', ...words)
    const { success, numPassedTests } = JSON.parse(stdout) as { success: boolean; numPassedTests: number }
    expect(success).toBe(true)
    expect(numPassedTests).toBeGreaterThan(10)
  })

  it.runIf(isWhole())("isn't served by a sandbox that has its own list", { timeout: patience }, async () => {
    expect(await served()).toBeGreaterThan(0)
    const file = 'dist/src/sandbox/records/resources.js'
    const derived = read(file)
    const byHand = `${JSON.stringify(Object.keys(resources))}.map((name) => resources[name])`
    const mutant = derived.replace('Object.values(resources)', byHand)
    expect(mutant).not.toBe(derived)
    writeFileSync(join(project, file), mutant)
    expect(await served()).toBe(0)
  })
})

describe('a feature', () => {
  const configured = (more: object = {}): void =>
    write(
      'config.json',
      JSON.stringify({
        api: { baseUrl: 'http://127.0.0.1:1', partnerId: '1', secret: 'x' },
        warehouse: { url: 'sqlite:greetings.db' },
        ...more,
      }),
    )
  beforeAll(() => configured())

  it('its command has help, works, and keeps its table in the warehouse', { timeout: patience }, async () => {
    expect((await grown('--help')).stdout).toMatch(/^ {2}greet <who> +greet somebody/m)
    expect((await grown('greet', 'Ada')).stdout).toMatch(/^Made a new warehouse: .*\nHello, Ada \(1\)\n$/)
    const { stdout } = await grown('greet', 'Ada', '--json')
    expect(JSON.parse(stdout)).toEqual({ word: 'Hello', who: 'Ada', times: 2 })
    const db = new BetterSqlite3(join(project, 'greetings.db'), { readonly: true })
    expect(db.prepare('select * from sync_greetings').all()).toEqual([{ who: 'Ada', times: 2 }])
    db.close()
  })

  it('its configuration section is accepted, and checked with the others', {
    timeout: patience,
  }, async () => {
    configured({ greetings: { word: 'Howdy' } })
    expect((await grown('greet', 'Bob')).stdout).toBe('Howdy, Bob (1)\n')
    configured({ greetings: { word: 7 } })
    const { code, stderr } = await grown('greet', 'Bob')
    expect([code, stderr]).toEqual([2, expect.stringMatching(/greetings\.word[\s\S]*expected a word/)])
    configured({ greeting: {} })
    expect((await grown('greet', 'Bob')).stderr).toContain('greetings')
  })

  it('the generated references include it', () => {
    expect(read('schema/config.schema.json')).toContain('The word that greets.')
    expect(read('docs/configuration.md')).toContain('`greetings.word`')
    // On whichever page there was room.
    const [, page] = /\[`shopsync greet`\]\(([^#)]*)#shopsync-greet\)/.exec(read('docs/commands.md')) ?? []
    expect(read(`docs/${page || 'commands.md'}`)).toContain('## shopsync greet')
    expect(read('schema/dictionary/README.md')).toContain('sync_greetings')
  })
})

describe('a figure', () => {
  describe.each(warehouses())('$name', (kind) => {
    it('an existing warehouse has it after migrate, without a request', { timeout: patience }, async () => {
      const address = await kind.viewed()
      const config = configure(sandbox, address, ['repair_orders', 'shops'], {})
      expect((await shopsync(['sync', '--config', config])).code).toBe(0)
      const requests = sandbox.requests.length
      const migrated = await grown('migrate', '--config', config)
      expect(migrated).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('shop_months: replace view'),
      })
      expect(sandbox.requests.length).toBe(requests)
      const warehouse = await reopen(address)
      const [months] = await query(warehouse, `select sum(${figure}) as n from {shop_months}`)
      const [orders] = await query(
        warehouse,
        "select sum(labor_cents) as n from {orders} where state = 'invoice'",
      )
      await warehouse.close()
      expect(Number(months?.n)).toBeGreaterThan(1000)
      expect(Number(months?.n)).toBe(Number(orders?.n))

      const page = join(project, `${kind.name}.html`)
      expect(await grown('report', '--config', config, '--out', page)).toMatchObject({
        code: 0,
      })
      expect(readFileSync(page, 'utf8')).toContain('Labor before discount')
    })
  })

  it('the dictionary, dbt and Superset have it', { timeout: patience }, async () => {
    const written = await grown('dictionary', '--json')
    const { figures } = JSON.parse(written.stdout) as {
      figures: readonly { name: string; numerator: string }[]
    }
    expect(figures.find(({ name }) => name === figure)).toMatchObject({ numerator: 'sum(labor_cents)' })
    expect(readFileSync(join(project, `schema/dictionary/figures/${figure}.md`), 'utf8')).toContain(
      'Labor before discount',
    )
    const folder = join(project, 'dbt')
    const dbt = await grown('dictionary', '--format', 'dbt', '--out', folder)
    expect(dbt).toMatchObject({ code: 0 })
    const found = await promisify(execFile)('grep', ['-rl', figure, folder])
    expect(found.stdout).not.toBe('')
    const archive = ['dist/src/entry.js', 'dictionary', '--format', 'superset']
    const { stdout } = await promisify(execFile)('node', archive, {
      cwd: project,
      maxBuffer: 1e8,
      encoding: 'buffer',
    })
    expect(stdout.toString('latin1')).toContain(figure)
    rmSync(folder, { recursive: true })
  })

  it('that is wrong fails the build', async () => {
    // To the compiler, both are texts: what refuses the wrong one is the build's last step.
    const compiled = `dist/schema/figures/${figure}.js`
    write(compiled, read(compiled).replace('labor_cents', 'labor_rate'))
    const wrong = await ran(artifacts)
    expect(wrong.code).toBe(1)
    expect(wrong.stderr).toContain(
      `schema/figures/${figure}.ts: found labor_rate, expected columns of orders: `,
    )
  })
})
