/*
 * Nested rows that two live records show: a row moved from one record to another and kept its id, and the record that
 * lost it hasn't been read since. run/askshared.ts looks for them. What is known about them is kept with the
 * cursor, in sync_cursors.shared_services.
 */
import { type CompiledQuery, sql } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import { inParts } from '../../base/parts.js'
import type { Table } from '../../model/table.js'
import { type Db, type Reader, readerOf, rootTable } from '../database.js'
import { type CursorKey, listCursors, moveCursor } from './cursors.js'

/** If there are more pairs than this, the ids aren't unique, and nothing follows from two records sharing one. */
const mostPairs = 1000

/** One record, in the version that the warehouse has. */
export interface Holder {
  readonly id: Int64
  readonly updatedAt: string
}

/** And when the source showed it. */
interface ShownHolder extends Holder {
  readonly shownAt: string
}

/** Two records that both show a row: the source showed `newer` later, so `older` may have lost the row. */
export interface SharingPair {
  readonly older: Holder
  readonly newer: Holder
}

export interface FoundShared {
  /** Rows that more than one live record has. */
  readonly rows: number
  /** Empty if there are too many. */
  readonly pairs: readonly SharingPair[]
  readonly tooMany: boolean
}

export interface KnownShared {
  readonly rows: number
  /** Names of the pairs that were already checked at the source. */
  readonly asked: readonly string[]
  readonly tooMany: boolean
}

/** The name of a pair and its versions, regardless of which was shown later. */
export const pairName = ({ older, newer }: SharingPair): string =>
  [older, newer]
    .map(({ id, updatedAt }) => `${id} ${updatedAt}`)
    .sort()
    .join(' ')

/** The stored state. null if nothing is known and no check is requested. */
export function knownShared(stored: unknown): KnownShared | null {
  if (typeof stored !== 'object' || stored === null) return null
  const { rows = 0, asked = [], too_many = false } = stored as Record<string, unknown>
  return {
    rows: Number(rows),
    asked: Array.isArray(asked) ? asked.map(String) : [],
    tooMany: too_many === true,
  }
}

export function storeShared(db: Db, key: CursorKey, known: KnownShared | null): CompiledQuery {
  const shared = known && { rows: known.rows, asked: known.asked, too_many: known.tooMany }
  return moveCursor(db, key, { shared_services: shared })
}

/** For each tenant, how many rows two live records show. Tenants without such rows are left out. */
export async function readSharedCounts(db: Db): Promise<ReadonlyMap<Int64, number>> {
  const rows = await listCursors(readerOf(db), ['shared_services'], {
    where: (eb) => eb('shared_services', 'is not', null),
  })
  const counts = new Map<Int64, number>()
  for (const { tenant_id, shared_services } of rows) {
    const known = knownShared(shared_services)
    counts.set(tenant_id, (counts.get(tenant_id) ?? 0) + (known?.rows ?? 0))
  }
  return counts
}

/** The rows of one nested table of one tenant, with ids that are the same in whichever record they are. */
export class SharedRows {
  constructor(
    private readonly warehouse: Reader,
    private readonly tenantId: Int64,
    private readonly root: Table,
    private readonly nested: Table,
  ) {}

  /** Whether another record has one of these records' rows. Looks up each row in the index, and reads nothing else. */
  async has(ids: readonly Int64[]): Promise<boolean> {
    const found = await this.warehouse.read((db) => this.sharedBy(db, ids).execute())
    return found.length > 0
  }

  sharedBy(db: Db, ids: readonly Int64[]) {
    return db
      .selectFrom(`${rootTable(this.nested)} as s`)
      .select('s.id')
      .where('s.tenant_id', '=', this.tenantId)
      .where(sql<Int64>`${this.#owner('s')}`, 'in', [...ids])
      .where(({ exists, selectFrom }) =>
        exists(
          selectFrom(`${rootTable(this.nested)} as o`)
            .select('o.id')
            .whereRef('o.tenant_id', '=', 's.tenant_id')
            .whereRef('o.id', '=', 's.id')
            .where(sql<boolean>`${this.#owner('o')} <> ${this.#owner('s')}`)
            // Keeps Postgres from making this a join, for which it would read the whole table.
            .limit(1)
            .offset(0),
        ),
      )
      .limit(1)
  }

  /** Checks all rows, in plain statements: without statistics, Postgres would take minutes for a join. */
  async look(): Promise<FoundShared> {
    const pairs = new Map<string, SharingPair>()
    let rows = 0
    for (const ids of inParts(await this.#repeated())) {
      const holders = await this.#holders(ids)
      for (const live of holders.values()) {
        if (live.length < 2) continue
        rows++
        addPairs(pairs, live.toSorted(byShown))
      }
    }
    const tooMany = pairs.size > mostPairs
    return { rows, pairs: tooMany ? [] : [...pairs.values()], tooMany }
  }

  /** The ids that are in the table more than once. */
  async #repeated(): Promise<Int64[]> {
    const found = await this.warehouse.read((db) =>
      db
        .selectFrom(`${rootTable(this.nested)} as s`)
        .select('s.id')
        .where('s.tenant_id', '=', this.tenantId)
        .groupBy('s.id')
        .having((eb) => eb.fn.countAll<Int64>(), '>', 1)
        .orderBy('s.id')
        .execute(),
    )
    return found.map(({ id }) => id)
  }

  /** The live records that have these rows, by row. */
  async #holders(ids: readonly Int64[]): Promise<ReadonlyMap<Int64, ShownHolder[]>> {
    const found = await this.warehouse.read((db) =>
      db
        .selectFrom(`${rootTable(this.nested)} as s`)
        .select(['s.id', sql<Int64>`${this.#owner('s')}`.as('record_id')])
        .where('s.tenant_id', '=', this.tenantId)
        .where('s.id', 'in', [...ids])
        .execute(),
    )
    const live = await this.#live([...new Set(found.map(({ record_id }) => record_id))])
    const holders = new Map<Int64, ShownHolder[]>()
    for (const { id, record_id } of found) {
      const holder = live.get(record_id)
      if (!holder) continue
      const known = holders.get(id)
      if (known) known.push(holder)
      else holders.set(id, [holder])
    }
    return holders
  }

  async #live(records: readonly Int64[]): Promise<ReadonlyMap<Int64, ShownHolder>> {
    const live = new Map<Int64, ShownHolder>()
    for (const some of inParts(records)) {
      const rows = await this.warehouse.read((db) =>
        db
          .selectFrom(rootTable(this.root))
          .select(['id', 'updated_at', '_synced_at'])
          .where('tenant_id', '=', this.tenantId)
          .where('id', 'in', some)
          .where('_deleted_at', 'is', null)
          .execute(),
      )
      for (const { id, updated_at, _synced_at } of rows)
        live.set(id, { id, updatedAt: updated_at, shownAt: _synced_at })
    }
    return live
  }

  #owner(alias: string) {
    return sql.ref(`${alias}.${this.nested.owner ?? ''}`)
  }
}

/** If one response showed both, either may be queried. */
const byShown = (a: ShownHolder, b: ShownHolder): number =>
  a.shownAt === b.shownAt ? (a.id < b.id ? -1 : 1) : a.shownAt < b.shownAt ? -1 : 1

/**
 * All pairs among the records that have the same row, in the order in which they were shown, until there are too many.
 */
function addPairs(pairs: Map<string, SharingPair>, holders: readonly ShownHolder[]): void {
  for (const [place, newer] of holders.entries())
    for (const older of holders.slice(0, place)) {
      if (pairs.size > mostPairs) return
      const pair = { older, newer }
      pairs.set(pairName(pair), pair)
    }
}
