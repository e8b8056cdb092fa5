/*
 * A backfill of one cursor: reads what was updated in the given ranges again. One count tells it which page to start
 * at, and it keeps its own progress, so the watermark doesn't move. `backfill` and jobs use it. A cursor that is done
 * stays marked until all others are: otherwise a backfill that is cut short again and again would read the same
 * cursors for ever.
 */
import type { CompiledQuery } from 'kysely'
import { reasons } from '../../engine/base/reasons.js'
import { addMicros, endOfSecond } from '../../engine/base/timestamp.js'
import { countAfter } from '../../engine/list/count.js'
import { epoch, forever } from '../../engine/list/cutpoint.js'
import { hiddenIn, type Memory, memoryOf } from '../../engine/list/memory.js'
import { RangeWalk } from '../../engine/list/range.js'
import type { List, ListRange, RangeOutcome, RangeStore, WalkPage } from '../../engine/list/types.js'
import { judged } from '../../engine/list/verdict.js'
import { withSharedLook } from '../../engine/run/askshared.js'
import type { Begin, CursorEnd } from '../../engine/run/cursor.js'
import { type CursorList, flatList } from '../../engine/run/cursorlist.js'
import type { CursorProgress, CursorResult, CursorWork } from '../../engine/run/cursorwork.js'
import { NamesSync } from '../../engine/run/nameslist.js'
import { timeOf } from '../../engine/run/observe.js'
import { OlderVersions } from '../../engine/run/olderversions.js'
import type { RunRequest, TimeRange } from '../../engine/run/runreport.js'
import { PageStore } from '../../engine/run/store.js'
import { type CursorRun, now, type Run } from '../../engine/run/tenant.js'
import { Flow } from '../../engine/source/rate/flow.js'
import type { Fetched } from '../../engine/warehouse/store/versionbatch.js'
import {
  type BackfillKey,
  forgetAbandoned,
  forgetProgress,
  forgetRange,
  markRead,
  moveBoundary,
  readProgress,
} from './sql.js'

/** The last instant before the range: `updated_after` excludes the instant it names. Nothing is before the year 1. */
export const beginningOf = ({ from }: TimeRange): string => {
  const before = addMicros(from, -1n)
  return before < from ? before : epoch
}
/** The last instant of the range. */
export const endOf = ({ to }: TimeRange): string => addMicros(to, -1n)

/** A range with this many records is worth reading several pages at a time. */
export const manyRecords = 20_000

/** Keeps the records of a range, and records without a time: a page may show more than the range. */
function isWithin({ from, to }: TimeRange): (record: unknown) => boolean {
  const second = `${from.slice(0, 19)}.000000Z`
  return (record) => {
    const time = timeOf(record)
    return time === '' || (time >= second && time < to)
  }
}

/** How long an unfinished backfill is remembered after its last progress. */
const remembered = 7n * 86_400_000_000n
/** Another machine's clock may be ahead by this much. */
const ahead = 86_400_000_000n

async function forgetOld({ run, warehouse }: CursorRun): Promise<void> {
  const time = now(run)
  const alive = { from: addMicros(time, -remembered), to: addMicros(time, ahead) }
  await warehouse.write([forgetAbandoned(warehouse.db, alive)])
}

/** When no cursor has anything left to do, the same command means another backfill, which reads everything again. */
async function forgetIfDone(
  { warehouse }: Run,
  ranges: readonly TimeRange[],
  ends: readonly CursorEnd[],
): Promise<void> {
  if (ends.some(({ interrupted, report }) => interrupted || report.status === 'failed')) return
  const tenants = [...new Set(ends.map(({ task }) => task.tenantId))]
  const resources = [...new Set(ends.map(({ task }) => task.resource.name))]
  const statements = tenants.flatMap((tenant) =>
    ranges.map((range) => forgetRange(warehouse.db, range, tenant, resources)),
  )
  if (statements.length > 0) await warehouse.write(statements)
}

/** Reads ranges again. */
export function beginBackfill({ ranges = [] }: Pick<RunRequest, 'ranges'>): Begin {
  let forgotten: Promise<void> | undefined
  const begin = (cursor: CursorRun) => {
    // A plain list of names has no times to select a range by: it is read whole, in one request.
    if (cursor.resource.resource.list === 'strings') return new NamesSync(cursor)
    const prepare = () => (forgotten ??= forgetOld(cursor))
    return withSharedLook(cursor, new Backfill(cursor, ranges, prepare))
  }
  return Object.assign(begin, {
    ended: (run: Run, ends: readonly CursorEnd[]) => forgetIfDone(run, ranges, ends),
  })
}

/** One cursor's backfill. */
class Backfill implements CursorWork {
  readonly #list: CursorList
  readonly #flow: Flow
  readonly #store: PageStore
  readonly #older: OlderVersions
  #expected = 0

  constructor(
    private readonly cursor: CursorRun,
    private readonly ranges: readonly TimeRange[],
    /** Called before the stored progress is read. */
    private readonly prepare: () => Promise<void>,
  ) {
    this.#flow = new Flow(cursor.run, cursor.warehouse.unstored)
    this.#list = flatList(cursor, 'backfill', this.#flow)
    this.#store = new PageStore(cursor, 'backfill')
    this.#older = new OlderVersions(cursor.run.stamps)
  }

  get progress(): CursorProgress {
    return { ...this.#store.counts, watermark: this.cursor.state?.watermark ?? null }
  }

  async run(): Promise<CursorResult> {
    await this.prepare()
    const outcomes: RangeOutcome[] = []
    for (const range of this.ranges) outcomes.push(await this.#range(range))
    this.#older.tell(this.cursor.warn, this.#memory.twice ?? 0)
    const sum = (name: 'expected' | 'seen'): number => outcomes.reduce((all, one) => all + one[name], 0)
    const [expected, seen] = [sum('expected'), sum('seen')]
    const books = { first: expected, last: expected, distinct: seen, entered: 0, fallen: 0 }
    const outcome = judged(
      { basis: { by: 'looks', looks: outcomes.map(({ evidence }) => evidence) } },
      { ceiling: null, books },
    )
    const problem = `The backfill is incomplete (${reasons[outcome.reason ?? 'totals_disagree']}): the range holds ${expected}, the list showed ${seen}. Run the same backfill again`
    return {
      ...this.progress,
      outcome,
      problem: outcome.verdict === 'unproven' ? problem : undefined,
    }
  }

  async #range(range: TimeRange): Promise<RangeOutcome> {
    const { note, warehouse } = this.cursor
    const key = { ...this.cursor.key, ...range }
    const { boundary, read: before, at } = await readProgress(warehouse, key)
    if (before) {
      note('This backfill has already read the list and waits for others; it is not read again', { at })
      return judged(before.evidence, before)
    }
    if (boundary !== null) note('Resuming a backfill that was cut short', { boundary })
    // An interrupted range is a shorter range.
    const until = boundary === null ? endOf(range) : endOfSecond(boundary)
    const wanted = isWithin(range)
    const after = beginningOf(range)
    const fetch = (from: string, page: number, perPage: number) =>
      this.#list.fetch(from, page, perPage, { wanted })
    const list: List<Fetched> = {
      fetch: (page, perPage) => fetch(after, page, perPage),
      countAfter: (t) => countAfter({ fetch }, t),
      readAhead: () => this.#readAhead(),
      note,
    }
    const { size, isUncounted = false } = this.#memory
    const known = { isUncounted, hidden: hiddenIn(this.#memory), size }
    const place = { pageSizes: this.#list.pageSizes, after, until: endOfSecond(until), known }
    const read = (from: ListRange) => new RangeWalk(list, this.#rangeStore(from, key), from).run()
    const unordered = { ...place, until: forever, newer: 0, isUnordered: true }
    const isUnordered = this.#memory.isUnordered ?? false
    let outcome = isUnordered
      ? await read(unordered)
      : await read({ ...place, newer: await list.countAfter(until) })
    if (outcome.reason === 'order' && outcome.verdict === 'unproven' && !isUnordered) {
      note('The list is not sorted newest first: reading everything newer than the start of the range', {})
      outcome = await read(unordered)
    }
    const resumed = boundary === null ? outcome : judged({ ...outcome.evidence, isReadAgain: true }, outcome)
    // What was not complete, or could not be stored, is read again.
    const isDone = resumed.verdict !== 'unproven' && this.#store.counts.unstorable === 0
    await this.#write(
      isDone ? markRead(warehouse.db, key, resumed, this.#made) : forgetProgress(warehouse.db, key),
    )
    return resumed
  }

  get #made() {
    return { run_id: this.cursor.warehouse.runId, progress_at: now(this.cursor.run) }
  }

  /** What is remembered about the list. */
  get #memory(): Memory {
    return memoryOf(this.cursor.state?.remembered)
  }

  #rangeStore({ newer }: ListRange, key: BackfillKey): RangeStore<Fetched> {
    const { warehouse } = this.cursor
    const progress = (reached: string): CompiledQuery => moveBoundary(warehouse.db, key, reached, this.#made)
    return {
      take: (page, reached) => this.#take(page, newer, reached === null ? [] : [progress(reached)]),
      reached: (reached) => this.#write(progress(reached)),
    }
  }

  async #take(
    { payload, total }: WalkPage<Fetched>,
    newer: number,
    statements: readonly CompiledQuery[],
  ): Promise<void> {
    this.#expected = Math.max(this.#store.counts.records + payload.records, total - newer)
    const stored = this.#store.storeFlat(payload, { statements, expected: this.#expected })
    const { previous } = await this.#flow.storing(stored)
    this.#older.take(payload.flattened.records, previous)
  }

  /** Pages that are read concurrently have to be checked. That is worth a request only if there are many. */
  #readAhead(): number {
    return this.#expected > manyRecords ? this.#flow.together : Math.min(1, this.#flow.together)
  }

  async #write(statement: CompiledQuery): Promise<void> {
    await this.cursor.warehouse.write([statement])
  }
}
