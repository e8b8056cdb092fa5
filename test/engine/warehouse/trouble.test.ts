/**
 * A problem with one table only affects that table. What was added to a table, or removed from it, fails the cursors
 * that write to it, with the database's message and without customer data. The other cursors continue.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { resources as schemaResources } from '../../../schema/index.js'
import { systemClock } from '../../../src/engine/base/clock.js'
import { Skip } from '../../../src/engine/base/errors.js'
import { createSandbox, type Sandbox, template } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { onServer } from '../../support/harness/databases.js'
import { model } from '../../support/harness/model.js'
import { type Address, configure } from '../../support/harness/place.js'
import { type CursorReport, type RunReport, sync } from '../../support/harness/runs.js'
import { scratch } from '../../support/harness/scratch.js'
import {
  bothWarehouses,
  type Kind,
  migrate,
  RetryPolicy,
  reopen,
  rowsOf,
  type Warehouse,
} from '../../support/harness/warehouse.js'
import { isWhole } from '../../support/world/size.js'
import { through } from '../../support/world/through.js'

const resources = ['notes', 'customers', 'vehicles']
const secret = 'Gallifrey Falls No More'
const at = (second: number): string => `2026-03-01T00:00:${String(second).padStart(2, '0')}.000000Z`

let sandbox: Sandbox
const put = (resource: string, id: number, second: number, more: Record<string, unknown> = {}): void =>
  sandbox.store.put(1, resource, { ...template(resource, id, at(second)), ...more })

beforeEach(async () => {
  sandbox = await createSandbox({ data: 'none' })
  sandbox.store.addTenant({ id: 1 })
  for (const resource of resources)
    for (const id of [1, 2, 3])
      put(resource, id, id, resource === 'notes' ? { description: `note ${id}` } : {})
})

afterEach(() => sandbox.close())

/** What each person's trigger does to a row of `notes`, without an error. */
const skips = 'begin if new.id = 5 then return null; end if; return new; end'
const stamps = "begin new.updated_at = '2026-04-01T00:00:00Z'; return new; end"

/** A fault that a person can plant in `notes`, how it is removed again, and what the message names. */
interface Trouble {
  readonly plant: string
  readonly mend: string
  readonly named: RegExp
  /** Left to `npm run test:long`: the program does the same about another one. */
  readonly isLikeAnother?: true
}

const names = { schema: 'shopsync', role: 'shopsync' }
const anyFunction = `t_${randomBytes(4).toString('hex')}`
const body = `begin raise exception 'refused: %', new.description; end`
const slow = 'begin perform pg_sleep(60); return new; end'
const triggered = (code: string): string =>
  `create function ${anyFunction}() returns trigger language plpgsql as $$ ${code} $$;
   create trigger troubled before insert or update on notes for each row execute function ${anyFunction}()`
const untriggered = `drop trigger troubled on notes; drop function ${anyFunction}`

const unique: Trouble = {
  plant: 'create unique index one_of_each on notes (tenant_id, description)',
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
      plant: 'create trigger troubled before insert on notes when new.id = 5 begin select raise(ignore); end',
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
    'a virtual table in place of the table': {
      plant:
        'alter table notes rename to notes_before;\ncreate virtual table notes using fts5(tenant_id, id, description)',
      mend: 'drop table notes;\nalter table notes_before rename to notes',
      named: /the rows of notes.*SQLITE_ERROR/,
      isLikeAnother: true,
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
      plant: 'alter table notes add constraint brief check (length(description) < 10)',
      mend: 'alter table notes drop constraint brief',
      named: /brief/,
      isLikeAnother: true,
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
      isLikeAnother: true,
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
      isLikeAnother: true,
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
      isLikeAnother: true,
      named: /relation "notes" does not exist(?!.*creates it again).*the trigger troubled/,
    },
    'a statement time-out': { plant: triggered(slow), mend: untriggered, named: /statement timeout/ },
  },
}

/** Several statements, in the warehouse's schema. */
async function execute({ db }: Warehouse, schema: string, text: string): Promise<void> {
  await db.connection().execute(async (connection) => {
    if (schema !== '') await sql`set search_path to ${sql.id(schema)}`.execute(connection)
    // SQLite's driver takes one statement at a time.
    const parts = schema === '' ? text.split(';\n') : [text]
    for (const part of parts) await sql.raw(part).execute(connection)
    if (schema !== '') await sql`reset search_path`.execute(connection)
  })
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

/** For a role that may not create tables. */
function withoutMigration(config: string): string {
  const settings = JSON.parse(readFileSync(config, 'utf8'))
  settings.warehouse.autoMigrate = false
  writeFileSync(config, JSON.stringify(settings))
  return config
}

/** A role that may do what runs need, on every table that exists. Returns its address and its name. */
async function runRole({ url, schema }: Address): Promise<{ readonly url: string; readonly role: string }> {
  const role = `runner_${randomBytes(4).toString('hex')}`
  await onServer(
    url,
    `create role ${role} login`,
    `grant usage on schema ${schema} to ${role}`,
    `grant select, insert, update, delete on all tables in schema ${schema} to ${role}`,
  )
  const address = new URL(url)
  address.username = role
  return { url: address.href, role }
}

const cases = bothWarehouses().flatMap((kind) =>
  Object.entries(troubles[kind.name])
    .filter(([, { isLikeAnother = false }]) => isWhole() || !isLikeAnother)
    .map(([name, trouble]) => [kind.name, name, kind, trouble] as const),
)

const of = (report: RunReport, resource: string): CursorReport | undefined =>
  report.cursors.find((cursor) => cursor.resource === resource)

it.each(cases)('%s: %s', async (_kind, name, kind, trouble) => {
  const address = await kind.migrated()
  const url = name === 'a statement time-out' ? await hurried(address.url) : address.url
  const schema = kind.name === 'sqlite' ? '' : address.schema
  const warehouse = await reopen({ ...address, url })
  await sync(sandbox, warehouse, { resources })
  await execute(warehouse, schema, trouble.plant)
  for (const resource of resources) put(resource, 4, 4)
  for (const id of [4, 5, 6]) put('notes', id, id, { description: secret })

  const report = await sync(sandbox, warehouse, { resources })
  expect(report.status).toBe('partial')
  const failed = of(report, 'notes')
  expect(failed).toMatchObject({ status: 'failed', completeness: 'unproven', reason: 'warehouse' })
  expect(failed?.error).toMatch(trouble.named)
  expect(JSON.stringify(report)).not.toContain(secret)
  expect(await rowsOf(warehouse, 'sync_cursors')).not.toContain(secret)
  for (const resource of ['customers', 'vehicles']) {
    expect(of(report, resource)).toMatchObject({ status: 'ok', completeness: 'proven' })
    expect(await rowsOf(warehouse, resource)).toHaveLength(4)
  }
  const state = (await rowsOf(warehouse, 'sync_cursors')).find((row) => row.resource === 'notes')
  expect(state).toMatchObject({ status: 'failed', reason: 'warehouse', last_error: failed?.error })
  expect(state?.watermark).toBe(at(3))

  await execute(warehouse, schema, trouble.mend)
  expect(of(await sync(sandbox, warehouse, { resources }), 'notes')).toMatchObject({
    status: 'ok',
    reason: null,
  })
  expect(await rowsOf(warehouse, 'notes')).toHaveLength(6)
  await warehouse.close()
})

describe.each(bothWarehouses())('$name', (kind) => {
  it('the program tells you what to do, exits with 1, and does not call it a bug', async () => {
    const address = await kind.viewed()
    const schema = kind.name === 'sqlite' ? '' : address.schema
    const run = () => shopsync(['sync', '--config', configure(sandbox, address, resources)])
    expect((await run()).code).toBe(0)
    const warehouse = await reopen(address)
    await execute(warehouse, schema, unique.plant)
    for (const id of [7, 8]) put('notes', id, id, { description: secret })
    const { code, stdout, stderr } = await run()
    expect(code, stderr).toBe(1)
    expect(stdout + stderr).toContain('Drop the unique index')
    expect(stdout + stderr).not.toMatch(/should not have happened|Gallifrey/)
    // With a view where a table was, the others are still stored.
    await execute(warehouse, schema, unique.mend)
    await execute(
      warehouse,
      schema,
      'alter table notes rename to notes_before;\ncreate view notes as select * from notes_before union all select * from notes_before where 1 = 0',
    )
    put('vehicles', 9, 9)
    const viewed = await run()
    expect(viewed.code, viewed.stderr).toBe(1)
    expect(viewed.stdout + viewed.stderr).toContain('a view in place of the table')
    expect(viewed.stdout + viewed.stderr).not.toMatch(/should not have happened/)
    expect(await rowsOf(warehouse, 'vehicles')).toHaveLength(4)
    await warehouse.close()
  })

  it('statistics and the history of runs promise nothing: a run is complete without them', async () => {
    const address = await kind.migrated()
    const warehouse = await reopen(address)
    const old = { run_id: 'old', mode: 'sync', status: 'ok', started_at: '2020-01-01T00:00:00.000000Z' }
    await warehouse.write([warehouse.db.insertInto('sync_runs').values(old).compile()])
    const refuses = `create trigger kept before delete on sync_runs begin select raise(abort, 'kept'); end`
    const refers = `create table kept (run_id text references sync_runs (run_id)); insert into kept values ('old')`
    if (kind.name === 'sqlite') await execute(warehouse, '', refuses)
    else await execute(warehouse, address.schema, refers)
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
})

/** What keeps rows of a table from being removed, without an error. */
const keeps = (name: Kind['name'], table: string, event: 'update' | 'delete', when = 'true'): string =>
  name === 'sqlite'
    ? `create trigger troubled before ${event} on ${table} when ${when} begin select raise(ignore); end`
    : `create function ${anyFunction}() returns trigger language plpgsql as $$ begin return null; end $$;
       create trigger troubled before ${event} on ${table} for each row when (${when}) execute function ${anyFunction}()`
const keepsNothing = (name: Kind['name'], table: string): string =>
  name === 'sqlite'
    ? 'drop trigger troubled'
    : `drop trigger troubled on ${table}; drop function ${anyFunction}`

/** Doesn't wait between two answers that have to agree. */
const hasty = { nowMicros: () => systemClock.nowMicros(), sleep: () => Promise.resolve() }

describe.each(bothWarehouses())('a deletion that the database does not make: $name', (kind) => {
  const undoes =
    kind.name === 'sqlite'
      ? 'create trigger troubled after update on notes begin update notes set _deleted_at = null where id = new.id; end'
      : triggered('begin new._deleted_at = null; return new; end')
  const lists = [...resources, 'customer_payment_types']
  const names = (...all: string[]) => sandbox.store.tenant(1).strings.set('customer_payment_types', all)
  const phones = (...all: string[]) =>
    put('customers', 1, 5 + all.length, { phones: all.map((number) => ({ number })) })
  const cases = [
    [
      'a mark is left out',
      'notes',
      keeps(kind.name, 'notes', 'update'),
      'notes',
      /did not mark 1 row of notes/,
    ],
    ['a mark is undone', 'notes', undoes, 'notes', /did not mark 1 row of notes/],
    [
      ...['a child row stays', 'customers'],
      ...[keeps(kind.name, 'customer_phones', 'delete'), 'customer_phones'],
      /kept 1 row of customer_phones/,
    ],
    [
      ...['a name stays', 'customer_payment_types'],
      ...[
        keeps(kind.name, 'customer_payment_types', 'update', 'new._deleted_at is not null'),
        'customer_payment_types',
      ],
      /did not mark 1 row of customer_payment_types/,
    ],
  ] as [string, string, string, string, RegExp][]

  it.each(cases)('%s', async (_name, resource, plant, table, named) => {
    const address = await kind.migrated()
    const schema = kind.name === 'sqlite' ? '' : address.schema
    const warehouse = await reopen(address)
    names('cash', 'card')
    phones('+1', '+2')
    await sync(sandbox, warehouse, { resources: lists })
    await execute(warehouse, schema, plant)
    sandbox.store.remove(1, 'notes', 2)
    phones('+1')
    names('cash')
    const reconcile = () =>
      sync(sandbox, warehouse, { resources: lists, mode: 'reconcile', acceptDeletes: true, clock: hasty })
    const report = await reconcile()
    expect(of(report, resource)).toMatchObject({ status: 'failed', reason: 'warehouse' })
    expect(of(report, resource)?.error).toMatch(named)
    expect(of(report, resource)?.error).toContain(`Found on ${table}: the trigger troubled`)
    for (const other of lists.filter((list) => list !== resource))
      expect(of(report, other)).toMatchObject({ status: 'ok' })
    await execute(warehouse, schema, keepsNothing(kind.name, table))
    expect(await reconcile()).toMatchObject({ status: 'ok' })
    const live = (await rowsOf(warehouse, 'notes')).filter(({ _deleted_at }) => _deleted_at === null)
    expect(live.map(({ id }) => id)).toEqual([1, 3])
    const numbers = (await rowsOf(warehouse, 'customer_phones')).filter(
      ({ customer_id }) => customer_id === 1,
    )
    expect(numbers.map(({ number }) => number)).toEqual(['+1'])
    await warehouse.close()
  })

  it('forget does not say that the rows are erased', async () => {
    const address = await kind.viewed()
    const schema = kind.name === 'sqlite' ? '' : address.schema
    const warehouse = await reopen(address)
    await sync(sandbox, warehouse, { resources })
    await execute(warehouse, schema, keeps(kind.name, 'notes', 'delete'))
    const config = configure(sandbox, address, resources)
    const forget = () => shopsync(['forget', '--tenant', '1', '--yes', '--config', config])
    const kept = await forget()
    expect(kept.code).toBe(1)
    expect(kept.stderr).toMatch(/kept 3 rows of notes.*Found on notes: the trigger troubled/s)
    await execute(warehouse, schema, keepsNothing(kind.name, 'notes'))
    expect((await forget()).code).toBe(0)
    expect(await rowsOf(warehouse, 'notes')).toEqual([])
    await warehouse.close()
  })

  it('a table that was renamed is made again, with its indexes', async () => {
    const address = await kind.viewed()
    const config = configure(sandbox, address, resources)
    const run = () => shopsync(['sync', '--config', config])
    expect((await run()).code).toBe(0)
    const warehouse = await reopen(address)
    const indexes = async () =>
      (await warehouse.dialect.catalog.liveIndexes()).filter(({ table }) => table === 'notes').length
    const before = await indexes()
    await execute(
      warehouse,
      kind.name === 'sqlite' ? '' : address.schema,
      'alter table notes rename to notes_before',
    )
    expect((await run()).code).toBe(0)
    expect(await rowsOf(warehouse, 'notes')).toHaveLength(3)
    expect(await indexes()).toBe(before)
    await warehouse.close()
  })
})

it.each(bothWarehouses().filter(({ name }) => name === 'postgres'))(
  'a table that cannot be created fails its own lists only: $name',
  async (kind) => {
    const address = await kind.migrated()
    const config = configure(sandbox, address, resources)
    const warehouse = await reopen(address)
    await execute(warehouse, address.schema, 'drop table notes cascade; create sequence notes')
    const { code, json } = await shopsync(['sync', '--json', '--config', config])
    expect(code).toBe(1)
    const report = json() as RunReport
    expect(of(report, 'notes')).toMatchObject({ status: 'failed', reason: 'not_migrated' })
    expect(of(report, 'notes')?.error).toMatch(/relation "notes" already exists \(42P07\).*Rename or drop/)
    for (const resource of ['customers', 'vehicles'])
      expect(of(report, resource)).toMatchObject({ status: 'ok', completeness: 'proven' })
    expect((await shopsync(['migrate', '--config', config])).code).toBe(1)
    await execute(warehouse, address.schema, 'drop sequence notes')
    expect((await shopsync(['sync', '--config', config])).code).toBe(0)
    expect(await rowsOf(warehouse, 'notes')).toHaveLength(3)
    await warehouse.close()
  },
)

describe('a role that only runs', () => {
  const postgres = bothWarehouses().filter(({ name }) => name === 'postgres')

  it.each(postgres)('that may not change one table changes it once it may: $name', async (kind) => {
    const address = await kind.migrated()
    const { url, role } = await runRole(address)
    const tables = `select quote_ident(tablename) as name from pg_tables where schemaname = '${address.schema}'`
    const own = (which: string, owner: string): string =>
      `do $$ declare t record; begin for t in ${tables} and ${which} loop
         execute 'alter table ${address.schema}.' || t.name || ' owner to ${owner}'; end loop; end $$`
    await onServer(
      address.url,
      `grant all on schema ${address.schema} to ${role}`,
      own("tablename <> 'vehicles'", role),
    )
    const vins = [1, 2, 3].map((id) => `VIN ${id}`)
    for (const id of [1, 2, 3]) put('vehicles', id, id, { vin: `VIN ${id}` })
    const before = await reopen({ ...address, url })
    await sync(sandbox, before, { resources })
    await before.close()

    const known = model(schemaResources, { vehicles: { columns: { vin: 'text' } } })
    const warehouse = await reopen({ ...address, url }, known)
    const next = async (): Promise<RunReport> => {
      await migrate(warehouse)
      return sync(sandbox, warehouse, { resources, known })
    }
    const refused = await next()
    expect(of(refused, 'vehicles')).toMatchObject({
      status: 'failed',
      error: expect.stringMatching(/must be owner.*as the owner of the table/),
    })
    for (const resource of ['notes', 'customers'])
      expect(of(refused, resource)).toMatchObject({ status: 'ok' })
    await onServer(address.url, own("tablename = 'vehicles'", role))
    const changed = await next()
    expect(changed.status).toBe('ok')
    expect((await rowsOf(warehouse, 'vehicles')).map(({ vin }) => vin).toSorted()).toEqual(vins)
    // What is new, and then the list for its new column.
    expect(of(changed, 'vehicles')?.requests).toBe(2)
    await warehouse.close()
  })

  it.each(postgres)('that lacks a right on one table gets the grant to type: $name', async (kind) => {
    const address = await kind.migrated()
    const { url, role } = await runRole(address)
    await onServer(url.replace(role, 'postgres'), `revoke insert on ${address.schema}.notes from ${role}`)
    const warehouse = await reopen({ ...address, url })
    const report = await sync(sandbox, warehouse, { resources })
    const failed = of(report, 'notes')
    expect(failed).toMatchObject({ status: 'failed', reason: 'warehouse' })
    expect(failed?.error).toContain(
      `grant select, insert, update, delete on ${address.schema}.notes to ${role}`,
    )
    for (const resource of ['customers', 'vehicles'])
      expect(of(report, resource)).toMatchObject({ status: 'ok', completeness: 'proven' })
    await warehouse.close()
  })

  it.each(postgres)('from which rows are hidden is told so: $name', async (kind) => {
    const address = await kind.migrated()
    const { url } = await runRole(address)
    const warehouse = await reopen({ ...address, url })
    await sync(sandbox, warehouse, { resources })
    await onServer(address.url, `alter table ${address.schema}.notes enable row level security`)
    for (const id of [1, 4]) put('notes', id, 4, { description: secret })
    const failed = of(await sync(sandbox, warehouse, { resources }), 'notes')
    expect(failed).toMatchObject({ status: 'failed', reason: 'warehouse' })
    expect(failed?.error).toMatch(
      /row-level security.*alter table shopsync\.notes disable row level security/,
    )
    await warehouse.close()
  })

  it.each(postgres)('compares nothing of which rows may be hidden: $name', async (kind) => {
    const address = await kind.migrated()
    const { url, role } = await runRole(address)
    const warehouse = await reopen({ ...address, url })
    await sync(sandbox, warehouse, { resources })
    await onServer(
      address.url,
      `alter table ${address.schema}.notes enable row level security`,
      `create policy partly on ${address.schema}.notes using (id > 1)`,
    )
    // What is hidden is gone at the source, too: without a look at the policy, both sides would be equal.
    sandbox.store.remove(1, 'notes', 1)
    const config = withoutMigration(configure(sandbox, { ...address, url }, resources))
    const copy = ['copy', '--to', `sqlite:${join(scratch(), 'copy.db')}`]
    for (const words of [['verify'], ['reconcile'], copy, ['forget', '--tenant', '1', '--yes']]) {
      const { code, stdout, stderr } = await shopsync([...words, '--config', config])
      expect(code, stdout).toBe(1)
      expect(stdout + stderr).toMatch(/may hide rows of notes.*disable row level security/s)
      expect(stdout).not.toMatch(/1 missing|erased/)
    }
    await onServer(address.url, `create policy shopsync on ${address.schema}.notes to ${role} using (true)`)
    const { code, stdout } = await shopsync(['reconcile', '--accept-deletes', '--config', config])
    expect(code, stdout).toBe(0)
    await warehouse.close()
  })

  it.each(postgres)('forget does not wait for those who read its tables: $name', async (kind) => {
    const address = await kind.viewed()
    const config = configure(sandbox, address, resources)
    expect((await shopsync(['sync', '--config', config])).code).toBe(0)
    const reader = new pg.Client(address.url)
    await reader.connect()
    await reader.query(`begin; select from ${address.schema}.notes`)
    // A vacuum that waits for a table that becomes empty does so for five seconds.
    const { pathname } = new URL(address.url)
    await onServer(address.url, `alter database ${pathname.slice(1)} set statement_timeout = '4s'`)
    const forgotten = await shopsync(['forget', '--tenant', '1', '--yes', '--config', config])
    expect([forgotten.code, forgotten.stderr]).toEqual([0, ''])
    // A session that works on the table itself does, and the server's refusal is told as one.
    await reader.query(`lock table ${address.schema}.notes in share update exclusive mode`)
    const held = await shopsync(['forget', '--tenant', '1', '--yes', '--config', config])
    expect([held.code, held.stderr]).toEqual([1, expect.stringContaining('statement_timeout')])
    await reader.end()
  })

  it.each(postgres)('fails only the lists that a policy that errs concerns: $name', async (kind) => {
    const address = await kind.migrated()
    const { url } = await runRole(address)
    put('shops', 1, 1)
    put('repair_orders', 1, 1)
    const all = [...resources, 'shops', 'repair_orders']
    const warehouse = await reopen({ ...address, url })
    await sync(sandbox, warehouse, { resources: all })
    await onServer(
      address.url,
      `alter table ${address.schema}.shops enable row level security`,
      `create policy errs on ${address.schema}.shops using (1 / (id - id) = 1)`,
    )
    const config = withoutMigration(configure(sandbox, { ...address, url }, all))
    const { code, stdout, stderr } = await shopsync(['sync', '--json', '--config', config])
    expect(code, stdout + stderr).toBe(1)
    const report = JSON.parse(stdout) as RunReport
    // What follows from orders needs the zones of the shops.
    for (const resource of ['shops', 'repair_orders']) {
      expect(of(report, resource)).toMatchObject({ status: 'failed', reason: 'warehouse' })
      expect(of(report, resource)?.error).toMatch(/shops \(22012\).*row-level security/)
    }
    for (const resource of resources) expect(of(report, resource)).toMatchObject({ status: 'ok' })
    await warehouse.close()
  })

  it.each(postgres)('is told by check what is wrong with which table: $name', async (kind) => {
    const address = await kind.migrated()
    const { url, role } = await runRole(address)
    const { schema } = address
    await onServer(
      address.url,
      `revoke update, delete on ${schema}.notes from ${role}`,
      `alter table ${schema}.vehicles enable row level security`,
      `create function ${schema}.any() returns trigger language plpgsql as 'begin return new; end'`,
      `create trigger stamps before insert on ${schema}.customers for each row execute function ${schema}.any()`,
      `alter table ${schema}.appointments rename to appointments_before`,
      `create view ${schema}.appointments as select * from ${schema}.appointments_before`,
    )
    const config = configure(sandbox, { ...address, url }, resources)
    const { code, stdout } = await shopsync(['check', '--json', '--config', config])
    const { checks } = JSON.parse(stdout) as {
      checks: { what: string; ok: boolean; found: string; hint: string | null }[]
    }
    const found = new Map(checks.map((check) => [check.what, [check.ok, check.found]]))
    expect(found.get('table notes')).toEqual([false, `found ${role} lacks the right to update, delete`])
    expect(found.get('table vehicles')).toMatchObject([false, expect.stringContaining('row-level security')])
    expect(checks).toContainEqual(
      expect.objectContaining({ what: 'table customers', ok: true, found: 'found the trigger stamps' }),
    )
    expect(stdout).toContain('found a view in place of the table')
    // The role may not create tables either, which is what runs do unless they are told not to.
    expect(code).toBe(3)
  })

  /** What on notes calls a function `?`: it takes nothing, or it is a trigger's. `bound`: by way of one that looks nothing up. */
  const calling: [what: string, returns: string, made: string][] = [
    ['trigger t0 on', 'trigger', 'create trigger t0 before insert on notes for each row execute function ?'],
    [
      'trigger t1 on',
      'boolean',
      'create trigger t1 before insert on notes for each row when (?) execute function suppress_redundant_updates_trigger()',
    ],
    ['column c2 of', 'boolean', 'alter table notes add column c2 boolean default ?'],
    ['column c3 of', 'bound', 'alter table notes add column c3 boolean generated always as (?) stored'],
    ['constraint c4 on', 'bound', 'alter table notes add constraint c4 check (?)'],
    ['.i5', 'boolean', 'create index i5 on notes (id) where ?'],
    ['policy p6 on', 'boolean', 'create policy p6 on notes using (?)'],
    ['rule r7 on', 'boolean', 'create rule r7 as on delete to notes do also select ?'],
    ['type ', 'boolean', 'create domain d8 as text check (?); alter table notes add column c8 d8'],
    ['.s9', 'boolean', 'create statistics s9 on id, (?) from notes'],
    ['event trigger ', 'event_trigger', 'create event trigger SCHEMA on sql_drop execute function ?'],
  ]

  it.each(postgres)('is told by check whose functions have no path of their own: $name', async (kind) => {
    const address = await kind.migrated()
    const { schema } = address
    await onServer(
      address.url,
      `set search_path = ${schema}, pg_catalog`,
      ...calling.flatMap(([, returns, made], i) => [
        `create function f${i}() returns ${returns === 'bound' ? 'boolean' : returns} language plpgsql immutable
           as $$ begin return ${returns === 'event_trigger' ? '' : 'null'}; end $$`,
        `create function bound${i}() returns boolean language sql immutable
           ${returns === 'bound' ? `begin atomic select f${i}(); end` : 'return true'}`,
        made.replace('?', `${returns === 'bound' ? 'bound' : 'f'}${i}()`).replace('SCHEMA', schema),
      ]),
    )
    const config = configure(sandbox, address, resources)
    const check = async () => {
      const { stdout } = await shopsync(['check', '--json', '--config', config])
      const { checks } = JSON.parse(stdout) as { checks: { what: string; found: string; hint: string }[] }
      return checks.filter(({ found }) => found.includes(', which calls '))
    }
    const found = await check()
    const settled = calling.map(
      (_, i) => `alter function ${schema}.f${i}() set search_path = pg_catalog, ${schema}, pg_temp`,
    )
    for (const [i, [what, returns]] of calling.entries())
      expect(found).toContainEqual(
        expect.objectContaining({
          what: returns === 'event_trigger' ? 'database' : 'table notes',
          found: expect.stringMatching(new RegExp(`${what}.*, which calls ${schema}\\.f${i}\\(\\)$`)),
          hint: expect.stringContaining(settled[i] ?? ''),
        }),
      )
    expect(found).toHaveLength(calling.length)
    await onServer(address.url, ...settled)
    expect(await check()).toEqual([])
    await onServer(address.url, `drop event trigger ${schema}`)
  })

  it.each(postgres)('that may not write the state of runs ends the run: $name', async (kind) => {
    const address = await kind.migrated()
    const { url, role } = await runRole(address)
    await onServer(address.url, `revoke insert, update on ${address.schema}.sync_cursors from ${role}`)
    const warehouse = await reopen({ ...address, url })
    await expect(sync(sandbox, warehouse, { resources })).rejects.toMatchObject({
      name: 'Stop',
      exitCode: 3,
      message: expect.stringContaining('sync_cursors, which every run needs'),
      hint: expect.stringContaining(`on ${address.schema}.sync_cursors to ${role}`),
    })
    await warehouse.close()
  })
})

describe('whose trouble an error of Postgres is', () => {
  const thrownBy = async (code: string, statement: string) => {
    const [{ classify }, { ofStatement }] = await Promise.all([
      import('../../../src/engine/warehouse/postgres/drivererrors.js'),
      import('../../../src/engine/warehouse/classify.js'),
    ])
    return classify(ofStatement(Object.assign(new Error('words'), { code }), statement), 'here', names)
  }
  const ofNotes = 'insert into "shopsync"."notes" ("id") values ($1)'
  const ofCursors = 'update "shopsync"."sync_cursors" set "status" = $1'

  it.each(['28P01', '28000', '3D000', '25006', '53100', '53200', '58030', 'XX001', 'XX002'])(
    '%s is everybody’s, whatever the statement was about',
    async (code) => {
      for (const statement of [ofNotes, ofCursors, 'begin'])
        expect(await thrownBy(code, statement)).toMatchObject({ name: 'Stop' })
    },
  )

  it.each(['08006', '57P01', '40001', '40P01'])('%s is everybody’s, and may pass', async (code) => {
    expect(await thrownBy(code, ofNotes)).toMatchObject({ name: 'Retry' })
  })

  it.each(['42501', '42883', '23514', '22003', '0A000', '2F003', 'ZZ999', 'XX000', '57014'])(
    '%s is that of the table, unless no run can do without it',
    async (code) => {
      expect(await thrownBy(code, ofNotes)).toMatchObject({ name: 'Skip', details: { table: 'notes' } })
      expect(await thrownBy(code, ofCursors)).toMatchObject({ name: 'Stop', exitCode: 3 })
    },
  )
})

describe('a value that Postgres cannot hold', () => {
  const postgres = bothWarehouses().filter(({ name }) => name === 'postgres')

  it.each(postgres)('a database in another encoding than UTF8 is refused: $name', async (kind) => {
    const address = await kind.viewed()
    const before = await reopen(address)
    await sync(sandbox, before, { resources })
    await before.close()
    // As an earlier version has filled one.
    const name = new URL(address.url).pathname.slice(1)
    await onServer(
      kind.address().url,
      `update pg_database set encoding = pg_char_to_encoding('LATIN1') where datname = '${name}'`,
    )
    const warehouse = await reopen(address)
    const config = configure(sandbox, address, resources)
    const run = (...words: string[]) => shopsync([...words, '--config', config])
    for (const words of [
      'sync',
      'reconcile',
      'verify',
      'migrate',
      'plan',
      'runs',
      'forget --tenant 1 --yes',
    ]) {
      const { code, stderr } = await run(...words.split(' '))
      expect(code, words).toBe(2)
      expect(stderr).toMatch(/the encoding LATIN1.*expected UTF8.*shopsync copy --to postgres:/s)
    }
    expect(await rowsOf(warehouse, 'notes')).toHaveLength(3)
    expect((await run('status')).code).toBe(0)
    const reported = await run('report', '--json')
    expect(reported.code, reported.stderr).toBe(0)
    const checked = await run('check')
    expect(checked.code).toBe(2)
    expect(checked.stdout).toMatch(/the encoding LATIN1.*shopsync copy --to postgres:/s)
    // The way out leads into another database, and not back.
    const wide = kind.address()
    expect((await run('copy', '--to', wide.url, '--to-schema', wide.schema)).code).toBe(0)
    const copied = await reopen(wide)
    expect(await rowsOf(copied, 'notes')).toHaveLength(3)
    await copied.close()
    const back = await run('copy', '--to', address.url, '--to-schema', 'another')
    expect(back.code).toBe(2)
    expect(back.stderr).toContain('the encoding LATIN1')
    await warehouse.close()
  })

  it.each(postgres)(
    'an index of somebody that refuses a value fails its list, and is named: $name',
    async (kind) => {
      const address = await kind.migrated()
      const warehouse = await reopen(address)
      await execute(warehouse, address.schema, 'create index long_ones on notes (description)')
      for (const id of [4, 5, 6])
        put('notes', id, id, { description: id === 5 ? randomBytes(9000).toString('base64') : 'short' })
      const report = await sync(sandbox, warehouse, { resources })
      expect(of(report, 'notes')).toMatchObject({ status: 'failed', reason: 'warehouse' })
      expect(of(report, 'notes')?.error).toMatch(/rows of notes.*\(54000\).*the index long_ones/)
      for (const resource of ['customers', 'vehicles'])
        expect(of(report, resource)).toMatchObject({ status: 'ok' })
      await execute(warehouse, address.schema, 'drop index long_ones')
      expect(await sync(sandbox, warehouse, { resources })).toMatchObject({ status: 'ok', quarantined: 0 })
      expect(await rowsOf(warehouse, 'notes')).toHaveLength(6)
      await warehouse.close()
    },
  )
})

describe.each(bothWarehouses())('$name', (kind) => {
  it('a key that is too long goes to quarantine before it is sent', async () => {
    const address = await kind.viewed()
    const warehouse = await reopen(address)
    const noise = randomBytes(9000).toString('base64')
    const longest = randomBytes(1000).toString('hex')
    const list = 'customer_payment_types'
    sandbox.store.tenant(1).strings.set(list, ['cash', noise, `${longest}é`, longest, 'card'])
    put('notes', 4, 4, { [randomBytes(5000).toString('base64')]: 'of a name that long' })
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
  })
})

it('a database without room still ends the run', async () => {
  const { classify } = await import('../../../src/engine/warehouse/postgres/drivererrors.js')
  for (const [words, code] of [
    ['No space left on device', '53100'],
    // A file size limit and a quota have no code of their own.
    ['could not extend file "base/5/1": File too large', '58030'],
  ] as const)
    expect(classify(Object.assign(new Error(words), { code }), 'here', names)).toMatchObject({
      name: 'Stop',
      exitCode: 1,
    })
})

it('a table that stays locked is tried three times, and then only fails its cursor', async () => {
  const { classify } = await import('../../../src/engine/warehouse/postgres/drivererrors.js')
  const locked = Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' })
  let asked = 0
  const retryPolicy = new RetryPolicy({
    clock: systemClock,
    classify: (error) => classify(error, 'here', names),
    waits: Array.from({ length: 9 }, () => 0),
  })
  const failed = retryPolicy.trying(async () => {
    asked++
    throw locked
  })
  await expect(failed).rejects.toMatchObject({ name: 'Skip', message: expect.stringContaining('lock') })
  expect(asked).toBe(3)
})

it('a change of a table lets readers pass, and names the one that holds it, without what it reads', async () => {
  const kind = bothWarehouses().find(({ name }) => name === 'postgres') as Kind
  const address = await kind.migrated()
  const warehouse = await reopen(address)
  const reader = (name: string) => new pg.Client({ connectionString: address.url, application_name: name })
  const [idle, other] = [reader('metabase'), reader('grafana')]
  await idle.connect()
  await other.connect()
  const notes = `"${address.schema}".notes`
  await idle.query(`alter table ${notes} drop column description`)
  await idle.query(`begin; select count(*) from ${notes} where _synced_at::text = '${secret}'`)
  const { rows } = await idle.query('select pg_backend_pid() as pid')
  const failed = migrate(warehouse)
  // With a transaction that waits for the lock, each further reader would wait, too.
  await other.query("set statement_timeout = '9s'")
  let isOver = false
  void failed.then(() => {
    isOver = true
  })
  while (!isOver) {
    await other.query(`select count(*) from ${notes}`)
    await sleep(50)
  }
  expect(await failed).toEqual([])
  const [error] = warehouse.interfered.allUnchanged() as [Skip]
  expect(error.hint).toMatch(
    new RegExp(
      `^metabase \\(pid ${rows[0].pid}\\) holds a lock on it, in a transaction since \\d{4}-.*: end that session`,
    ),
  )
  expect(`${error.message} ${error.hint}`).not.toContain(secret)
  await idle.query('rollback')
  expect(await migrate(warehouse)).toMatchObject([{ table: 'notes', column: { name: 'description' } }])
  await idle.end()
  await other.end()
  await warehouse.close()
})
