import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { sql } from 'kysely'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import type { Model } from '../../../src/engine/model/resourcemodel.js'
import { migrate } from '../../../src/engine/warehouse/layout/migrate.js'
import { type OpenOptions, openWarehouse } from '../../../src/engine/warehouse/openwarehouse.js'
import { Writer as Warehouse } from '../../../src/engine/warehouse/warehouse.js'
import { closedAfterwards } from './afterwards.js'
import { clonePostgres, cloneSqlite, postgresOfRun, type TemplateName } from './clones.js'
import { templateSchema } from './databases.js'
import { Emptied } from './emptied.js'
import type { Address } from './place.js'
import { known } from './runs.js'
import { scratch } from './scratch.js'
import { pagesToThreads } from './thread.js'

export * from '../../../src/engine/warehouse/classify.js'
export * from '../../../src/engine/warehouse/database.js'
export * from '../../../src/engine/warehouse/dialect.js'
export * from '../../../src/engine/warehouse/hiding/forgottenrecords.js'
export * from '../../../src/engine/warehouse/hiding/hiding.js'
export * from '../../../src/engine/warehouse/layout/migrate.js'
export * from '../../../src/engine/warehouse/layout/rewrites.js'
export * from '../../../src/engine/warehouse/lease/holder.js'
export * from '../../../src/engine/warehouse/lease/holder.js'
export * from '../../../src/engine/warehouse/lease/lease.js'
export * from '../../../src/engine/warehouse/lease/oneconfiguration.js'
export * from '../../../src/engine/warehouse/lease/openlease.js'
export * from '../../../src/engine/warehouse/openwarehouse.js'
export * from '../../../src/engine/warehouse/postgres/arrays.js'
export * from '../../../src/engine/warehouse/postgres/connection.js'
export { classify as classifyPostgres } from '../../../src/engine/warehouse/postgres/drivererrors.js'
export * from '../../../src/engine/warehouse/postgres/erase.js'
export * from '../../../src/engine/warehouse/postgres/sessiontime.js'
export * from '../../../src/engine/warehouse/queue/deliveries.js'
export * from '../../../src/engine/warehouse/retrypolicy.js'
export * from '../../../src/engine/warehouse/sqlite/thread/messages.js'
export * from '../../../src/engine/warehouse/sqlite/writelock.js'
export * from '../../../src/engine/warehouse/state/changesthrough.js'
export * from '../../../src/engine/warehouse/state/cursors.js'
export * from '../../../src/engine/warehouse/state/latenessrows.js'
export * from '../../../src/engine/warehouse/state/meta.js'
export * from '../../../src/engine/warehouse/state/rounds.js'
export * from '../../../src/engine/warehouse/state/runcursors.js'
export * from '../../../src/engine/warehouse/state/runs.js'
export * from '../../../src/engine/warehouse/state/shardsql.js'
export * from '../../../src/engine/warehouse/state/sharedrows.js'
export * from '../../../src/engine/warehouse/state/sharedwindow.js'
export * from '../../../src/engine/warehouse/state/tenants.js'
// What tests of components reach of the engine: a room that is rebuilt is followed here, and in no test.
export * from '../../../src/engine/warehouse/store/backlog.js'
export * from '../../../src/engine/warehouse/store/derived.js'
export * from '../../../src/engine/warehouse/store/learnedrules.js'
export * from '../../../src/engine/warehouse/store/recompute.js'
export * from '../../../src/engine/warehouse/store/versionbatch.js'
export * from '../../../src/engine/warehouse/transaction.js'
export * from '../../../src/engine/warehouse/views/viewstore.js'
export { contents, rowsOf } from '../oracle/rows.js'
export { Warehouse }

/** One kind of warehouse that a test body runs on. */
export interface Kind {
  readonly name: 'sqlite' | 'postgres'
  /** From how many rows on a page goes to SQLite's writer thread. */
  readonly threadFrom?: number
  /** Where a test can make its own warehouse: nothing is there yet. */
  address(): Address
  /** Where a test's own warehouse is, with the tables of the usual model: a copy of the run's template. */
  migrated(): Promise<Address>
  /** The same as `shopsync migrate` leaves it, with views: for commands, whose first run makes them. */
  viewed(): Promise<Address>
}

const file = (): string => join(scratch(), 'warehouse.db')
const sqliteFrom = (threadFrom: number): Kind => {
  const copied = async (of: TemplateName): Promise<Address> => {
    const path = file()
    await cloneSqlite(path, of)
    return { url: `sqlite:${path}`, schema: templateSchema, threadFrom }
  }
  return {
    name: 'sqlite',
    threadFrom,
    address: () => ({ url: `sqlite:${file()}`, schema: templateSchema, threadFrom }),
    migrated: () => copied('engine'),
    viewed: () => copied('viewed'),
  }
}
/** Without the writer thread: to start it takes as long as a small warehouse's first load. Commands use it. */
const sqlite = sqliteFrom(Number.POSITIVE_INFINITY)
const postgres: Kind = {
  name: 'postgres',
  address: () => ({ url: postgresOfRun().url, schema: `t_${randomBytes(6).toString('hex')}` }),
  migrated: async () => ({ url: await clonePostgres(), schema: templateSchema }),
  viewed: async () => ({ url: await clonePostgres('viewed'), schema: templateSchema }),
}

/**
 * For the laws, the contract that every dialect keeps, and whatever a dialect does (it stores, erases, locks, upgrades,
 * answers the SQL of views, is killed): SQLite and Postgres.
 */
export function bothWarehouses(): Kind[] {
  postgresOfRun()
  return [sqlite, postgres]
}

/**
 * For tests of everything above the dialects, for which all warehouses are the same: SQLite, and with WAREHOUSES=both
 * Postgres too. The laws and the tests of the dialects show that they are the same.
 */
export const warehouses = (): Kind[] => (inject('warehouses') === 'both' ? bothWarehouses() : [sqlite])

/** The address of the run's Postgres. */
export const postgresUrl = (): string => postgresOfRun().url

/** SQLite with every page written by the writer thread, and without that thread. */
export const sqliteBothWays = (): [way: string, kind: Kind][] => [
  ['sqlite, every page through the writer thread', sqliteFrom(0)],
  ['sqlite, no page through the writer thread', sqlite],
]

/**
 * For the laws: SQLite with every page written by the writer thread, SQLite without that thread, and Postgres. Which
 * pages go to the thread only affects speed, so every law has to hold both ways.
 */
export function describeBothWays(describeKind: (kind: Kind) => void): void {
  const others = bothWarehouses().filter(({ name }) => name !== 'sqlite')
  const ways = [...sqliteBothWays(), ...others.map((kind) => [kind.name, kind] as const)]
  describe.each(ways)('%s', (_way, kind) => {
    let before = 0
    beforeAll(() => {
      before = pagesToThreads()
    })
    describeKind(kind)
    it('wrote its pages that way', () => {
      expect(pagesToThreads() - before > 0).toBe(kind.threadFrom === 0)
    })
  })
}

/** Waits between attempts when a warehouse is down: short, so that a test of it takes no time. */
const retryWaits = [0, 5, 20, 50, 100, 200, 400, 800]

const textOf = ({ tables, histories }: Model): string => JSON.stringify([tables, histories])
const usual = textOf(known)

/** Whether the templates have the tables of this model. */
const fitsTemplate = (model: Model): boolean => model === known || textOf(model) === usual

/** A test's own warehouse, with the tables of the model: closed when the test that opens it ends, or the file. */
export async function open(kind: Kind, model: Model = known): Promise<Warehouse> {
  return fitsTemplate(model) ? reopen(await kind.migrated(), model) : openAt(kind.address(), model)
}

/** A warehouse at that address, with the tables of the model. */
export async function openAt(address: Address, model: Model = known): Promise<Warehouse> {
  const warehouse = await reopen(address, model)
  await migrate(warehouse)
  return warehouse
}

/** Another connection to the same warehouse, as another process would have, which may open it in another way. */
export const reopen = async (
  address: Address & Partial<OpenOptions>,
  model: Model = known,
): Promise<Warehouse> => closedAfterwards(await openWarehouse({ retryWaits, ...address, model }))

/** What another process sees there, which is closed then: for what is looked at again and again. */
export async function lookAt<T>(
  address: Address,
  look: (warehouse: Warehouse) => Promise<T>,
  model: Model = known,
): Promise<T> {
  const warehouse = await openWarehouse({ ...address, model, retryWaits })
  return look(warehouse).finally(() => warehouse.close())
}

/** A warehouse that stays open for all tests of a file. */
export interface Kept {
  /** Where it is: for another connection, or the program. */
  readonly address: Address
  /** Empties it, and opens it without what it remembered of its rows: as if new, at a fraction of the cost. */
  open(): Promise<Warehouse>
}

/**
 * One warehouse for the tests of a file, or of a `describe`: on Postgres, a test's own costs 40 ms of processor time, and an
 * emptied one 2. A test that changes tables, or gives rights on them, needs its own: the next one says so.
 */
export function kept(kind: Kind, model: Model = known): Kept {
  let address: Address | undefined
  let emptied: Emptied | undefined
  let last: string | undefined
  beforeAll(async () => {
    address = fitsTemplate(model) ? await kind.migrated() : kind.address()
    const warehouse = fitsTemplate(model) ? await reopen(address, model) : await openAt(address, model)
    emptied = await Emptied.of(warehouse)
  })
  const made = <T>(what: T | undefined): T => {
    if (what === undefined)
      throw new Error('A kept warehouse is made before the first test, not before beforeAll')
    return what
  }
  return {
    get address() {
      return made(address)
    },
    open: async () => {
      const { dialect } = made(emptied)
      await made(emptied).empty(last)
      last = expect.getState().currentTestName
      return new Warehouse({ dialect, model, retryWaits })
    },
  }
}

/** Somebody types statements, a line each, in the warehouse's schema. */
export async function typed({ db, dialect }: Warehouse, text: string): Promise<void> {
  const [, schema = ''] = /^"?(\w+)"?\./.exec(dialect.views().sql.table('sync_meta')) ?? []
  await db.connection().execute(async (connection) => {
    if (schema !== '') await sql`set search_path to ${sql.id(schema)}`.execute(connection)
    // SQLite's driver takes one statement at a time.
    for (const part of schema === '' ? text.split(';\n') : [text]) await sql.raw(part).execute(connection)
    if (schema !== '') await sql`reset search_path`.execute(connection)
  })
}

/**
 * SQLite reads every view again for each table or column that is renamed or dropped: with ours, that takes it five seconds.
 * The next run makes them again. Postgres knows what its views read.
 */
export async function dropViews({ dialect, db }: Warehouse): Promise<void> {
  if (dialect.locksRows) return
  const { rows } = await sql<{ name: string }>`select name from sqlite_schema where type = 'view'`.execute(db)
  for (const { name } of rows) await sql`drop view ${sql.id(name)}`.execute(db)
}
