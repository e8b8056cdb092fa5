/**
 * A problem with one table only affects that table. What was added to a table, or removed from it, fails the cursors
 * that write to it, with the database's message and without customer data. The other cursors continue.
 */
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import { Skip } from '../../../src/engine/base/errors.js'
import { template } from '../../../src/sandbox/index.js'
import { onServer } from '../../support/harness/databases.js'
import { Desk } from '../../support/harness/desk.js'
import type { Address } from '../../support/harness/place.js'
import { type CursorReport, type RunReport, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { scratch } from '../../support/harness/scratch.js'
import {
  bothWarehouses,
  type Kind,
  postgresUrl,
  reopen,
  rowsOf,
  typed,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { through } from '../../support/world/through.js'

const resources = ['notes', 'customers', 'vehicles']
const secret = 'Gallifrey Falls No More'
const at = (second: number): string =>
  `${new Date(Date.UTC(2026, 2) + second * 1000).toISOString().slice(0, -1)}000Z`

const sandbox = await sandboxOfFile()
sandbox.store.addTenant({ id: 1 })
/** The id of the newest record, and the second of its stamp. */
let newest = 3
const put = (resource: string, id: number, second: number, more: Record<string, unknown> = {}): void =>
  sandbox.store.put(1, resource, { ...template(resource, id, at(second)), ...more })

for (const resource of resources)
  for (const id of [1, 2, 3]) put(resource, id, id, resource === 'notes' ? { description: `note ${id}` } : {})

/** A fault that a person can plant in `notes`, how it is removed again, and what the message names. */
interface Trouble {
  /** `?`: a new note. */
  readonly plant: string
  /** Default: what drops the trigger. */
  readonly mend?: string
  readonly named: RegExp
  /** Of the new notes. */
  readonly description?: string
}

const anyFunction = `t_${randomBytes(4).toString('hex')}`
const body = `begin raise exception 'refused: %', new.description; end`
const triggered = (code: string): string =>
  `create function ${anyFunction}() returns trigger language plpgsql as $$ ${code} $$;
   create trigger troubled before insert or update on notes for each row execute function ${anyFunction}()`
const untriggered = {
  sqlite: 'drop trigger troubled',
  postgres: `drop trigger troubled on notes; drop function ${anyFunction}`,
}

const unique: Trouble = {
  plant: 'create unique index one_of_each on notes (tenant_id, description) where id >= ? - 1',
  mend: 'drop index one_of_each',
  named: /one_of_each|notes\.description/,
}
const column: Trouble = {
  plant: 'alter table notes drop column description',
  mend: 'alter table notes add column description text',
  named: /description/,
}
const troubles: Record<Kind['name'], Record<string, Trouble>> = {
  sqlite: {
    'a unique index': unique,
    'a dropped column': column,
    'a trigger': {
      plant: `create trigger troubled before insert on notes begin select raise(abort, 'refused: ' || new.description); end`,
      named: /SQLITE_CONSTRAINT_TRIGGER.*the trigger troubled.*drop trigger troubled/,
    },
    'a trigger that leaves out a row': {
      plant: 'create trigger troubled before insert on notes when new.id = ? begin select raise(ignore); end',
      named: /left out 1 row of notes.*the trigger troubled/,
    },
    'a trigger that stamps rows': {
      plant: `create trigger troubled after insert on notes begin update notes set updated_at = '2026-04-01T00:00:00.000000Z' where id = new.id; end`,
      named: /changed or left out \d+ rows of notes.*the trigger troubled/,
    },
    'a trigger that calls what is not there': {
      plant: 'create trigger troubled after insert on notes begin insert into audit values (new.id); end',
      named: /no such table: main\.audit(?!.*creates it again).*the trigger troubled/,
    },
    'a view in place of the table': {
      plant: 'alter table notes rename to notes_before;\ncreate view notes as select * from notes_before',
      mend: 'drop view notes;\nalter table notes_before rename to notes',
      named: /a view in place of the table/,
    },
  },
  postgres: {
    'a foreign key': {
      plant:
        'alter table notes add constraint owned foreign key (tenant_id, id) references customers (tenant_id, id) not valid',
      mend: 'alter table notes drop constraint owned',
      named: /foreign key constraint "owned" \(23503\).*constraint/,
    },
    'a unique index': unique,
    'a dropped column': column,
    'a trigger that prints the row': {
      plant: triggered(body),
      named: /P0001.*the trigger troubled.*drop trigger troubled on shopsync\.notes/,
    },
    'a trigger that leaves out a row': {
      plant: triggered('begin if new.id = ? then return null; end if; return new; end'),
      named: /left out 1 row of notes.*the trigger troubled/,
    },
    'a trigger that stamps rows': {
      plant: triggered("begin new.updated_at = '2026-04-01T00:00:00Z'; return new; end"),
      named: /changed or left out \d+ rows? of notes.*the trigger troubled/,
    },
    'a trigger that calls what is not there': {
      plant: triggered('begin perform no_such(new.id); return new; end'),
      named: /no_such.*42883.*the trigger troubled/,
    },
    'a check constraint': {
      plant: 'alter table notes add constraint brief check (length(description) < 10) not valid',
      mend: 'alter table notes drop constraint brief',
      named: /brief/,
    },
    'a trigger whose audit table was dropped': {
      plant: triggered('begin insert into audit values (new.id); return new; end'),
      named: /audit(?!.*creates it again).*the trigger troubled/,
    },
    'a view in place of the table': {
      plant:
        'alter table notes rename to notes_before;\ncreate view notes as select * from notes_before union all select * from notes_before where false',
      mend: 'drop view notes;\nalter table notes_before rename to notes',
      named: /a view in place of the table/,
    },
    'a trigger that calls itself': {
      plant: triggered(
        'begin insert into shopsync.notes (tenant_id, id, updated_at, _synced_at) values (1, new.id + 1, new.updated_at, new._synced_at); return new; end',
      ),
      named: /stack depth limit exceeded \(54001\).*the trigger troubled/,
    },
    'a trigger that waits for the commit': {
      plant: `create function ${anyFunction}() returns trigger language plpgsql as $$ ${body} $$;
        create constraint trigger troubled after insert on notes deferrable initially deferred for each row execute function ${anyFunction}()`,
      named: /Found on notes: the trigger troubled/,
    },
    'a function that finds no table': {
      plant: triggered('begin insert into notes select new.*; return new; end'),
      named: /relation "notes" does not exist(?!.*creates it again).*the trigger troubled/,
    },
    'an index that refuses a value': {
      plant: 'create index long_ones on notes (description)',
      mend: 'drop index long_ones',
      named: /rows of notes.*\(54000\).*the index long_ones/,
      description: randomBytes(9000).toString('base64'),
    },
    'a statement time-out': {
      plant: triggered('begin perform pg_sleep(60); return new; end'),
      named: /statement timeout/,
    },
  },
}

/** A role whose statements may only last a moment. */
async function hurried(url: string): Promise<string> {
  const name = `hurried_${randomBytes(4).toString('hex')}`
  const owner = await reopen({ url, schema: 'public' })
  await sql.raw(`create role ${name} login superuser`).execute(owner.db)
  await sql.raw(`alter role ${name} set statement_timeout = '1s'`).execute(owner.db)
  await owner.close()
  const address = new URL(url)
  address.username = name
  return address.href
}

const of = (report: RunReport, resource: string): CursorReport | undefined =>
  report.cursors.find((cursor) => cursor.resource === resource)

/** One warehouse, which each trouble leaves as it found it; the source has new records for each. */
describe.each(bothWarehouses())('$name', (kind) => {
  let address: Address
  let usual: Warehouse
  beforeAll(async () => {
    address = await kind.migrated()
    usual = await reopen(address)
    await sync(sandbox, usual, { resources })
  })
  afterAll(() => usual.close())

  it.each(Object.entries(troubles[kind.name]))('%s', async (name, trouble) => {
    const { mend = untriggered[kind.name], description = secret } = trouble
    const hasten = name === 'a statement time-out'
    const warehouse = hasten ? await reopen({ ...address, url: await hurried(address.url) }) : usual
    const count = async (table: string) => (await rowsOf(warehouse, table)).length
    const before = await Promise.all(resources.map(count))
    const [first, second, third] = [newest + 1, newest + 2, newest + 3]
    await typed(warehouse, trouble.plant.replaceAll('?', String(second)))
    for (const resource of resources) put(resource, first, first)
    for (const id of [first, second, third]) put('notes', id, id, { description })

    newest = third
    const report = await sync(sandbox, warehouse, { resources })
    const cursors = await rowsOf(warehouse, 'sync_cursors')
    const stored = await Promise.all(resources.map(count))
    await typed(warehouse, mend)
    const mended = await sync(sandbox, warehouse, { resources })

    expect(report.status).toBe('partial')
    const failed = of(report, 'notes')
    expect(failed).toMatchObject({ status: 'failed', completeness: 'unproven', reason: 'warehouse' })
    expect(failed?.error).toMatch(trouble.named)
    expect(JSON.stringify([report, cursors])).not.toContain(secret)
    for (const [i, resource] of resources.entries())
      if (resource !== 'notes') {
        expect(of(report, resource)).toMatchObject({ status: 'ok', completeness: 'proven' })
        expect(stored[i]).toBe((before[i] ?? 0) + 1)
      }
    const state = cursors.find((row) => row.resource === 'notes')
    expect(state).toMatchObject({ status: 'failed', reason: 'warehouse', last_error: failed?.error })
    expect(state?.watermark).toBe(at(first - 1))
    expect(of(mended, 'notes')).toMatchObject({ status: 'ok', reason: null })
    expect(await count('notes')).toBe((before[0] ?? 0) + 3)
    if (hasten) await warehouse.close()
  })

  /** What keeps rows of a table from being removed, without an error. */
  const keeps = (table: string, event: 'update' | 'delete', when = 'true'): string =>
    kind.name === 'sqlite'
      ? `create trigger troubled_${table} before ${event} on ${table} when ${when} begin select raise(ignore); end`
      : `create or replace function ${anyFunction}() returns trigger language plpgsql as $$ begin return null; end $$;
         create trigger troubled_${table} before ${event} on ${table} for each row when (${when}) execute function ${anyFunction}()`
  const undoes =
    kind.name === 'sqlite'
      ? 'create trigger troubled_notes after update on notes begin update notes set _deleted_at = null where id = new.id; end'
      : triggered('begin new._deleted_at = null; return new; end').replace(' troubled ', ' troubled_notes ')
  const lets = (...tables: string[]): string =>
    kind.name === 'sqlite'
      ? tables.map((table) => `drop trigger troubled_${table}`).join(';\n')
      : `${tables.map((table) => `drop trigger troubled_${table} on ${table}`).join('; ')}; drop function ${anyFunction}`

  it('a deletion that the database does not make, because a mark is left out, or a mark is undone, or a child row or a name stays, fails its list', async () => {
    const lists = [...resources, 'customer_payment_types']
    const names = (...all: string[]) => sandbox.store.tenant(1).strings.set('customer_payment_types', all)
    const phones = (...all: string[]) =>
      put('customers', 1, ++newest, { phones: all.map((number) => ({ number })) })
    names('cash', 'card')
    phones('+1', '+2')
    const gone = ++newest
    put('notes', gone, gone)
    await sync(sandbox, usual, { resources: lists })
    sandbox.store.remove(1, 'notes', gone)
    phones('+1')
    names('cash')
    // Doesn't wait between two answers that have to agree.
    const hasty = { nowMicros: () => systemClock.nowMicros(), sleep: () => Promise.resolve() }
    const reconcile = () =>
      sync(sandbox, usual, { resources: lists, mode: 'reconcile', acceptDeletes: true, clock: hasty })
    const marks: [string, string, RegExp] = ['notes', 'notes', /did not mark 1 row of notes/]
    const rest: [string, string, RegExp][] = [
      ['customers', 'customer_phones', /kept 1 row of customer_phones/],
      ['customer_payment_types', 'customer_payment_types', /did not mark 1 row of customer_payment_types/],
    ]
    for (const [plants, failing] of [
      [
        [
          keeps('notes', 'update'),
          keeps('customer_phones', 'delete'),
          keeps('customer_payment_types', 'update', 'new._deleted_at is not null'),
        ],
        [marks, ...rest],
      ],
      [[undoes], [marks]],
    ] as const) {
      for (const plant of plants) await typed(usual, plant)
      const report = await reconcile()
      await typed(usual, lets(...failing.map(([, table]) => table)))
      for (const [list, table, named] of failing) {
        expect(of(report, list), `${list} of ${plants.length}`).toMatchObject({
          status: 'failed',
          reason: 'warehouse',
        })
        expect(of(report, list)?.error).toMatch(named)
        expect(of(report, list)?.error).toContain(`Found on ${table}: the trigger troubled_${table}`)
      }
      const failed = report.cursors.filter(({ status }) => status !== 'ok').map(({ resource }) => resource)
      expect(failed.toSorted()).toEqual(failing.map(([list]) => list).toSorted())
    }
    expect(await reconcile()).toMatchObject({ status: 'ok' })
    const note = (await rowsOf(usual, 'notes')).find(({ id }) => id === gone)
    expect(note?._deleted_at).not.toBeNull()
    const numbers = (await rowsOf(usual, 'customer_phones')).filter(({ customer_id }) => customer_id === 1)
    expect(numbers.map(({ number }) => number)).toEqual(['+1'])
  })

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
    await warehouse.close()
  })

  it('the program tells you what to do, exits with 1, and does not call it a bug; what cannot be erased is not said to be', async () => {
    const desk = new Desk(sandbox, await kind.viewed(), resources)
    const run = async (words: string) => {
      const { code, stdout, stderr } = await desk.run(words)
      const told = stdout + stderr
      expect(told).not.toMatch(/should not have happened|Gallifrey/)
      return { code, told }
    }
    await desk.done('sync')
    const warehouse = await reopen(desk.address)
    const [first, second] = [++newest, ++newest]
    await typed(warehouse, unique.plant.replaceAll('?', String(second)))
    for (const id of [first, second]) put('notes', id, id, { description: secret })
    const hint = expect.stringContaining('Drop the unique index')
    expect(await run('sync')).toMatchObject({ code: 1, told: hint })
    await typed(warehouse, unique.mend ?? '')
    await typed(warehouse, keeps('notes', 'delete'))
    const kept = await run('forget --tenant 1 --yes')
    expect(kept.code).toBe(1)
    expect(kept.told).toMatch(/kept \d+ rows of notes.*Found on notes: the trigger troubled/s)
    await typed(warehouse, lets('notes'))
    await desk.done('forget --tenant 1 --yes')
    expect(await rowsOf(warehouse, 'notes')).toEqual([])
    await warehouse.close()
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
      put('notes', ++newest, newest, { [randomBytes(5000).toString('base64')]: 'of a name that long' })
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
      await warehouse.close()
    },
  )
})

const [postgres] = bothWarehouses().filter(({ name }) => name === 'postgres') as [Kind]

it('postgres: a table that cannot be created fails its own lists only', async () => {
  const desk = new Desk(sandbox, await postgres.migrated(), resources)
  await desk.look((warehouse) => typed(warehouse, 'drop table notes cascade; create sequence notes'))
  const synced = await desk.run('sync --json')
  expect(synced.code).toBe(1)
  expect(of(synced.json(), 'notes')).toMatchObject({
    status: 'failed',
    reason: 'not_migrated',
    error: expect.stringMatching(/relation "notes" already exists \(42P07\).*Rename or drop/),
  })
  for (const resource of ['customers', 'vehicles'])
    expect(of(synced.json(), resource)).toMatchObject({ status: 'ok', completeness: 'proven' })
  expect((await desk.run('migrate')).code).toBe(1)
  await desk.look((warehouse) => typed(warehouse, 'drop sequence notes'))
  await desk.done('sync')
  expect(await desk.rows('notes')).toHaveLength(sandbox.store.ids(1, 'notes').length)
})

it('postgres: a database in another encoding than UTF8 is refused', async () => {
  const desk = new Desk(sandbox, await postgres.viewed(), resources)
  await desk.done('sync')
  const notes = sandbox.store.ids(1, 'notes').length
  // As an earlier version has filled one.
  const name = new URL(desk.address.url).pathname.slice(1)
  const latin = `pg_char_to_encoding('LATIN1')`
  await onServer(postgresUrl(), `update pg_database set encoding = ${latin} where datname = '${name}'`)
  for (const words of ['sync', 'verify', 'migrate', 'plan', 'check', 'forget --tenant 1 --yes']) {
    const { code, stdout, stderr } = await desk.run(words)
    expect(code, words).toBe(2)
    expect(stdout + stderr).toMatch(/the encoding LATIN1.*shopsync copy --to postgres:/s)
  }
  expect(await desk.rows('notes')).toHaveLength(notes)
  await desk.done('status')
  await desk.done('report --json --out', join(scratch(), 'report.html'))
  // The way out leads into another database, and not back.
  const wide = postgres.address()
  await desk.done('copy --to', wide.url, '--to-schema', wide.schema)
  expect(await new Desk(sandbox, wide, resources).rows('notes')).toHaveLength(notes)
  const back = await desk.run('copy --to', desk.address.url, '--to-schema', 'another')
  expect([back.code, back.stderr]).toEqual([2, expect.stringContaining('the encoding LATIN1')])
})
