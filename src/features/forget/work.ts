import type { CompiledQuery } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { Stop } from '../../engine/base/errors.js'
import { historyName } from '../../engine/model/historytable.js'
import type { Model } from '../../engine/model/resourcemodel.js'
import type { Table } from '../../engine/model/table.js'
import type { Dependencies } from '../../engine/run/runcontext.js'
import { now } from '../../engine/run/tenant.js'
import type { Traces } from '../../engine/warehouse/dialect.js'
import { notRemoved } from '../../engine/warehouse/layout/interference.js'
import { openLease } from '../../engine/warehouse/lease/openlease.js'
import {
  forgottenTenants,
  liftForgotten,
  rememberForgotten,
  rememberTraces,
  tenantsWithTraces,
} from '../../engine/warehouse/state/tenants.js'
import type { Writer } from '../../engine/warehouse/warehouse.js'
import type { Besides } from '../../shell/command.js'
import { eachBeside } from '../../shell/features.js'

/** What was erased. */
export interface Forgotten {
  readonly tenant_id: Int64
  readonly rows: number
  readonly tables: readonly { readonly table: string; readonly rows: number }[]
  /** Why traces remain in the database's files; null if none do. */
  readonly traces_left: string | null
  /** Where else traces may be, such as in backups. */
  readonly elsewhere: string
}

type Needs = Pick<Dependencies, 'warehouse' | 'clock' | 'leaseMs'> & {
  readonly signal?: AbortSignal
  /** Warehouses that features keep beside this one. */
  readonly besides?: readonly Besides[]
  /** Takes the tenant from those who may see its rows. Returns why some views still name it; null if none do. */
  readonly takeFromReaders?: (warehouse: Writer, tenantId: Int64) => Promise<string | null>
}

const isOfTenants = ({ name: table, columns }: Table): boolean =>
  !table.startsWith('sync_forgotten') && columns.some(({ name }) => name === 'tenant_id')

/**
 * The tables with rows of a tenant, in the order in which they are emptied. Those with its cursors' progress come
 * first, so an interrupted erasure leaves nothing that a sync would take for complete. The tenant itself comes last.
 */
async function tablesInOrder({ warehouse }: Needs): Promise<string[]> {
  const { model } = warehouse
  const resource = new Set(model.tables.map(({ name }) => name))
  const ofTenants = warehouse.tables.filter(isOfTenants).map(({ name }) => name)
  const rank = (name: string): number => (name === 'tenants' ? 2 : resource.has(name) ? 1 : 0)
  // Histories that were switched off aren't in the model, but still hold rows.
  const live = await warehouse.trying(() => warehouse.dialect.catalog.liveColumns())
  const histories = historyNames(model).filter((name) => live.some(({ table }) => table === name))
  const all = new Set([...ofTenants, ...histories])
  return [...all].sort((a, b) => rank(a) - rank(b))
}

/**
 * Stops if the warehouse doesn't know the tenant. One that was forgotten may be forgotten again: what is left of it goes,
 * such as events that a receiver of an older version has stored since.
 */
export async function checkTenant({ warehouse }: Pick<Needs, 'warehouse'>, tenantId: Int64): Promise<void> {
  const known = await warehouse.read((db) => db.selectFrom('tenants').select('tenant_id').execute())
  if (known.some(({ tenant_id }) => tenant_id === tenantId)) return
  if ((await tenantsWithTraces(warehouse)).includes(String(tenantId))) return
  if ((await forgottenTenants(warehouse)).has(tenantId)) return
  throw new Stop(`The warehouse has no tenant ${tenantId}`, {
    exitCode: 2,
    hint:
      known.length === 0
        ? 'It is empty: there is nothing to erase'
        : `Expected one of ${known.map(({ tenant_id }) => tenant_id).join(', ')}`,
  })
}

/**
 * Erases every row of one tenant, everything known about it, and the traces of both in the database's files. Safe to
 * repeat: after any interruption, the tenant can be named again.
 */
export async function forgetTenant(deps: Needs, tenantId: Int64): Promise<Forgotten> {
  await checkTenant(deps, tenantId)
  const { signal } = deps
  // Erasing depends on no setting: it must not fail because of another configuration, whose rows go too.
  await using lease = await openLease({ ...deps, shapesRows: false }, 'forget')
  const { warehouse } = lease
  const { db } = warehouse
  const others = (await tenantsWithTraces(warehouse)).filter((id) => id !== String(tenantId))
  const all = [...others, String(tenantId)]
  const order = await tablesInOrder(deps)
  // Rows that can't be seen aren't deleted either. Before the tenant is marked: a refused command changes nothing.
  await warehouse.interfered.refuseHidden(order)
  await warehouse.write([rememberTraces(db, all), rememberForgotten(db, tenantId, now(deps))])
  const erased = await erase(warehouse, order, { tenantId, signal })
  const tables = [...erased.tables]
  let { left } = erased
  await eachBeside(deps.besides ?? [], warehouse, async (beside) => {
    const order = beside.tables.filter(isOfTenants).map(({ name }) => name)
    await beside.interfered.refuseHidden(order)
    const also = { names: beside.tables.map(({ name }) => name), statements: beside.forgetting(tenantId) }
    const gone = await erase(beside, order, { tenantId, signal, also })
    tables.push(...gone.tables)
    left ??= gone.left
  })
  left ??= (await deps.takeFromReaders?.(warehouse, tenantId)) ?? null
  if (left === null) await warehouse.write([rememberTraces(db, others)])
  lease.throwIfLost()
  const rows = tables.reduce((sum, table) => sum + table.rows, 0)
  return { tenant_id: tenantId, rows, tables, traces_left: left, elsewhere: erased.elsewhere }
}

/** Erases a tenant's rows of these tables, and their traces. */
async function erase(
  warehouse: Writer,
  order: readonly string[],
  {
    tenantId,
    signal,
    also,
  }: {
    readonly tenantId: Int64
    readonly signal: AbortSignal | undefined
    /** What names the tenant without a column of its own, and the tables in which traces may be. */
    readonly also?: { readonly names: readonly string[]; readonly statements: readonly CompiledQuery[] }
  },
): Promise<Traces & Pick<Forgotten, 'tables'>> {
  const tables: { table: string; rows: number }[] = []
  const traces = await warehouse.dialect.erase(also?.names ?? order, async () => {
    for (const name of order) {
      signal?.throwIfAborted()
      const rows = await emptied(warehouse, name, tenantId)
      if (rows > 0) tables.push({ table: name, rows })
    }
    if (also) await warehouse.write(also.statements)
  })
  return { ...traces, tables }
}

/** Erases a tenant's rows of a table. A trigger may keep some without an error, and then the tenant isn't forgotten. */
async function emptied(warehouse: Writer, name: string, tenantId: Int64): Promise<number> {
  const { db, where } = warehouse
  const table = name as 'tenants'
  return warehouse.transaction(async (session) => {
    const gone = db.deleteFrom(table).where('tenant_id', '=', tenantId).compile()
    const { affected } = await session.run(gone)
    const rest = db.selectFrom(table).select((eb) => eb.fn.countAll<Int64>().as('n'))
    const [left] = (await session.run(rest.where('tenant_id', '=', tenantId).compile())).rows
    if (Number(left?.n ?? 0) > 0) throw notRemoved(where, name, Number(left?.n))
    return affected
  })
}

/**
 * Lets a tenant back in: the next sync loads it if it is granted. Stops if it was not forgotten. Returns the JSON
 * document of `forget --lift`.
 */
export async function liftTenant(
  deps: Needs,
  tenantId: Int64,
): Promise<{ readonly tenant_id: Int64; readonly lifted: true }> {
  const { warehouse } = deps
  const forgotten = await forgottenTenants(warehouse)
  if (!forgotten.has(tenantId))
    throw new Stop(`Tenant ${tenantId} was not forgotten`, {
      exitCode: 2,
      hint:
        forgotten.size === 0
          ? 'No tenant is forgotten: there is nothing to lift'
          : `Expected one of ${[...forgotten].join(', ')}`,
    })
  await using lease = await openLease({ ...deps, shapesRows: false }, 'forget')
  await lease.warehouse.write([liftForgotten(warehouse.db, tenantId)])
  lease.throwIfLost()
  return { tenant_id: tenantId, lifted: true }
}

/**
 * The names of all tables that hold versions, if a configuration keeps or kept them. Code that copies or erases a
 * warehouse checks which of them exist (Warehouse.histories).
 */
const historyNames = ({ list }: Pick<Model, 'list'>): string[] =>
  list.flatMap(({ resource }) => historyName(resource) ?? [])
