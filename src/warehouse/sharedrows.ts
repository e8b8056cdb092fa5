/*
 * Nested rows that two live records show: a row moved from one record to another and kept its id, and the record that
 * lost it was not read since. Looked for by sync/reconcile/askshared.ts; what is known of them stands with the cursor, in
 * sync_cursors.shared_services.
 */
import { type CompiledQuery, sql } from 'kysely'
import type { Int64 } from '../../schema/resource.js'
import type { Table } from '../model/tables.js'
import { type CursorKey, moveCursor, type Reader } from './cursors.js'
import { type Db, readJson, rootTable } from './database.js'

/** More pairs than this: the ids are not unique, and nothing follows from two records that share one. */
const mostPairs = 1000
/** So many records of one row are more than `mostPairs` pairs. */
const mostHolders = 45

/** One record, in the version that the warehouse has. */
export interface Holder {
  readonly id: Int64
  readonly updatedAt: string
}

/** Two records that show a row both: the source showed `newer` later, so that `older` may have lost the row. */
export interface SharingPair {
  readonly older: Holder
  readonly newer: Holder
}

/** What a look at all rows has found. */
export interface FoundShared {
  /** Rows that more than one live record has. */
  readonly rows: number
  /** Empty where there are too many. */
  readonly pairs: readonly SharingPair[]
  readonly tooMany: boolean
}

/** What is known of the shared rows of a cursor. */
export interface KnownShared {
  readonly rows: number
  /** Names of the pairs that were asked about. */
  readonly asked: readonly string[]
  readonly tooMany: boolean
}

/** The name of a pair and its versions, whichever of the two was shown later. */
export const pairName = ({ older, newer }: SharingPair): string =>
  [older, newer]
    .map(({ id, updatedAt }) => `${id} ${updatedAt}`)
    .sort()
    .join(' ')

/** What is stored of it; null where nothing is known, and nothing is to be looked for. */
export function knownShared(stored: unknown): KnownShared | null {
  if (typeof stored !== 'object' || stored === null) return null
  const { rows = 0, asked = [], too_many = false } = stored as Record<string, unknown>
  return {
    rows: Number(rows),
    asked: Array.isArray(asked) ? asked.map(String) : [],
    tooMany: too_many === true,
  }
}

/** Commits with rows that change: a run that is killed before it has looked leaves the look to the next one. */
export const demandLook = (db: Db, { tenantId, resource }: CursorKey): CompiledQuery =>
  db
    .updateTable('sync_cursors')
    .set({ shared_services: '{}' })
    .where('tenant_id', '=', tenantId)
    .where('resource', '=', resource)
    .where('shared_services', 'is', null)
    .compile()

export function storeShared(db: Db, key: CursorKey, known: KnownShared | null): CompiledQuery {
  const text = known && JSON.stringify({ rows: known.rows, asked: known.asked, too_many: known.tooMany })
  return moveCursor(db, key, { shared_services: text })
}

/** How many rows of each tenant two live records show; tenants without such rows are left out. */
export async function readSharedCounts(db: Db): Promise<ReadonlyMap<Int64, number>> {
  const rows = await db
    .selectFrom('sync_cursors')
    .select(['tenant_id', 'shared_services'])
    .where('shared_services', 'is not', null)
    .execute()
  const counts = new Map<Int64, number>()
  for (const { tenant_id, shared_services } of rows) {
    const known = knownShared(readJson(shared_services))
    counts.set(tenant_id, (counts.get(tenant_id) ?? 0) + (known?.rows ?? 0))
  }
  return counts
}

/** The rows of one nested table of one tenant, whose ids are the same in whichever record they stand. */
export class SharedRows {
  constructor(
    private readonly warehouse: Reader,
    private readonly tenantId: Int64,
    private readonly root: Table,
    private readonly nested: Table,
  ) {}

  /** Whether another record has rows of these. Asks the index for each of their rows, and reads nothing else. */
  async has(ids: readonly Int64[]): Promise<boolean> {
    const found = await this.warehouse.read((db) => this.sharedBy(db, ids).execute())
    return found.length > 0
  }

  sharedBy(db: Db, ids: readonly Int64[]) {
    const owner = this.nested.owner ?? ''
    return db
      .selectFrom(`${rootTable(this.nested)} as s`)
      .select('s.id')
      .where('s.tenant_id', '=', this.tenantId)
      .where(sql<Int64>`${sql.ref(`s.${owner}`)}`, 'in', [...ids])
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom(`${rootTable(this.nested)} as o`)
            .select('o.id')
            .whereRef('o.tenant_id', '=', 's.tenant_id')
            .whereRef('o.id', '=', 's.id')
            .where(sql<boolean>`${sql.ref(`o.${owner}`)} <> ${sql.ref(`s.${owner}`)}`)
            // It keeps Postgres from making a join, for which it would read the whole table.
            .limit(1)
            .offset(0),
        ),
      )
      .limit(1)
  }

  /** Looks over all rows. */
  async look(): Promise<FoundShared> {
    const { rows, holders } = await this.#count()
    if (rows === 0) return { rows, pairs: [], tooMany: false }
    if (holders > mostHolders) return { rows, pairs: [], tooMany: true }
    const pairs = await this.#pairs()
    return pairs.length > mostPairs ? { rows, pairs: [], tooMany: true } : { rows, pairs, tooMany: false }
  }

  async #count(): Promise<{ readonly rows: number; readonly holders: number }> {
    const found = await this.warehouse.read((db) =>
      this.#held(db)
        .selectFrom((q) =>
          q
            .selectFrom('held')
            .select((eb) => eb.fn.countAll<Int64>().as('holders'))
            .groupBy('held.id')
            .having((eb) => eb.fn.countAll<Int64>(), '>', 1)
            .as('shared'),
        )
        .select((eb) => [
          eb.fn.countAll<Int64>().as('rows'),
          eb.fn.max<Int64 | null>('shared.holders').as('holders'),
        ])
        .execute(),
    )
    return { rows: Number(found[0]?.rows ?? 0), holders: Number(found[0]?.holders ?? 0) }
  }

  async #pairs(): Promise<SharingPair[]> {
    const found = await this.warehouse.read((db) =>
      this.#held(db)
        .selectFrom('held as a')
        .innerJoin('held as b', 'b.id', 'a.id')
        // Of two that one answer has shown, either may be asked for.
        .where(sql<boolean>`(a.synced_at, a.record_id) < (b.synced_at, b.record_id)`)
        .select(['a.record_id as older', 'a.updated_at as older_at'])
        .select(['b.record_id as newer', 'b.updated_at as newer_at'])
        .distinct()
        .limit(mostPairs + 1)
        .execute(),
    )
    return found.map(({ older, older_at, newer, newer_at }) => ({
      older: { id: older, updatedAt: older_at },
      newer: { id: newer, updatedAt: newer_at },
    }))
  }

  /** `held`: each row that stands in the table more than once and whose record is live, with its record's version. */
  #held(db: Db) {
    const owner = `s.${this.nested.owner ?? ''}`
    return db
      .with('repeated', (q) =>
        q
          .selectFrom(`${rootTable(this.nested)} as n`)
          .select('n.id')
          .where('n.tenant_id', '=', this.tenantId)
          .groupBy('n.id')
          .having((eb) => eb.fn.countAll<Int64>(), '>', 1),
      )
      .with('held', (q) =>
        q
          .selectFrom('repeated')
          .innerJoin(`${rootTable(this.nested)} as s`, 's.id', 'repeated.id')
          .innerJoin(`${rootTable(this.root)} as r`, (join) =>
            join.onRef('r.tenant_id', '=', 's.tenant_id').onRef('r.id', '=', owner as 's.id'),
          )
          .where('s.tenant_id', '=', this.tenantId)
          .where('r._deleted_at', 'is', null)
          .select(['s.id', 'r.id as record_id', 'r.updated_at', 'r._synced_at as synced_at']),
      )
  }
}
