import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import type { Model } from '../../src/engine/model/resourcemodel.js'
import { migrate } from '../../src/engine/warehouse/migrate.js'
import { openWarehouse } from '../../src/engine/warehouse/openwarehouse.js'
import type { Warehouse } from '../../src/engine/warehouse/warehouse.js'
import { clonePostgres, cloneSqlite, postgresOfRun, type TemplateName } from './clones.js'
import { templateSchema } from './databases.js'
import type { Address } from './place.js'
import { known } from './run.js'
import { scratch } from './scratch.js'
import { pagesToThreads } from './thread.js'

export { contents, rowsOf } from './rows.js'

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

/** A test's own warehouse, with the tables of the model. */
export async function open(kind: Kind, model: Model = known): Promise<Warehouse> {
  return fitsTemplate(model) ? reopen(await kind.migrated(), model) : openAt(kind.address(), model)
}

/** A warehouse at that address, with the tables of the model. */
export async function openAt(address: Address, model: Model = known): Promise<Warehouse> {
  const warehouse = await reopen(address, model)
  await migrate(warehouse)
  return warehouse
}

/** Another connection to the same warehouse, as another process would have. */
export const reopen = (address: Address, model: Model = known): Promise<Warehouse> =>
  openWarehouse({ ...address, model, retryWaits })
