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
import { createSandbox, type Sandbox, template } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { onServer } from '../../support/harness/databases.js'
import { type Address, configure } from '../../support/harness/place.js'
import { type CursorReport, type RunReport, sync } from '../../support/harness/runs.js'
import { scratch } from '../../support/harness/scratch.js'
import {
  bothWarehouses,
  type Kind,
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

let sandbox: Sandbox
/** The id of the newest record, and the second of its stamp. */
let newest = 3
const put = (resource: string, id: number, second: number, more: Record<string, unknown> = {}): void =>
  sandbox.store.put(1, resource, { ...template(resource, id, at(second)), ...more })

beforeAll(async () => {
  sandbox = await createSandbox({ data: 'none' })
  sandbox.store.addTenant({ id: 1 })
  for (const resource of resources)
    for (const id of [1, 2, 3])
      put(resource, id, id, resource === 'notes' ? { description: `note ${id}` } : {})
})

afterAll(() => sandbox.close())

/** What each person's trigger does to a row of `notes`, without an error. */
const skips = 'begin if new.id = ? then return null; end if; return new; end'
const stamps = "begin new.updated_at = '2026-04-01T00:00:00Z'; return new; end"

/** A fault that a person can plant in `notes`, how it is removed again, and what the message names. */
interface Trouble {
  /** `?`: a new note. */
  readonly plant: string
  readonly mend: string
  readonly named: RegExp
}

const anyFunction = `t_${randomBytes(4).toString('hex')}`
const body = `begin raise exception 'refused: %', new.description; end`
const slow = 'begin perform pg_sleep(60); return new; end'
const triggered = (code: string): string =>
  `create function ${anyFunction}() returns trigger language plpgsql as $$ ${code} $$;
   create trigger troubled before insert or update on notes for each row execute function ${anyFunction}()`
const untriggered = `drop trigger troubled on notes; drop function ${anyFunction}`

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
      mend: 'drop trigger troubled',
      named: /SQLITE_CONSTRAINT_TRIGGER.*the trigger troubled.*drop trigger troubled/,
    },
    'a trigger that leaves out a row': {
      plant: 'create trigger troubled before insert on notes when new.id = ? begin select raise(ignore); end',
      mend: 'drop trigger troubled',
      named: /left out 1 row of notes.*the trigger troubled/,
    },
    'a trigger that stamps rows': {
      plant: `create trigger troubled after insert on notes begin update notes set updated_at = '2026-04-01T00:00:00.000000Z' where id = new.id; end`,
      mend: 'drop trigger troubled',
      named: /changed or left out \d+ rows of notes.*the trigger troubled/,
    },
    'a trigger that calls what is not there': {
      plant: 'create trigger troubled after insert on notes begin insert into audit values (new.id); end',
      mend: 'drop trigger troubled',
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
    'a check constraint': {
      plant: 'alter table notes add constraint brief check (length(description) < 10) not valid',
      mend: 'alter table notes drop constraint brief',
      named: /brief/,
    },
    'a trigger that prints the row': {
      plant: triggered(body),
      mend: untriggered,
      named: /P0001.*the trigger troubled.*drop trigger troubled on shopsync\.notes/,
    },
    'a trigger that leaves out a row': {
      plant: triggered(skips),
      mend: untriggered,
      named: /left out 1 row of notes.*the trigger troubled/,
    },
    'a trigger that stamps rows': {
      plant: triggered(stamps),
      mend: untriggered,
      named: /changed or left out \d+ rows? of notes.*the trigger troubled/,
    },
    'a trigger that calls what is not there': {
      plant: triggered('begin perform no_such(new.id); return new; end'),
      mend: untriggered,
      named: /no_such.*42883.*the trigger troubled/,
    },
    'a trigger whose audit table was dropped': {
      plant: triggered('begin insert into audit values (new.id); return new; end'),
      mend: untriggered,
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
      mend: untriggered,
      named: /stack depth limit exceeded \(54001\).*the trigger troubled/,
    },
    'a trigger that waits for the commit': {
      plant: `create function ${anyFunction}() returns trigger language plpgsql as $$ ${body} $$;
        create constraint trigger troubled after insert on notes deferrable initially deferred for each row execute function ${anyFunction}()`,
      mend: untriggered,
      named: /Found on notes: the trigger troubled/,
    },
    'a function that finds no table': {
      plant: triggered('begin insert into notes select new.*; return new; end'),
      mend: untriggered,
      named: /relation "notes" does not exist(?!.*creates it again).*the trigger troubled/,
    },
    'a statement time-out': { plant: triggered(slow), mend: untriggered, named: /statement timeout/ },
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
    const hasten = name === 'a statement time-out'
    const warehouse = hasten ? await reopen({ ...address, url: await hurried(address.url) }) : usual
    const count = async (table: string) => (await rowsOf(warehouse, table)).length
    const before = await Promise.all(resources.map(count))
    const [first, second, third] = [newest + 1, newest + 2, newest + 3]
    await typed(warehouse, trouble.plant.replaceAll('?', String(second)))
    for (const resource of resources) put(resource, first, first)
    for (const id of [first, second, third]) put('notes', id, id, { description: secret })

    newest = third
    const report = await sync(sandbox, warehouse, { resources })
    const [cursors, stored] = [
      await rowsOf(warehouse, 'sync_cursors'),
      await Promise.all(resources.map(count)),
    ]
    await typed(warehouse, trouble.mend)
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
    const place = await kind.viewed()
    const config = configure(sandbox, place, resources)
    const run = async (...words: string[]) => {
      const { code, stdout, stderr } = await shopsync([...words, '--config', config])
      const told = stdout + stderr
      expect(told).not.toMatch(/should not have happened|Gallifrey/)
      return { code, told }
    }
    expect((await run('sync')).code).toBe(0)
    const warehouse = await reopen(place)
    const [first, second] = [++newest, ++newest]
    await typed(warehouse, unique.plant.replaceAll('?', String(second)))
    for (const id of [first, second]) put('notes', id, id, { description: secret })
    const hint = expect.stringContaining('Drop the unique index')
    expect(await run('sync')).toMatchObject({ code: 1, told: hint })
    await typed(warehouse, unique.mend)
    await typed(warehouse, keeps('notes', 'delete'))
    const kept = await run('forget', '--tenant', '1', '--yes')
    expect(kept.code).toBe(1)
    expect(kept.told).toMatch(/kept \d+ rows of notes.*Found on notes: the trigger troubled/s)
    await typed(warehouse, lets('notes'))
    expect((await run('forget', '--tenant', '1', '--yes')).code).toBe(0)
    expect(await rowsOf(warehouse, 'notes')).toEqual([])
    await warehouse.close()
  })

  it.runIf(warehouses().includes(kind))(
    'a key that is too long goes to quarantine before it is sent',
    async () => {
      const address = await kind.viewed()
      const warehouse = await reopen(address)
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
      const verified = await shopsync(['verify', '--config', configure(sandbox, address, [list])])
      expect(verified.code).toBe(1)
      expect(verified.stdout).toContain('2 records cannot be stored')
      await warehouse.close()
    },
  )
})

const [postgres] = bothWarehouses().filter(({ name }) => name === 'postgres') as [Kind]

it('postgres: a table that cannot be created fails its own lists only', async () => {
  const address = await postgres.migrated()
  const config = configure(sandbox, address, resources)
  const warehouse = await reopen(address)
  await typed(warehouse, 'drop table notes cascade; create sequence notes')
  const { code, json } = await shopsync(['sync', '--json', '--config', config])
  expect(code).toBe(1)
  const report = json() as RunReport
  expect(of(report, 'notes')).toMatchObject({ status: 'failed', reason: 'not_migrated' })
  expect(of(report, 'notes')?.error).toMatch(/relation "notes" already exists \(42P07\).*Rename or drop/)
  for (const resource of ['customers', 'vehicles'])
    expect(of(report, resource)).toMatchObject({ status: 'ok', completeness: 'proven' })
  expect((await shopsync(['migrate', '--config', config])).code).toBe(1)
  await typed(warehouse, 'drop sequence notes')
  expect((await shopsync(['sync', '--config', config])).code).toBe(0)
  expect(await rowsOf(warehouse, 'notes')).toHaveLength(sandbox.store.ids(1, 'notes').length)
  await warehouse.close()
})

it('postgres: a database in another encoding than UTF8 is refused', async () => {
  const address = await postgres.viewed()
  const notes = sandbox.store.ids(1, 'notes').length
  const before = await reopen(address)
  await sync(sandbox, before, { resources })
  await before.close()
  // As an earlier version has filled one.
  const name = new URL(address.url).pathname.slice(1)
  await onServer(
    postgres.address().url,
    `update pg_database set encoding = pg_char_to_encoding('LATIN1') where datname = '${name}'`,
  )
  const warehouse = await reopen(address)
  const config = configure(sandbox, address, resources)
  const run = (...words: string[]) => shopsync([...words, '--config', config])
  for (const words of ['sync', 'verify', 'migrate', 'plan', 'forget --tenant 1 --yes']) {
    const { code, stderr } = await run(...words.split(' '))
    expect(code, words).toBe(2)
    expect(stderr).toMatch(/the encoding LATIN1.*expected UTF8.*shopsync copy --to postgres:/s)
  }
  expect(await rowsOf(warehouse, 'notes')).toHaveLength(notes)
  expect((await run('status')).code).toBe(0)
  const reported = await run('report', '--json', '--out', join(scratch(), 'report.html'))
  expect(reported.code, reported.stderr).toBe(0)
  const checked = await run('check')
  expect(checked.code).toBe(2)
  expect(checked.stdout).toMatch(/the encoding LATIN1.*shopsync copy --to postgres:/s)
  // The way out leads into another database, and not back.
  const wide = postgres.address()
  expect((await run('copy', '--to', wide.url, '--to-schema', wide.schema)).code).toBe(0)
  const copied = await reopen(wide)
  expect(await rowsOf(copied, 'notes')).toHaveLength(notes)
  await copied.close()
  const back = await run('copy', '--to', address.url, '--to-schema', 'another')
  expect(back.code).toBe(2)
  expect(back.stderr).toContain('the encoding LATIN1')
  await warehouse.close()
})

it('postgres: an index of somebody that refuses a value fails its list, and is named', async () => {
  const address = await postgres.migrated()
  const warehouse = await reopen(address)
  await typed(warehouse, 'create index long_ones on notes (description)')
  for (const length of [9, 9000, 9])
    put('notes', ++newest, newest, { description: randomBytes(length).toString('base64') })
  const report = await sync(sandbox, warehouse, { resources })
  expect(of(report, 'notes')).toMatchObject({ status: 'failed', reason: 'warehouse' })
  expect(of(report, 'notes')?.error).toMatch(/rows of notes.*\(54000\).*the index long_ones/)
  for (const resource of ['customers', 'vehicles'])
    expect(of(report, resource)).toMatchObject({ status: 'ok' })
  await typed(warehouse, 'drop index long_ones')
  expect(await sync(sandbox, warehouse, { resources })).toMatchObject({ status: 'ok', quarantined: 0 })
  expect(await rowsOf(warehouse, 'notes')).toHaveLength(sandbox.store.ids(1, 'notes').length)
  await warehouse.close()
})
