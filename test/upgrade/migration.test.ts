/**
 * The change of keys itself: what others have added to a table stays, or is reported; any interruption leaves the
 * warehouse as it was; older programs refuse the result.
 */
import { isDeepStrictEqual } from 'node:util'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { resources } from '../../schema/index.js'
import type { Stop } from '../../src/engine/base/errors.js'
import { migrate, plannedChanges } from '../../src/engine/warehouse/migrate.js'
import type { Session } from '../../src/engine/warehouse/transaction.js'
import { Warehouse } from '../../src/engine/warehouse/warehouse.js'
import { model } from '../support/model.js'
import { type Address, configure } from '../support/place.js'
import { startPostgres } from '../support/postgres.js'
import { Program, type ProgramOptions, program } from '../support/process.js'
import { refusal } from '../support/server.js'
import { sized } from '../support/size.js'
import { watched } from '../support/through.js'
import { keptWarehouse } from '../support/upgrades.js'
import { make, query } from '../support/views.js'
import { bothWarehouses, contents, type Kind, reopen } from '../support/warehouse.js'

const known = model(resources, { repair_orders: { history: true }, canned_jobs: { history: true } })
const table = 'repair_order_services'
const newKey = ['tenant_id', 'repair_order_id', 'id']

const keyOf = async ({ dialect }: Warehouse): Promise<unknown> =>
  (await dialect.catalog.liveIndexes()).find((index) => index.table === table && index.isPrimary)?.columns

/** A warehouse of 0.2.0 in which somebody gave some tables other keys. */
async function otherwiseKeyed(kind: Kind, server?: string): Promise<Address> {
  const address = await keptWarehouse(kind, server)
  const warehouse = await reopen(address, known)
  const keys = (await warehouse.dialect.catalog.liveIndexes()).filter(({ isPrimary }) => isPrimary)
  for (const name of [table, 'repair_order_labors', 'repair_order_parts']) {
    const declared = known.tableByName.get(name)!
    const live = keys.find((key) => key.table === name)
    const { statements } = await warehouse.dialect.catalog.changeKey(
      { ...declared, key: ['tenant_id', 'id'] },
      live,
    )
    await warehouse.write(statements)
  }
  await warehouse.close()
  return address
}

/** Everything recorded about tables, indexes, triggers and views, and what the program knows about its work. */
async function outline(warehouse: Warehouse, kind: Kind): Promise<unknown> {
  const catalog =
    kind.name === 'sqlite'
      ? sql`select type, name, sql as text from sqlite_schema order by type, name`
      : sql`select table_name as name, column_name as type, data_type as text from information_schema.columns
          where table_schema = 'shopsync' order by 1, 2`
  const { rows } = await catalog.execute(warehouse.db)
  const state: unknown[] = []
  for (const name of ['sync_cursors', 'sync_meta', 'sync_run_cursors', table, 'repair_order_parts'])
    state.push(
      await warehouse.db
        .selectFrom(name as 'tenants')
        .selectAll()
        .orderBy(sql`1`)
        .orderBy(sql`2`)
        .execute(),
    )
  return { state, catalog: rows, indexes: await warehouse.dialect.catalog.liveIndexes() }
}

/** The same, and all rows. */
async function everything(warehouse: Warehouse, kind: Kind): Promise<unknown> {
  const live = new Set((await warehouse.dialect.catalog.liveColumns()).map((column) => column.table))
  const tables = [...known.tables, ...known.histories].filter(({ name }) => live.has(name))
  return { rows: await contents(warehouse, known, tables), outline: await outline(warehouse, kind) }
}

describe.each(bothWarehouses())('$name', (kind) => {
  const isSqlite = kind.name === 'sqlite'
  const open = async (): Promise<{ address: Address; warehouse: Warehouse }> => {
    const address = await otherwiseKeyed(kind)
    return { address, warehouse: await reopen(address, known) }
  }
  const run = async ({ db }: Warehouse, ...statements: string[]): Promise<void> => {
    for (const statement of statements) await sql.raw(statement).execute(db)
  }
  const place = isSqlite ? '' : 'shopsync.'

  it("keeps a user's column, index, trigger and view", async () => {
    const { warehouse } = await open()
    await make(warehouse, {}, known)
    await run(
      warehouse,
      `alter table ${place}${table} add column note text default 'mine'`,
      `update ${place}${table} set note = 'kept' where tenant_id = 1 and id = 10`,
      `create unique index services_of_mine on ${place}${table} (tenant_id, id, note)`,
      `create index repair_order_services_by_title on ${place}${table} (tenant_id, title)`,
      `create view ${place}titles as select s.title, o.number from ${place}${table} s join ${place}repair_orders o on o.id = s.repair_order_id and o.tenant_id = s.tenant_id`,
      `create table ${place}seen (n integer)`,
      ...(isSqlite
        ? [
            `create trigger saw after update on ${table} begin insert into seen values (new.id); end`,
            `create trigger elsewhere after insert on seen begin update ${table} set note = 'seen' where id = new.n; end`,
          ]
        : [
            'create function shopsync.saw() returns trigger language plpgsql as $$ begin insert into shopsync.seen values (new.id); return new; end $$',
            `create trigger saw after update on shopsync.${table} for each row execute function shopsync.saw()`,
          ]),
    )
    const titles = () => query(warehouse, `select * from ${place}titles order by 1, 2`)
    const [before, wereTitles] = [await contents(warehouse, known), await titles()]
    await migrate(warehouse)
    expect(await keyOf(warehouse)).toEqual(newKey)
    expect(await contents(warehouse, known)).toMatchObject(before)
    expect(await titles()).toEqual(wereTitles)
    const indexes = (await warehouse.dialect.catalog.liveIndexes()).filter((index) => index.table === table)
    expect(indexes.map(({ name, isPrimary }) => (isPrimary ? 'key' : name)).sort()).toEqual([
      'key',
      'repair_order_services_by_id',
      'repair_order_services_by_title',
      'services_of_mine',
    ])
    // No row was stored again for it, and everything stored from now on is seen.
    expect(await query(warehouse, `select n from ${place}seen`)).toEqual([])
    await run(warehouse, `update ${place}${table} set title = 'x' where tenant_id = 1 and id = 10`)
    expect((await query(warehouse, `select n from ${place}seen`)).map(({ n }) => Number(n))).toEqual([10])
    const [service] = await query(
      warehouse,
      `select note from ${place}${table} where tenant_id = 1 and id = 10`,
    )
    expect(service?.note).toBe(isSqlite ? 'seen' : 'kept')
    expect((await make(warehouse, {}, known)).troubles).toEqual([])
    await warehouse.close()
  })

  it('reports a foreign key on the old key, and changes nothing', async () => {
    const { warehouse } = await open()
    await run(
      warehouse,
      `create table ${place}visits (id integer primary key, tenant_id bigint, service_id bigint,
        constraint visits_service foreign key (tenant_id, service_id) references ${place}${table} (tenant_id, id) on delete cascade)`,
      `insert into ${place}visits values (1, 1, 10)`,
    )
    const before = await everything(warehouse, kind)
    const refused = (await refusal(migrate(warehouse))) as Stop
    expect(refused.exitCode).toBe(2)
    expect(refused.message).toContain(
      isSqlite
        ? `${table} (the foreign key (tenant_id, service_id) of the table visits refers to it)`
        : `${table} (the constraint visits_service on table shopsync.visits depends on its key)`,
    )
    expect(refused.hint).toContain('tenant_id, repair_order_id, id')
    expect(refused.hint).toContain('Nothing was changed')
    expect(await everything(warehouse, kind)).toEqual(before)
    const planned = (await plannedChanges(warehouse)).filter(({ obstacles = [] }) => obstacles.length > 0)
    expect(planned.map((change) => change.table)).toEqual([table])
    await run(warehouse, `drop table ${place}visits`)
    await migrate(warehouse)
    expect(await keyOf(warehouse)).toEqual(newKey)
    await warehouse.close()
  })

  it.runIf(!isSqlite)(
    'reports a view and a function that depend on the old key, and the replica identity',
    async () => {
      const { warehouse } = await open()
      await run(
        warehouse,
        `create view public.counted as select tenant_id, id, title, count(*) as n from shopsync.${table} group by tenant_id, id`,
        'alter table shopsync.repair_order_labors replica identity using index repair_order_labors_key',
      )
      const { message, exitCode } = (await refusal(migrate(warehouse))) as Stop
      expect(exitCode).toBe(2)
      expect(message).toContain(`${table} (the view counted depends on its key)`)
      expect(message).toContain(
        'repair_order_labors (the replica identity of the table shopsync.repair_order_labors depends on its key)',
      )
      await warehouse.close()
    },
  )

  it('ends correctly after an interruption at any statement', async () => {
    const { warehouse } = await open()
    const before = await outline(warehouse, kind)
    class Crash extends Error {}
    const disturbed = (at: number): { warehouse: Warehouse; moments: () => number } => {
      let n = 0
      const moment = (): void => {
        if (++n >= at) throw new Crash(`at moment ${at}`)
      }
      const { transaction } = warehouse.dialect
      const dying = {
        transaction: <T>(work: (session: Session) => Promise<T>): Promise<T> =>
          transaction((session) => work(watched(session, moment))),
      }
      const dialect = { ...warehouse.dialect, ...dying }
      return { warehouse: new Warehouse({ dialect, model: known, retryWaits: [0] }), moments: () => n }
    }
    // On a server, each attempt takes longer, and the statements are the same.
    const step = sized(isSqlite ? 83 : 41, isSqlite ? 11 : 13)
    for (let at = sized(31, 1); ; at += step) {
      const attempt = disturbed(at)
      const failed = await migrate(attempt.warehouse).catch((error: unknown) => error)
      if (!(failed instanceof Crash)) {
        expect(Array.isArray(failed), String(failed)).toBe(true)
        expect(attempt.moments()).toBeGreaterThan(isSqlite ? 120 : 60)
        break
      }
      expect(await outline(warehouse, kind), `after moment ${at}`).toEqual(before)
    }
    expect(await keyOf(warehouse)).toEqual(newKey)
    expect(await migrate(warehouse)).toEqual([])
    await warehouse.close()
  })

  it.each([
    ['2', 'was made by a version before 0.2.0 (its tables are of version 2)'],
    ['5', 'has tables of version 5; this program knows versions up to 4'],
  ])('of version %s is refused, and stays as it is', async (version, words) => {
    const { warehouse } = await open()
    await run(warehouse, `update ${place}sync_meta set value = '${version}' where name = 'schema_version'`)
    const before = await everything(warehouse, kind)
    for (const work of [() => migrate(warehouse), () => plannedChanges(warehouse)])
      expect(await refusal(work())).toMatchObject({ exitCode: 2, message: expect.stringContaining(words) })
    expect(await everything(warehouse, kind)).toEqual(before)
    await warehouse.close()
  })
})

/** Rows whose new key needs more room than is left: SQLite's log, or what Postgres sorts for an index. */
const fatten = (place: string, numbers: string): string =>
  `insert into ${place}repair_order_parts (tenant_id, repair_order_id, service_id, position, id, brand, _synced_at)
   select 1, 4, 41, 0, 100000 + i, 'a brand of parts that takes some room, number ' || i, '2026-03-01T00:00:00.000000Z'
   from (${numbers}) as numbers`

describe.skipIf(process.platform === 'win32')('running out of disk space halfway', () => {
  const migrate = (address: Address, options: ProgramOptions = {}): Program => {
    const nowhere = { url: 'http://127.0.0.1:9', partnerId: '42', secret: 'secret' }
    const history = { repair_orders: { history: true }, canned_jobs: { history: true } }
    return new Program(
      program,
      ['migrate', '--config', configure(nowhere, address, ['notes'], { resources: history })],
      options,
    )
  }
  const tell =
    /Free at least \d+(\.\d)? MB and run the same command again: the keys of 3 tables change, and until all of them have, the warehouse stays as it was/

  it('of SQLite leaves the file as it was', async () => {
    const kind = bothWarehouses()[0]!
    const address = await otherwiseKeyed(kind)
    const warehouse = await reopen(address, known)
    const numbers =
      'with recursive n (i) as (select 1 union all select i + 1 from n where i < 12000) select i from n'
    await sql.raw(fatten('', numbers)).execute(warehouse.db)
    await sql`pragma wal_checkpoint(truncate)`.execute(warehouse.db)
    const before = await outline(warehouse, kind)
    // The file itself is larger; the log of the transaction may not grow that large.
    const full = await migrate(address, { kilobytes: 1536 }).ended
    expect(full.code, full.stderr).toBe(1)
    expect(full.stderr).toMatch(/cannot be written: .*SQLITE_(FULL|IOERR)/)
    expect(full.stderr).toMatch(tell)
    expect(isDeepStrictEqual(await outline(warehouse, kind), before)).toBe(true)
    const next = await migrate(address).ended
    expect(next.code, next.stderr).toBe(0)
    expect(next.stdout).toMatch(
      /repair_order_parts: change key to tenant_id, repair_order_id, id \(12,\d+ rows, /,
    )
    expect(await keyOf(warehouse)).toEqual(newKey)
    await warehouse.close()
  })

  it.runIf(bothWarehouses().length > 1)('of Postgres leaves the schema as it was', async () => {
    const kind = bothWarehouses()[1]!
    const postgres = await startPostgres()
    const address = await otherwiseKeyed(kind, postgres.url)
    const warehouse = await reopen(address, known)
    await sql
      .raw(fatten('shopsync.', 'select i from generate_series(1, 30000) as n (i)'))
      .execute(warehouse.db)
    const before = await outline(warehouse, kind)
    await sql`alter system set temp_file_limit = '128kB'`.execute(warehouse.db)
    await sql`alter system set maintenance_work_mem = '1MB'`.execute(warehouse.db)
    await sql`select pg_reload_conf()`.execute(warehouse.db)
    const full = await migrate(address).ended
    expect(full.code, full.stderr).toBe(1)
    expect(full.stderr).toContain('is out of room')
    expect(full.stderr).toMatch(tell)
    await sql`alter system reset temp_file_limit`.execute(warehouse.db)
    await sql`select pg_reload_conf()`.execute(warehouse.db)
    expect(isDeepStrictEqual(await outline(warehouse, kind), before)).toBe(true)
    const next = await migrate(address).ended
    expect(next.code, next.stderr).toBe(0)
    expect(await keyOf(warehouse)).toEqual(newKey)
    await warehouse.close()
    await postgres.stop()
  })
})
