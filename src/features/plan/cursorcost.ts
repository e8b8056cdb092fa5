/*
 * What a run would cost in one cursor. Used by plan/work.ts, which adds up the cursors.
 */

import type { Int64 } from '../../../schema/resource.js'
import { fullCost, pageRecords, quietCost } from '../../engine/compare/comparisoncost.js'
import { countAfter } from '../../engine/list/count.js'
import { epoch, forever, isWholeFrom } from '../../engine/list/cutpoint.js'
import { memoryOf } from '../../engine/list/memory.js'
import { usualLimits } from '../../engine/list/pagesize.js'
import { burstOf, firstBurst, largestBurst, smallestBurst } from '../../engine/list/prefetch.js'
import { type CursorList, flatList } from '../../engine/run/cursorlist.js'
import {
  type CursorProgress,
  type CursorResult,
  type CursorWork,
  noCounts,
} from '../../engine/run/cursorwork.js'
import { overlapOf } from '../../engine/run/lateness.js'
import { LiveRows, tellLost } from '../../engine/run/liverows.js'
import { floorOf, remaining } from '../../engine/run/resumecursor.js'
import type { RunRequest } from '../../engine/run/runreport.js'
import { plannedWatermark } from '../../engine/run/stampsahead.js'
import type { CursorRun } from '../../engine/run/tenant.js'
import { compareRegister } from '../../engine/warehouse/store/register.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { beginningOf, endOf, manyRecords } from '../backfill/work.js'

/** The cost of work on a cursor. */
export interface Cost {
  readonly requests: number
  readonly records: number
  readonly checks: number
  /** The part that reads the whole list once, after everything else. */
  readonly refill?: Cost | undefined
}

/** What a run would do with one cursor. */
export interface PlannedCursor {
  readonly tenant_id: Int64
  readonly resource: string
  readonly status: 'ok' | 'unavailable' | 'failed' | 'skipped'
  readonly requests: number
  readonly records: number
  /** Requests among these that check pages read several at a time, if responses take long enough for that. */
  readonly checks: number
  /**
   * Requests and records among both that read the whole list once, after everything else in the run; null if that isn't
   * necessary.
   */
  readonly refill: Pick<Cost, 'requests' | 'records'> | null
  readonly error: string | null
  /** It was not asked: it is taken to cost what those of its resource cost that were. */
  readonly is_estimated: boolean
}

export const nothing: Cost = { requests: 0, records: 0, checks: 0 }

/** Forecasts the work on one cursor, with one request at most. */
export class Forecast implements CursorWork {
  readonly progress: CursorProgress = { ...noCounts, watermark: null }
  readonly #request: RunRequest
  readonly #list: CursorList
  readonly #liveRows: LiveRows | undefined
  cost: Cost = nothing

  constructor(
    private readonly cursor: CursorRun<Warehouse>,
    private readonly how: {
      readonly request: RunRequest
      readonly hasTable: boolean
      /** Whether the table already tells which rows its list no longer shows. */
      readonly hasUnlisted: boolean
      /** Whether there are registers yet. */
      readonly hasRegister: boolean
      /** If the run has to create a table first, a walk of the whole list fills it. */
      readonly isRefilled: boolean
    },
  ) {
    this.#request = how.request
    this.#list = flatList(cursor, 'reconcile')
    this.#liveRows = how.hasTable ? new LiveRows(cursor.warehouse, cursor, how.hasUnlisted) : undefined
  }

  /** Records per page, if that is fewer than the API documents. */
  get #page(): number | undefined {
    const { usualPage } = this.#list
    return usualPage < pageRecords ? usualPage : undefined
  }

  #pagesOf(records: number): number {
    return Math.ceil(records / (this.#page ?? pageRecords))
  }

  get #state() {
    return this.cursor.state
  }

  async run(): Promise<CursorResult> {
    this.cost = await this.#forecast()
    return { ...this.progress, outcome: null }
  }

  async #forecast(): Promise<Cost> {
    const { mode } = this.#request
    if (this.cursor.resource.resource.list === 'strings') return { ...nothing, requests: 1 }
    if (mode === 'backfill') return this.#backfill()
    const walk = await this.#walk()
    if (mode !== 'reconcile') return walk
    const isSearch = this.#request.full === true
    const expected = isSearch ? undefined : await this.#expectedRows()
    const isListing = isSearch || expected !== undefined
    const rows = Math.max(expected ?? (await this.#rows(epoch)), this.#state?.watermark ? 0 : walk.records)
    // Records that left the list are requested by id, one by one.
    const left = memoryOf(this.#state?.remembered).left?.records ?? 0
    return {
      // A search requests how many records there are without a filter by time.
      requests:
        walk.requests +
        left +
        (isListing ? wholeCost(rows, this.#page) : compareCost(rows, this.#page)) +
        (isSearch ? 1 : 0),
      records: walk.records,
      checks: walk.checks + (isListing ? burstChecks(this.#pagesOf(rows)) : 0),
      refill: walk.refill,
    }
  }

  /** How many rows there should be, if there are more or fewer: then the whole list is compared. */
  async #expectedRows(): Promise<number | undefined> {
    if (!this.how.hasTable || !this.how.hasRegister) return undefined
    const { key, root, warehouse, warn } = this.cursor
    const register = await compareRegister(warehouse, key, root)
    if (register.is !== 'different') return undefined
    tellLost(warn, register)
    return register.expected
  }

  async #walk(): Promise<Cost> {
    const isFull = this.#request.mode === 'full'
    const watermark = this.#state?.watermark ?? null
    if (!isFull && watermark !== null && (this.how.isRefilled || this.#state?.refill != null))
      return this.#refill()
    const { run, resource } = this.cursor
    const floor = floorOf(
      isFull ? null : await plannedWatermark(this.cursor, watermark),
      overlapOf(run.config.sync.overlap, run.lateness, resource.name),
    )
    return this.#reading(await countAfter(this.#list, floor), this.#below, isWholeFrom(floor))
  }

  /** How many records a resumed walk still has to read. A walk from before the table existed isn't resumed. */
  get #below(): number {
    if (this.how.isRefilled) return 0
    return remaining(this.#state, this.#state?.refill == null ? 'walk' : 'refill_walk')
  }

  /** `below`: how many records an interrupted walk still has to read. */
  #reading(records: number, below: number, isWhole: boolean): Cost {
    const checks = burstChecks(this.#pagesOf(below === 0 ? records : below))
    if (below > 0)
      return { requests: resumedCost(records, Math.min(below, records), this.#page), records: below, checks }
    const cost = isWhole ? wholeCost : walkCost
    return { requests: cost(records, this.#page), records, checks }
  }

  /** New records that the warehouse lacks, and then the whole list. */
  async #refill(): Promise<Cost> {
    const records = await countAfter(this.#list, floorOf(null, 0))
    const rows = this.#liveRows ? await this.#rows(epoch) : records
    const news = this.#reading(Math.max(0, records - rows), 0, false)
    const refill = this.#reading(records, this.#below, true)
    return {
      requests: news.requests + refill.requests,
      records: news.records + refill.records,
      checks: news.checks + refill.checks,
      refill,
    }
  }

  /** What is newer than the ranges is counted in the warehouse, so the source only gets one request. */
  async #backfill(): Promise<Cost> {
    let [requests, records, checks] = [0, 0, 0]
    const ranges = (this.#request.ranges ?? []).toSorted((a, b) => (a.from < b.from ? -1 : 1))
    const [oldest] = ranges
    if (!oldest) return nothing
    const atSource = await countAfter(this.#list, beginningOf(oldest))
    const here = await this.#rows(beginningOf(oldest))
    for (const range of ranges) {
      const newer = await this.#rows(endOf(range))
      const rest = (await this.#rows(beginningOf(range))) - newer
      // What the warehouse doesn't know yet counts as in the range.
      const within = rest + (range === oldest ? Math.max(0, atSource - here) : 0)
      requests += backfillCost(newer, within, this.#page)
      records += within
      // Its first window has nothing to be compared with yet.
      if (within > manyRecords) checks += 1 + burstChecks(this.#pagesOf(within))
    }
    return { requests, records, checks }
  }

  async #rows(after: string): Promise<number> {
    return (await this.#liveRows?.count(after, forever)) ?? 0
  }
}

/**
 * Requests of a walk over this many records: one per page, one for the page after a full last one, and the first page
 * again if there are several. `page`: records per page, if known.
 */
const walkCost = (records: number, page = pageRecords): number => fullCost(records, page)

/** The same for the whole list: if no page size is known, a single page may be followed by another. */
function wholeCost(records: number, page?: number): number {
  if (page !== undefined) return fullCost(records, page)
  const isLimit = records < pageRecords && usualLimits.has(records)
  return fullCost(records) + (isLimit ? 1 : 0)
}

/** Whether the last page is full with this many records. */
const isFullAt = (records: number, page: number): boolean => records > 0 && records % page === 0

/** Requests of a walk that resumes another one with this many records left to read. */
const resumedCost = (records: number, below: number, page = pageRecords): number =>
  2 + Math.ceil(records / page) - Math.floor((records - below) / page) + (isFullAt(records, page) ? 3 : 2)

/**
 * Checks for this many pages when they are read in bursts: one per burst, and bursts grow while the list doesn't
 * change.
 */
function burstChecks(pages: number): number {
  let checks = 0
  let width = firstBurst
  for (let left = pages - 1; left >= smallestBurst; width = Math.min(largestBurst, width * 2)) {
    checks++
    left -= burstOf(left, width)
  }
  return checks
}

/** Storing a page takes about 10 ms. If a response takes several times as long, a run reads pages in bursts. */
export const readsAhead = (secondsEach: number, most = 16): boolean => most > 1 && secondsEach > 0.03

/** Requests of a comparison that finds nothing to fix. */
const compareCost = (rows: number, page = pageRecords): number =>
  rows <= page ? fullCost(rows, page) : quietCost(rows, page)

/** Requests of a backfill of this many records, with this many newer ones in front of them. */
function backfillCost(newer: number, records: number, page = pageRecords): number {
  const first = Math.max(1, Math.ceil(newer / page))
  const last = Math.max(first, Math.ceil((newer + records) / page))
  return 1 + last - first + (isFullAt(newer + records, page) ? 2 : 1)
}
