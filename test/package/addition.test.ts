/**
 * A resource is one file, a feature is one folder and a line in main.ts, a figure is one file: with the three and no other
 * change (addition.txt), the program builds, its sandbox serves the resource, its commands sync and show what is new, and
 * every list of them includes it. Runs a copy of the project, without the bundle, which contains whatever exists.
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
import { root, textOf } from '../support/harness/tree.js'
import { query } from '../support/harness/views.js'
import { reopen, warehouses } from '../support/harness/warehouse.js'

const project = scratch()
/** Milliseconds: each is a build or several runs, on a machine that does other things too. */
const patience = 240_000

const tables = ['widgets', 'gears', 'marks', 'motors', 'colors', 'sizes'].map((name) =>
  name === 'widgets' ? name : `widget_${name}`,
)

const figure = 'labor_before_discount_cents'

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
  mkdirSync(join(project, 'src/features/greetings'))
  for (const added of textOf('test/package/addition.txt').split(/^# /m).slice(1)) {
    const [name = '', ...lines] = added.split('\n')
    write(name, lines.join('\n'))
  }
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
  expect(read('docs/commands.md')).toContain('## shopsync greet')
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
