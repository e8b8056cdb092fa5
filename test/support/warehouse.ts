import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { sql } from 'kysely'
import { inject } from 'vitest'
import { resources } from '../../schema/index.js'
import { type Model, model } from '../../src/model/registry.js'
import { openWarehouse } from '../../src/warehouse/open.js'
import type { Warehouse } from '../../src/warehouse/warehouse.js'
import { scratch } from './postgres.js'

/** One kind of warehouse that every test body runs on. `DIALECTS=sqlite npx vitest run` leaves Postgres out. */
export interface Kind {
  readonly name: 'sqlite' | 'postgres'
  /** Address and schema of a warehouse of the test's own. */
  address(): { url: string; schema: string }
}

const schemaName = (): string => `t_${randomBytes(6).toString('hex')}`

const sqlite: Kind = {
  name: 'sqlite',
  address: () => ({ url: `sqlite:${join(scratch(), 'warehouse.db')}`, schema: 'shopsync' }),
}
const postgres: Kind = {
  name: 'postgres',
  address: () => ({ url: inject('postgresUrl'), schema: schemaName() }),
}

export const warehouses = (): Kind[] => (inject('postgresUrl') === '' ? [sqlite] : [sqlite, postgres])

/** Waits between attempts of a warehouse that is away: short, so that a test of it takes no time. */
const patience = [0, 5, 20, 50, 100, 200, 400, 800]

export async function open(kind: Kind, known: Model = model(resources)): Promise<Warehouse> {
  const warehouse = await openWarehouse({ ...kind.address(), model: known, patience })
  await warehouse.migrate()
  return warehouse
}

/** Another connection to the same warehouse, as another process would have. */
export const reopen = (
  address: { url: string; schema: string },
  known: Model = model(resources),
): Promise<Warehouse> => openWarehouse({ ...address, model: known, patience })

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

/** Every row of every resource table, without the stamps that depend on when it was fetched. */
export async function contents(
  warehouse: Warehouse,
  known: Model = model(resources),
): Promise<Record<string, unknown>> {
  const tables = [...known.tables].map((table) => table.name)
  const all: Record<string, unknown> = {}
  for (const table of tables)
    all[table] = (await rowsOf(warehouse, table)).map(({ _synced_at, ...row }) => ({
      ...row,
      ...('_deleted_at' in row && { _deleted_at: row._deleted_at !== null }),
    }))
  return all
}
