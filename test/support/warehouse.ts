import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { sql } from 'kysely'
import { beforeAll, describe, expect, inject, it } from 'vitest'
import type { Model } from '../../src/model/registry.js'
import type { Table } from '../../src/model/tables.js'
import { openWarehouse } from '../../src/warehouse/open.js'
import type { Warehouse } from '../../src/warehouse/warehouse.js'
import type { Address } from './process.js'
import { known } from './run.js'
import { scratch } from './scratch.js'
import { pagesToThreads } from './thread.js'

/** One kind of warehouse that every test body runs on. `DIALECTS=sqlite npx vitest run` leaves Postgres out. */
export interface Kind {
  readonly name: 'sqlite' | 'postgres'
  /** Rows from which a page goes to SQLite's writer thread, where a test does not leave that to the program. */
  readonly threadFrom?: number
  /** Where a warehouse of the test's own is, and how it is opened. */
  address(): Address
}

const sqlite: Kind = {
  name: 'sqlite',
  address: () => ({ url: `sqlite:${join(scratch(), 'warehouse.db')}`, schema: 'shopsync' }),
}
const postgres: Kind = {
  name: 'postgres',
  address: () => ({ url: inject('postgresUrl'), schema: `t_${randomBytes(6).toString('hex')}` }),
}
const threaded = (threadFrom: number): Kind => ({
  ...sqlite,
  threadFrom,
  address: () => ({ ...sqlite.address(), threadFrom }),
})

export const warehouses = (): Kind[] => (inject('postgresUrl') === '' ? [sqlite] : [sqlite, postgres])

/** SQLite with every page written by the writer thread, and without that thread. */
export const sqliteBothWays = (): [way: string, kind: Kind][] => [
  ['sqlite, every page through the writer thread', threaded(0)],
  ['sqlite, no page through the writer thread', threaded(Number.POSITIVE_INFINITY)],
]

/**
 * For the laws: SQLite with every page written by the writer thread, SQLite without that thread, and Postgres. Which
 * pages take which way is a matter of speed, so that every law has to hold on both.
 */
export function describeBothWays(describeKind: (kind: Kind) => void): void {
  const others = warehouses().filter(({ name }) => name !== 'sqlite')
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

/** Waits between attempts of a warehouse that is away: short, so that a test of it takes no time. */
const patience = [0, 5, 20, 50, 100, 200, 400, 800]

export async function open(kind: Kind, model: Model = known): Promise<Warehouse> {
  const warehouse = await openWarehouse({ ...kind.address(), model, patience })
  await warehouse.migrate()
  return warehouse
}

/** Another connection to the same warehouse, as another process would have. */
export const reopen = (address: Address, model: Model = known): Promise<Warehouse> =>
  openWarehouse({ ...address, model, patience })

/** All rows of a table, in the order of their keys, in a form that is the same for every dialect. */
export async function rowsOf(warehouse: Warehouse, table: string): Promise<Record<string, unknown>[]> {
  const definition = warehouse.tables.find((candidate) => candidate.name === table)
  if (!definition) throw new Error(`no table ${table}`)
  const rows = (await warehouse.db
    .selectFrom(table as 'tenants')
    .selectAll()
    .orderBy(sql.join(definition.key.map((name) => sql.ref(name))))
    .execute()) as Record<string, unknown>[]
  const kinds = new Map(definition.columns.map((column) => [column.name, column.kind]))
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value, kinds.get(name))])),
  )
}

function plain(value: unknown, kind: string | undefined): unknown {
  if (value === null || value === undefined) return null
  if (kind === 'boolean') return value === true || value === 1
  if (kind === 'json') return typeof value === 'string' ? JSON.parse(value) : value
  if (typeof value === 'bigint') return String(value)
  return value
}

/**
 * Every row of every resource table, and of those that follow from them, without the stamps that depend on when it was
 * fetched.
 */
export async function contents(
  warehouse: Warehouse,
  model: Model = known,
  tables: readonly Table[] = model.tables,
): Promise<Record<string, unknown>> {
  const all: Record<string, unknown> = {}
  for (const { name: table } of tables)
    all[table] = (await rowsOf(warehouse, table)).map(({ _synced_at, ...row }) => ({
      ...row,
      ...('_deleted_at' in row && { _deleted_at: row._deleted_at !== null }),
    }))
  return all
}
