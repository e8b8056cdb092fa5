/*
 * Reads the live rows of one cursor for a comparison: counts, cells, versions, ids. A comparison with a list leaves out
 * the rows whose records have left it (engine/warehouse/store/unlisted.ts). Every query is short, so no reader blocks a
 * writer.
 */

import type { SelectQueryBuilder } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { inParts } from '../base/parts.js'
import { endOfSecond } from '../base/timestamp.js'
import type { Candidate } from '../compare/comparison.js'
import { type Cell, cellsOf } from '../compare/histogram.js'
import { cutBefore, epoch, forever, isWholeFrom } from '../list/cutpoint.js'
import type { Table } from '../model/table.js'
import { type Database, rootTable } from '../warehouse/database.js'
import type { RegisterFinding } from '../warehouse/store/register.js'
import type { Version } from '../warehouse/store/versionbatch.js'
import type { Warehouse } from '../warehouse/warehouse.js'
import type { Note } from './runreport.js'
import type { CursorTask } from './tenant.js'
import { rootOf } from './tenant.js'

/** How many cells a comparison needs. A larger cursor has larger cells; ranges that differ are read in finer ones. */
const mostCells = 2048
/** Rows per cell: for a whole cursor, and for a range that differs. */
const wholeCell = 64
const partCell = 16
const idsAtOnce = 5000
const rowsAtOnce = 2000

const counted = (rows: SelectQueryBuilder<Database, 'any root', object>) =>
  rows.select((eb) => eb.fn.countAll<Int64>().as('n'))

/** The live rows of one cursor. Read-only. */
export class LiveRows {
  readonly #tenantId: Int64
  readonly #root: Table
  /** The rows whose records have left the list, as of when the whole cursor's cells were last read. */
  unlisted: readonly Candidate[] = []

  /** `hasUnlisted`: false if the table is still without the column that tells them. */
  constructor(
    private readonly warehouse: Warehouse,
    { tenantId, resource }: CursorTask,
    private readonly hasUnlisted = true,
  ) {
    this.#tenantId = tenantId
    this.#root = rootOf(resource)
  }

  #live(db: Warehouse['db'], after: string, until: string) {
    const rows = db
      .selectFrom(rootTable(this.#root))
      .where('tenant_id', '=', this.#tenantId)
      .where('_deleted_at', 'is', null)
    const newer = isWholeFrom(after) ? rows : rows.where('updated_at', '>', after)
    return until === forever ? newer : newer.where('updated_at', '<=', until)
  }

  /** The rows that the list should show. */
  #listed(db: Warehouse['db'], after: string, until: string) {
    const rows = this.#live(db, after, until)
    return this.hasUnlisted ? rows.where('_unlisted_at', 'is', null) : rows
  }

  async count(after: string, until: string): Promise<number> {
    const row = await this.warehouse.read((db) => counted(this.#listed(db, after, until)).executeTakeFirst())
    return Number(row?.n ?? 0)
  }

  /** All live rows, whether or not their list shows them. */
  async countLive(): Promise<number> {
    const row = await this.warehouse.read((db) => counted(this.#live(db, epoch, forever)).executeTakeFirst())
    return Number(row?.n ?? 0)
  }

  /**
   * How the rows of a range are distributed in time, in cells of about equal size; no cell ends within a second. Reads
   * step by step along the index, each step in its own query.
   */
  async cells(after: string, until: string): Promise<Cell[]> {
    if (after === epoch && until === forever) return this.#wholeCells()
    let cells: Cell[] = []
    let each = partCell
    for (let from = after; ; ) {
      const { n, last } = await this.#stretch(from, until, each)
      if (n === 0 || last === null) return cells
      const end = endOfSecond(last)
      cells.push({ end, count: n < each ? n : await this.count(from, end) })
      if (n < each) return cells
      from = end
      if (cells.length < mostCells) continue
      cells = inPairs(cells)
      each *= 2
    }
  }

  /** The cells of all rows; also finds those whose records have left the list. */
  async #wholeCells(): Promise<Cell[]> {
    const unlisted: Candidate[] = []
    let [cells, each]: [Cell[], number] = [[], wholeCell]
    for (let [from, most] = [epoch, rowsAtOnce]; ; ) {
      const rows = await this.#oldest(from, most)
      const isLast = rows.length < most
      // If a second was not read to its end, its rows are left for the next step.
      const end = isLast ? forever : cutBefore(rows.at(-1)?.updated_at ?? '')
      const whole = isLast ? rows : rows.filter(({ updated_at }) => updated_at <= end)
      for (const { id, updated_at, _unlisted_at } of whole)
        if (_unlisted_at !== null) unlisted.push({ id, updatedAt: updated_at })
      const times = whole.flatMap(({ updated_at, _unlisted_at }) => (_unlisted_at === null ? updated_at : []))
      cells.push(...cellsOf(times, each))
      if (isLast) break
      if (whole.length === 0) most *= 4
      else [from, most] = [end, rowsAtOnce]
      while (cells.length > mostCells) {
        cells = inPairs(cells)
        each *= 2
      }
    }
    this.unlisted = unlisted
    return cells
  }

  #oldest(after: string, most: number) {
    return this.warehouse.read((db) =>
      this.#live(db, after, forever)
        .select(['id', 'updated_at', '_unlisted_at'])
        .orderBy('updated_at')
        .limit(most)
        .execute(),
    )
  }

  /** At most this many of the oldest rows of a range: their number, and the newest time among them. */
  async #stretch(after: string, until: string, most: number): Promise<{ n: number; last: string | null }> {
    const row = await this.warehouse.read((db) =>
      db
        .selectFrom(
          this.#listed(db, after, until).select('updated_at').orderBy('updated_at').limit(most).as('s'),
        )
        .select((eb) => [
          eb.fn.countAll<Int64>().as('n'),
          eb.fn.max<string | null>('s.updated_at').as('last'),
        ])
        .executeTakeFirst(),
    )
    return { n: Number(row?.n ?? 0), last: row?.last ?? null }
  }

  async rows(after: string, until: string): Promise<Map<Int64, string>> {
    const rows = await this.warehouse.read((db) =>
      this.#listed(db, after, until).select(['id', 'updated_at']).execute(),
    )
    return new Map(rows.map((row) => [row.id, row.updated_at]))
  }

  /** Every row that the list should show, ordered by id. */
  async *all(): AsyncGenerator<Candidate> {
    for (let last: Int64 | undefined; ; ) {
      const after = last
      const rows = await this.warehouse.read((db) => {
        const query = this.#listed(db, epoch, forever)
          .select(['id', 'updated_at'])
          .orderBy('id')
          .limit(idsAtOnce)
        return (after === undefined ? query : query.where('id', '>', after)).execute()
      })
      for (const row of rows) yield { id: row.id, updatedAt: row.updated_at }
      last = rows.at(-1)?.id
      if (last === undefined || rows.length < idsAtOnce) return
    }
  }

  /** The stored versions of records, including tombstones. */
  async versions(ids: readonly Int64[]): Promise<Map<Int64, Version>> {
    const versions = new Map<Int64, Version>()
    for (const some of inParts(ids)) {
      const rows = await this.warehouse.read((db) =>
        db
          .selectFrom(rootTable(this.#root))
          .select(['id', 'updated_at', '_synced_at', '_deleted_at', '_unlisted_at'])
          .where('tenant_id', '=', this.#tenantId)
          .where('id', 'in', some)
          .execute(),
      )
      for (const row of rows)
        versions.set(row.id, {
          updatedAt: row.updated_at,
          syncedAt: row._synced_at,
          deletedAt: row._deleted_at,
          unlistedAt: row._unlisted_at,
        })
    }
    return versions
  }
}

/** Says why a list has to be compared whole. */
export const tellLost = (tell: Note, { expected, found }: RegisterFinding): void =>
  tell(
    'Rows have vanished from the warehouse, or were added by something else: the whole list has to be compared',
    { expected, found },
  )

const inPairs = (cells: readonly Cell[]): Cell[] =>
  cells.flatMap((cell, i) => {
    const before = cells[i - 1]
    if (i % 2 === 0 && i < cells.length - 1) return []
    return i % 2 === 0 || !before ? [cell] : [{ end: cell.end, count: before.count + cell.count }]
  })
