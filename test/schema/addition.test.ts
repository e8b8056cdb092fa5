/**
 * A resource is one file: with it and no other change, the program builds, its sandbox serves the resource, its
 * commands sync the new tables, and the tests of the declarations pass. Runs a copy of the project.
 */
import { execFile } from 'node:child_process'
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'
import BetterSqlite3 from 'better-sqlite3'
import { beforeAll, expect, it } from 'vitest'
import { resources } from '../../schema/index.js'
import { scratch } from '../support/scratch.js'

const root = resolve(import.meta.dirname, '../..')
const project = scratch()
/** Milliseconds: each is a build or a demo, on a machine that does other things too. */
const retryWaits = 240_000

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

/** The copy's own environment: this process is itself a worker of vitest. */
const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('VITEST')))
const run = (file: string, args: readonly string[]): Promise<{ stdout: string }> =>
  promisify(execFile)(file, args, { cwd: project, env, maxBuffer: 1e8 })

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
  const program = `
    const { execFile } = await import('node:child_process')
    const { promisify } = await import('node:util')
    const { writeFileSync } = await import('node:fs')
    const { createSandbox } = await import('./dist/src/sandbox/index.js')
    const tenants = [101, 102, 103].map((id) => ({ id, shops: 1, repairOrders: 250 }))
    const sandbox = await createSandbox({ tenants, seed: 1 })
    const { url: baseUrl, partnerId, secret } = sandbox
    writeFileSync('config.json', JSON.stringify({ api: { baseUrl, partnerId, secret }, warehouse: { url: 'sqlite:warehouse.db' } }), { mode: 0o600 })
    const run = async (command) => {
      const words = ['dist/src/entry.js', command, '--json', '--quiet']
      const { stdout } = await promisify(execFile)('node', words, { maxBuffer: 1e8 }).catch((failed) => failed)
      return JSON.parse(stdout)
    }
    const first = await run('sync')
    sandbox.work(200)
    console.log(JSON.stringify([first, await run('sync'), await run('reconcile')]))
    await sandbox.close()`
  return JSON.parse((await run('node', ['--input-type=module', '--eval', program])).stdout) as Run[]
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
  return Number((await run('node', ['--input-type=module', '--eval', program])).stdout)
}

const scripts = [
  'schema/registry.mjs',
  'node_modules/typescript/bin/tsc -p tsconfig.json',
  'dist/src/artifacts.js',
]

beforeAll(async () => {
  for (const part of [
    'schema',
    'src',
    'docs',
    'jobs',
    'test/schema',
    'test/support/scratch.ts',
    'package.json',
    'tsconfig.json',
  ])
    cpSync(join(root, part), join(project, part), { recursive: true })
  rmSync(join(project, 'test/schema/addition.test.ts'))
  symlinkSync(join(root, 'node_modules'), join(project, 'node_modules'))
  writeFileSync(join(project, 'schema/widgets.ts'), widgets)
  // Like `npm run build`, but without the bundle, which contains whatever exists.
  for (const script of scripts) await run('node', script.split(' '))
}, retryWaits)

it('syncs the new resource, its past and what the shops do with it', {
  timeout: retryWaits,
}, async () => {
  const found = (await runs()).map(({ status, cursors }) => ({
    status,
    widgets: cursors.filter(({ resource }) => resource === 'widgets'),
  }))
  expect(found.map(({ status }) => status)).toEqual(['ok', 'ok', 'ok'])
  for (const { widgets: cursors } of found) {
    expect(cursors).toHaveLength(3)
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
  const written = (file: string): string => readFileSync(join(project, 'schema', file), 'utf8')
  for (const table of tables) expect(written(`dictionary/${table}.md`)).toContain(table)
  expect(written('config.schema.json')).toContain('widgets')
})

it('passes the tests of the declarations', { timeout: retryWaits }, async () => {
  const { stdout } = await run('npx', [
    'vitest',
    'run',
    '--dir',
    'test/schema',
    `--testTimeout=${retryWaits}`,
    '--reporter=json',
  ])
  const { success, numPassedTests } = JSON.parse(stdout) as { success: boolean; numPassedTests: number }
  expect(success).toBe(true)
  expect(numPassedTests).toBeGreaterThan(10)
})

it("isn't served by a sandbox that has its own list", { timeout: retryWaits }, async () => {
  expect(await served()).toBeGreaterThan(0)
  const file = join(project, 'dist/src/sandbox/records/resources.js')
  const derived = readFileSync(file, 'utf8')
  const byHand = `${JSON.stringify(Object.keys(resources))}.map((name) => resources[name])`
  const mutant = derived.replace('Object.values(resources)', byHand)
  expect(mutant).not.toBe(derived)
  writeFileSync(file, mutant)
  expect(await served()).toBe(0)
})
