/**
 * A problem with one table only affects that table. What was added to a table, or removed from it, fails the cursors
 * that write to it, with the database's message and without customer data. The other cursors continue.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import { Skip } from '../../../src/engine/base/errors.js'
import { onServer } from '../../support/harness/databases.js'
import { Desk } from '../../support/harness/desk.js'
import { type CursorReport, type RunReport, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { scratch } from '../../support/harness/scratch.js'
import { someOf } from '../../support/harness/size.js'
import {
  bothWarehouses,
  classifyPostgres,
  type Kind,
  postgresUrl,
  reopen,
  rowsOf,
  typed,
  warehouses,
} from '../../support/harness/warehouse.js'
import type { WordsOf } from '../../support/world/stories.js'
import { through } from '../../support/world/through.js'
import { Lists, runRole, type Troubled, told, troubleStories } from '../../support/world/troubled.js'

const resources = ['notes', 'customers', 'vehicles']

const sandbox = await sandboxOfFile()
const lists = new Lists(sandbox, resources)

const of = (report: RunReport, resource: string): CursorReport | undefined =>
  report.cursors.find((cursor) => cursor.resource === resource)

const names = 'customer_payment_types'
// Doesn't wait between two answers that have to agree.
const hasty = { nowMicros: () => systemClock.nowMicros(), sleep: () => Promise.resolve() }

const deskWithTables = (story: Troubled) => new Desk(story.lists.sandbox, story.address, resources)

const words: WordsOf<Troubled> = {
  'statements of the role may last a second': async (story) => {
    const rights = ['alter role ROLE superuser', "alter role ROLE set statement_timeout = '1s'"]
    const { url } = await runRole(story.address, ...rights)
    story.warehouse = await reopen({ ...story.address, url })
  },
  'names REST': (story, all) => void story.lists.sandbox.store.tenant(1).strings.set(names, all!.split(' ')),
  'phones REST': (story, all) => {
    const phones = all!.split(' ').map((number) => ({ number }))
    story.lists.put('customers', 1, { phones }, ++story.lists.newest)
  },
  'note N comes': (story, id) => story.lists.put('notes', Number(id), {}, ++story.lists.newest),
  'note N goes': (story, id) => void story.lists.sandbox.store.remove(1, 'notes', Number(id)),
  reconcile: (story) => {
    const options = { resources: [...resources, names], acceptDeletes: true, clock: hasty }
    return told(story, () => sync(story.lists.sandbox, story.warehouse, { ...options, mode: 'reconcile' }))
  },
  'what is left': async ({ usual }) => {
    const live = async (table: string) =>
      (await rowsOf(usual, table)).filter(({ _deleted_at }) => (_deleted_at ?? null) === null)
    const numbers = (await live('customer_phones')).filter(({ customer_id }) => customer_id === 1)
    const notes = await live('notes')
    const kept = notes.some(({ id }) => id === 900) ? 'note 900' : 'no note 900'
    return `${kept}, phones ${numbers.map(({ number }) => number).join(' ')}, ${(await live(names)).length} name`
  },
  'the program syncs': (story) =>
    told(story, async () => (await deskWithTables(story).run('sync --json')).json()),
  migrate: async (story) => `exit ${(await deskWithTables(story).run('migrate')).code}`,
}

for (const kind of bothWarehouses()) {
  const own = new Lists(await sandboxOfFile(), resources)
  troubleStories(`test/engine/warehouse/trouble.${kind.name}.txt`, kind, own, { more: words })
}

describe.each(bothWarehouses())('$name', (kind) => {
  it('statistics and the history of runs promise nothing: a run is complete without them', async () => {
    const place = await kind.migrated()
    const warehouse = await reopen(place)
    const old = { run_id: 'old', mode: 'sync', status: 'ok', started_at: '2020-01-01T00:00:00.000000Z' }
    await warehouse.write([warehouse.db.insertInto('sync_runs').values(old).compile()])
    const refuses = `create trigger kept before delete on sync_runs begin select raise(abort, 'kept'); end`
    const refers = `create table kept (run_id text references sync_runs (run_id)); insert into kept values ('old')`
    await typed(warehouse, kind.name === 'sqlite' ? refuses : refers)
    const hurriedWarehouse = through(warehouse, {
      bulk: {
        ...warehouse.dialect.bulk,
        optimize: () => Promise.reject(new Skip('canceled by a statement time-out', { reason: 'failed' })),
      },
    })
    const notices: [string, Record<string, unknown>][] = []
    expect(await sync(sandbox, hurriedWarehouse, { resources, notices })).toMatchObject({ status: 'ok' })
    const told = notices.map(([words]) => words)
    expect(told).toContain('The warehouse could not update its statistics')
    expect(told).toContain('The history of runs could not be pruned')
  })

  it.runIf(warehouses().includes(kind))(
    'a key that is too long goes to quarantine before it is sent',
    async () => {
      const desk = new Desk(sandbox, await kind.viewed(), ['customer_payment_types'])
      const warehouse = await reopen(desk.address)
      const noise = randomBytes(9000).toString('base64')
      const longest = randomBytes(1000).toString('hex')
      const list = 'customer_payment_types'
      sandbox.store.tenant(1).strings.set(list, ['cash', noise, `${longest}é`, longest, 'card'])
      lists.put('notes', ++lists.newest, {
        [randomBytes(5000).toString('base64')]: 'of a name that long',
      })
      const report = await sync(sandbox, warehouse, { resources: [list, 'notes'] })
      expect(of(report, list)).toMatchObject({ status: 'failed', reason: 'record_unstorable' })
      expect(of(report, 'notes')).toMatchObject({ status: 'ok' })
      const names = (await rowsOf(warehouse, list)).map(({ name }) => name)
      expect(names.toSorted()).toEqual(['card', 'cash', longest].toSorted())
      const entries = await rowsOf(warehouse, 'sync_quarantine')
      expect(entries).toHaveLength(2)
      for (const entry of entries)
        expect(entry).toMatchObject({ resource: list, path: '', reason: 'a key of more than 2000 bytes' })
      const { code, stdout } = await desk.run('verify')
      expect([code, stdout]).toEqual([1, expect.stringContaining('2 records cannot be stored')])
    },
  )
})

const [postgres] = bothWarehouses().filter(({ name }) => name === 'postgres') as [Kind]

it('postgres: a database that lets nobody in is waited for', async () => {
  const { url, schema } = await postgres.migrated()
  await onServer(postgresUrl(), `alter database ${new URL(url).pathname.slice(1)} allow_connections false`)
  const refusal: unknown = await onServer(url, 'select 1').catch((error: unknown) => error)
  expect(classifyPostgres(refusal, 'here', { schema, role: 'any' })).toMatchObject({ name: 'Retry' })
})

it('postgres: a database in another encoding than UTF8 is refused', async () => {
  const desk = new Desk(sandbox, await postgres.viewed(), resources)
  await desk.done('sync')
  const notes = sandbox.store.ids(1, 'notes').length
  // As an earlier version has filled one.
  const name = new URL(desk.address.url).pathname.slice(1)
  const latin = `pg_char_to_encoding('LATIN1')`
  await onServer(postgresUrl(), `update pg_database set encoding = ${latin} where datname = '${name}'`)
  for (const words of someOf(3, ['sync', 'verify', 'migrate', 'plan', 'check', 'forget --tenant 1 --yes'])) {
    const { code, stdout, stderr } = await desk.run(words)
    expect(code, words).toBe(2)
    expect(stdout + stderr).toMatch(/the encoding LATIN1.*shopsync copy --to postgres:/s)
  }
  expect(await desk.rows('notes')).toHaveLength(notes)
  await desk.done('status')
  const report = ['report --json --out', join(scratch(), 'report.html')] as const
  await desk.done(...report)
  // Of views of an earlier version, and so of none, it says what makes them.
  await onServer(desk.address.url, `drop schema ${desk.address.schema}_analytics cascade`)
  const refused = { code: 2, stderr: expect.stringContaining('the encoding LATIN1') }
  expect(await desk.run(...report)).toMatchObject(refused)
  // The way out leads into another database, and not back.
  const wide = postgres.address()
  await desk.done('copy --to', wide.url, '--to-schema', wide.schema)
  expect(await new Desk(sandbox, wide, resources).rows('notes')).toHaveLength(notes)
  expect(await desk.run('copy --to', desk.address.url, '--to-schema', 'another')).toMatchObject(refused)
})
