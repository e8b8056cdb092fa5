/**
 * The sets of forgotten records in the warehouse (docs/warehouse.md, Forgetting a customer), as a run and its pages read
 * them. forgottenentries.ts writes them.
 *
 * Who may change a set, and who hears of it: `shopsync forget` under its lease, so no page is under way; and the commit
 * of a page that shows a record of a forgotten customer for the first time. Either raises `sync_lease.forgotten` in the
 * row of its lease: the tenants of other holders have sets of their own. Each
 * commit of a page compares it with the number that the page was prepared with, in the statement that checks the fence,
 * and a page of an earlier set is prepared again (Warehouse.apply).
 */
import { type CompiledQuery, sql } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import type { Shard } from '../base/shard.js'
import type { FlatPage } from '../model/flatten/batch.js'
import type { ForgottenState } from '../model/forgotten.js'
import { historyName } from '../model/historytable.js'
import type { Model, ResourceModel } from '../model/resourcemodel.js'
import type { CursorKey, Reader } from './cursors.js'
import { type Db, readJson } from './database.js'
import type { Dialect } from './dialect.js'
import { isOfShard } from './shardsql.js'
import type { EncodedPage } from './versionbatch.js'

type Source = Reader & {
  readonly model: Pick<Model, 'list' | 'forgotten'>
  readonly dialect: Pick<Dialect, 'catalog'>
  /** The row of the lease under which it is written. */
  readonly leaseName: string
}

/** Reads the sets, or the set of one tenant. The number comes first: what is newer than it is compared again. */
export async function readForgottenRecords(warehouse: Source, tenantId?: Int64): Promise<void> {
  const { forgotten, list } = warehouse.model
  const live = await warehouse.read(() => warehouse.dialect.catalog.liveColumns())
  const names = list.flatMap(({ resource }) => historyName(resource) ?? [])
  forgotten.histories = names.filter((name) => live.some(({ table }) => table === name))
  await warehouse.read(async (db) => {
    const lease = await db
      .selectFrom('sync_lease')
      .select('forgotten')
      .where('name', '=', warehouse.leaseName)
      .executeTakeFirst()
    const generation = lease?.forgotten ?? 0
    let query = db
      .selectFrom('sync_forgotten_records')
      .select(['tenant_id', 'resource', 'record_id', 'state'])
    if (tenantId !== undefined) query = query.where('tenant_id', '=', tenantId)
    const found = new Map<Int64, Map<string, Map<Int64, ForgottenState>>>()
    if (tenantId !== undefined) found.set(tenantId, new Map())
    for (const { tenant_id, resource, record_id, state } of await query.execute()) {
      const records = found.get(tenant_id) ?? new Map<string, Map<Int64, ForgottenState>>()
      const ids = records.get(resource) ?? new Map<Int64, ForgottenState>()
      found.set(tenant_id, records.set(resource, ids.set(record_id, state as ForgottenState)))
    }
    if (tenantId === undefined) Object.assign(forgotten, { generation, tenants: new Map() })
    for (const [tenant, records] of found) forgotten.tenants.set(tenant, { generation, records })
  })
}

export type Preparing = Source & { encode(page: FlatPage, key: CursorKey): EncodedPage }

/** The page with what was forgotten since. undefined if it can't be prepared again. */
export async function preparedAgain(
  warehouse: Preparing,
  key: CursorKey,
  page: EncodedPage,
): Promise<EncodedPage | undefined> {
  await readForgottenRecords(warehouse, key.tenantId)
  const again = page.forgotten?.again
  if (again) return warehouse.encode(again(), key)
  const { generation = 0, records } = warehouse.model.forgotten.tenants.get(key.tenantId) ?? {}
  return records?.size === 0
    ? { ...page, forgotten: { generation, entering: [], sharing: [], reassigned: [] } }
    : undefined
}

/** The same for commands that only read: they may meet the warehouse of an older program. */
export async function readForgottenThere(warehouse: Source & { has(name: string): Promise<boolean> }) {
  if (await warehouse.has('sync_forgotten_records')) await readForgottenRecords(warehouse)
}

export interface NotLookedAt {
  readonly table: string
  /**
   * `not_read`: its list was never read to the end. `leads_to_nobody`: no reference leads to a person. `not_migrated`:
   * the table is to be changed first.
   */
  readonly reason: 'not_read' | 'leads_to_nobody' | 'not_migrated'
  /** How many rows that concerns; null for a list. */
  readonly rows: number | null
}

/** What is known about a customer who was forgotten. Nothing in it says who that was. */
export interface Receipt {
  readonly id: string
  readonly tenant_id: Int64
  readonly customer_id: Int64
  readonly begun_at: string
  /** null: it has to be done again. */
  readonly done_at: string | null
  readonly rows: number
  readonly tables: readonly { readonly table: string; readonly rows: number }[]
  /** What other customers have too, and was kept. */
  readonly kept: readonly { readonly table: string; readonly rows: number }[]
  /** Why traces remain in the database's files; null if none do. */
  readonly traces_left: string | null
  /** What may say something about the person and could not be looked at. */
  readonly not_looked_at: readonly NotLookedAt[]
  /** Where else traces may be, such as in backups. */
  readonly elsewhere: string
}

/** The receipts in the warehouse. Empty for one that hasn't been migrated yet. */
export async function storedReceipts(
  warehouse: Reader & { has(name: string): Promise<boolean> },
): Promise<Receipt[]> {
  if (!(await warehouse.has('sync_forgotten_records'))) return []
  const rows = await warehouse.read((db) =>
    db.selectFrom('sync_forgotten_records').select('receipt').where('receipt', 'is not', null).execute(),
  )
  return rows.map(({ receipt }) => readJson(receipt) as Receipt)
}

/** Since when a record is forgotten. undefined if it isn't. */
export async function forgottenSince(
  warehouse: Reader & { has(name: string): Promise<boolean> },
  { name: resource }: Pick<ResourceModel, 'name'>,
  tenantId: Int64,
  id: Int64,
): Promise<string | undefined> {
  if (!(await warehouse.has('sync_forgotten_records'))) return undefined
  const entry = await warehouse.read((db) =>
    db
      .selectFrom('sync_forgotten_records')
      .select('since')
      .where((eb) => eb.and({ tenant_id: tenantId, resource, record_id: id, state: 'hidden' }))
      .executeTakeFirst(),
  )
  return entry?.since ?? undefined
}

/** Records that aren't forgotten any more, and whose values have to be requested. */
export const wantedRecords = (warehouse: Reader, shard?: Shard) =>
  warehouse.read((db) => {
    const wanted = db
      .selectFrom('sync_forgotten_records')
      .select(['tenant_id', 'resource', 'record_id'])
      .where('state', '=', 'wanted')
      .orderBy('tenant_id')
      .orderBy('resource')
      .orderBy('record_id')
    return (shard ? wanted.where(isOfShard(sql.ref('tenant_id'), shard)) : wanted).execute()
  })

/** The records were read. They stay on record: what belongs to others, too, isn't judged again with each page. */
export const settleWanted = (
  db: Db,
  { name: resource }: Pick<ResourceModel, 'name'>,
  tenantId: Int64,
  ids: readonly Int64[],
): CompiledQuery =>
  db
    .updateTable('sync_forgotten_records')
    .set({ state: 'kept' })
    .where((eb) => eb.and({ tenant_id: tenantId, resource, state: 'wanted' }))
    .where('record_id', 'in', [...ids])
    .compile()
