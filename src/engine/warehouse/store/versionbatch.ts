/**
 * One page on its way into the warehouse, and the result of storing it. Walks, backfills and reconciles make batches
 * (src/engine/run, src/features); apply.ts stores them.
 */
import type { CompiledQuery } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import type { DriftEntry, FlatPage } from '../../model/flatten/batch.js'
import type { ResourceModel } from '../../model/resourcemodel.js'
import type { Table } from '../../model/table.js'

/** A flattened page whose rows its dialect has encoded (Warehouse.encode). */
export type EncodedPage<E = unknown> = FlatPage<E>

/** A response of the source, flattened: on its way into the warehouse, or into a comparison with it. */
export interface Fetched<P extends FlatPage<unknown> = FlatPage> {
  readonly flattened: P
  /** Records that it shows, including those that can't be stored. */
  readonly records: number
  /** When its request was sent. */
  readonly startedAt: string
  readonly requestId: string | undefined
  /** Page of the list. undefined for a record that was requested by its id. */
  readonly page: number | undefined
}

export interface BatchStamp {
  readonly tenantId: Int64
  /** When the request for the page was sent. */
  readonly syncedAt: string
}

/** The request that fetched a batch; `why` shows it for every row. */
export interface Origin {
  readonly runId: string | null
  readonly way: 'walk' | 'backfill' | 'reconcile' | 'lookup' | 'webhook' | 'replay'
  /** Page of the list. null for a record that was requested by its id. */
  readonly page: number | null
  readonly requestId: string | null
}

/** The row of the lease that stands for the whole warehouse. */
export const wholeName = 'run'

/** What every commit of a run is checked against (fence.ts). */
export interface Fence {
  /** The row of the lease. */
  readonly name: string
  /** The lease's token: every claim takes a higher one. */
  readonly token: Int64
  /** What the dialect's `server` was at the claim. */
  readonly server: string
  /** No row can have a later stamp, give or take a moment. undefined if the holder stores no records. */
  readonly stampedUntil?: string | undefined
}

/** One page, and what commits together with its rows. */
export interface Batch<E = unknown> extends BatchStamp {
  readonly resource: string
  readonly page: EncodedPage<E>
  /** Progress: state statements that commit together with the rows. */
  readonly statements: readonly CompiledQuery[]
  /** The page is one record that was requested by its id: whether a list shows it is as before. */
  readonly isById?: boolean | undefined
  /** A state statement that commits with the rows only if any of them changes. */
  readonly ifChanged?: CompiledQuery | undefined
  /** What commits with the rows and depends on what is stored by then. No thread can have it; nearly all pages lack it. */
  readonly closing?: (session: {
    run<T>(query: CompiledQuery<T>): Promise<{ rows: T[]; affected: number }>
  }) => Promise<void>
  /** undefined if no run holds a lease. */
  readonly fence: Fence | undefined
  readonly origin?: Origin | undefined
  /**
   * By id, versions of stored records that the source itself no longer has: the batch's older versions replace them.
   * Only reconcile sets this, after the source has confirmed it twice.
   */
  readonly forceOlder?: ReadonlyMap<Int64, string> | undefined
  /** Tables whose rows are read back once they are written, since something may change them or leave them out. */
  readonly readBack?: ReadonlySet<string> | undefined
}

/** The version of a stored root row, whether the row is a tombstone, and whether its list lacks it. Canonical timestamps. */
export interface Version {
  readonly updatedAt: string
  readonly syncedAt: string
  readonly deletedAt: string | null
  /** Since when the source shows the record by id only; null if its list shows it, too. */
  readonly unlistedAt: string | null
}

/** Whether a version fetched at `syncedAt` may overwrite the stored one: the guard of upsert.ts, in JavaScript. */
export function supersedes(updatedAt: string, syncedAt: string, stored: Version): boolean {
  if (stored.deletedAt !== null && syncedAt <= stored.syncedAt) return false
  return updatedAt > stored.updatedAt || (updatedAt === stored.updatedAt && syncedAt >= stored.syncedAt)
}

export interface Applied {
  /** Warehouse rows that changed, including child and embedded rows. */
  readonly written: number
  /** Records that are new here, or different from before. */
  readonly changed: number
  /** Child rows that were removed because the new version doesn't have them. */
  readonly removed: number
  /** Records that were older than the stored version. */
  readonly stale: number
  /** Stored rows whose stamps were void, and were lowered (voidstamps.ts). */
  readonly lowered: number
  /** Forgotten records that the source gives to another person by now. */
  readonly reassigned?: readonly Int64[]
  /** The stored versions before this batch, by record id. */
  readonly previous: ReadonlyMap<Int64, Version>
  /** Drift that no run has recorded before. */
  readonly drift: readonly DriftEntry[]
}

export interface BatchTables {
  /** The resource's root table first, then its child tables. */
  readonly tables: readonly Table[]
  /** Tables of the resource whose records are inside those of others. */
  readonly embedded: readonly Table[]
  /** Tables whose rows follow from the resource's records. */
  readonly derived: readonly Table[]
  /** Where the resource's replaced versions go. undefined if none are kept. */
  readonly history?: Table | undefined
  /** The same for embedded records. */
  readonly embeddedHistory?: Table | undefined
}

export const batchTables = (
  { tables, derived, history }: ResourceModel,
  embedded: ResourceModel | undefined,
): BatchTables => ({
  tables,
  derived: derived.map(({ table }) => table),
  embedded: embedded?.tables ?? [],
  history,
  embeddedHistory: embedded?.history,
})

/**
 * The tables beside the root that a page's rows go to: none if it is empty, as that of an idle list is. A promise for each
 * would take longer than the page.
 */
export const besideRoot = (
  { tables: [_, ...children], embedded, derived }: BatchTables,
  isEmpty: boolean,
): Record<'children' | 'embedded' | 'derived', readonly Table[]> =>
  isEmpty ? { children: [], embedded: [], derived: [] } : { children, embedded, derived }
