import type { CompiledQuery } from 'kysely'
import type { Source } from '../../api/source.js'
import { addMicros, endOfSecond } from '../../timestamp.js'
import { countAfter } from '../../walk/count.js'
import { type RangeOutcome, RangeWalk } from '../../walk/range.js'
import type { WalkPage } from '../../walk/walk.js'
import { cursorName } from '../../warehouse/cursors.js'
import type { RunContext } from '../run/context.js'
import type { CursorTask } from '../run/cursor.js'
import type { TimeRange, Verdict } from '../run/report.js'
import type { CursorResult } from './incremental.js'
import { CursorList, type Fetched, timeOf } from './list.js'
import { Pace } from './pace.js'

/** What an instant before the range is newer than: `updated_after` leaves out what it names. */
export const beginningOf = ({ from }: TimeRange): string => addMicros(from, -1n)
/** The last instant of the range. */
export const endOf = ({ to }: TimeRange): string => addMicros(to, -1n)

/** Records of a range that is long enough to be read several pages at a time. */
export const manyRecords = 20_000

const worst = (verdicts: readonly Verdict[]): Verdict =>
  verdicts.includes('unproven') ? 'unproven' : verdicts.includes('repaired') ? 'repaired' : 'proven'

/**
 * Pulls what was updated in given ranges once more, one cursor's: starts at the page that one count tells, and keeps
 * its own progress, so that the watermark stays where it is.
 */
export class Backfill {
  readonly #list: CursorList
  readonly #pace: Pace
  #expected = 0
  readonly #counts = { records: 0, unstorable: 0, written: 0, removed: 0 }

  constructor(
    private readonly context: RunContext,
    private readonly task: CursorTask,
    source: Source,
    private readonly ranges: readonly TimeRange[],
  ) {
    this.#list = new CursorList(source, task, { priority: 'backfill', signal: context.signal })
    this.#pace = new Pace(context)
  }

  get #key() {
    return { tenantId: this.task.tenantId, resource: this.task.resource.name }
  }

  get result(): Omit<CursorResult, 'outcome'> {
    const state = this.context.cursors.get(cursorName(this.#key))
    return { ...this.#counts, watermark: state?.watermark ?? null }
  }

  async run(): Promise<CursorResult> {
    const outcomes: RangeOutcome[] = []
    for (const range of this.ranges) outcomes.push(await this.#range(range))
    const verdict = worst(outcomes.map((outcome) => outcome.verdict))
    const sum = (name: 'expected' | 'seen'): number => outcomes.reduce((all, one) => all + one[name], 0)
    const [expected, seen] = [sum('expected'), sum('seen')]
    const problem = `Records hide behind others of the same updated_at: ${expected} are in the range, ${seen} were shown. Run the same backfill again`
    return {
      ...this.result,
      outcome: {
        verdict,
        ceiling: null,
        books: { first: expected, last: expected, distinct: seen, entered: 0, fallen: 0 },
        reason: null,
      },
      ...(verdict === 'unproven' && { problem }),
    }
  }

  async #range(range: TimeRange): Promise<RangeOutcome> {
    const boundary = await this.#boundary(range)
    // A range that was cut short is a shorter range.
    const until = boundary === null ? endOf(range) : endOfSecond(boundary)
    const after = beginningOf(range)
    const port = {
      fetch: (from: string, page: number, perPage: number) => this.#fetch(range, from, page, perPage),
    }
    const newer = await countAfter(port, until)
    const walk = new RangeWalk<Fetched>(
      {
        ...port,
        take: (page, reached) => this.#take(range, page, { reached, newer }),
        reached: async (reached) => void (await this.#write(this.#progress(range, reached))),
        readAhead: () => this.#readAhead(),
        note: (message, fields) => this.#note(message, fields),
      },
      { after, until: endOfSecond(until), newer },
    )
    const outcome = await walk.run()
    await this.#write(this.#forget(range))
    return boundary !== null && outcome.verdict === 'proven' ? { ...outcome, verdict: 'repaired' } : outcome
  }

  /** Only what lies in the range goes on its way; a page may show more. */
  async #fetch(
    { from, to }: TimeRange,
    after: string,
    page: number,
    perPage: number,
  ): Promise<WalkPage<Fetched>> {
    await this.context.warehouse.room()
    const second = `${from.slice(0, 19)}.000000Z`
    const wanted = (record: unknown): boolean => {
      const time = timeOf(record)
      return time === '' || (time >= second && time < to)
    }
    return this.#pace.fetching(
      this.#list.fetch(after, page, perPage, wanted),
      ({ payload }) => payload.startedAt,
    )
  }

  async #take(
    range: TimeRange,
    page: WalkPage<Fetched>,
    { reached, newer }: { readonly reached: string | null; readonly newer: number },
  ): Promise<void> {
    const { flattened, startedAt, requestId = null } = page.payload
    const { runId, fence } = this.context
    const applied = await this.#pace.storing(
      this.context.warehouse.apply({
        ...this.#key,
        flattened,
        syncedAt: startedAt,
        statements: reached === null ? [] : [this.#progress(range, reached)],
        fence,
        origin: { runId, way: 'backfill', page: page.page, requestId },
      }),
    )
    const counts = this.#counts
    counts.records += flattened.records.length + flattened.unstorable
    counts.unstorable += flattened.unstorable
    counts.written += applied.written
    counts.removed += applied.removed
    this.context.counted.quarantined += flattened.quarantine.length
    const { records } = page
    const expected = Math.max(counts.records, page.total - newer)
    this.#expected = expected
    this.context.observer.page?.({
      ...this.#key,
      records,
      rows: applied.written,
      expected,
      done: counts.records,
    })
  }

  /** Pages that are read together have to be checked, which is worth a request only where there are many. */
  #readAhead(): number {
    return this.#expected > manyRecords ? this.#pace.readAhead() : Math.min(1, this.#pace.readAhead())
  }

  async #boundary({ from, to }: TimeRange): Promise<string | null> {
    const { tenantId, resource } = this.#key
    const row = await this.context.warehouse.read((db) =>
      db
        .selectFrom('sync_backfills')
        .select('boundary')
        .where('tenant_id', '=', tenantId)
        .where('resource', '=', resource)
        .where('from_at', '=', from)
        .where('to_at', '=', to)
        .executeTakeFirst(),
    )
    if (row?.boundary) this.#note('Going on with a backfill that was cut short', { boundary: row.boundary })
    return row?.boundary ?? null
  }

  #progress({ from, to }: TimeRange, boundary: string): CompiledQuery {
    const { tenantId, resource } = this.#key
    const change = { boundary, run_id: this.context.runId }
    return this.context.warehouse.db
      .insertInto('sync_backfills')
      .values({ tenant_id: tenantId, resource, from_at: from, to_at: to, ...change })
      .onConflict((c) => c.columns(['tenant_id', 'resource', 'from_at', 'to_at']).doUpdateSet(change))
      .compile()
  }

  #forget({ from, to }: TimeRange): CompiledQuery {
    const { tenantId, resource } = this.#key
    return this.context.warehouse.db
      .deleteFrom('sync_backfills')
      .where('tenant_id', '=', tenantId)
      .where('resource', '=', resource)
      .where('from_at', '=', from)
      .where('to_at', '=', to)
      .compile()
  }

  #write(statement: CompiledQuery): Promise<number> {
    return this.context.warehouse.write([statement], this.context.fence)
  }

  #note(message: string, fields: Record<string, unknown>): void {
    const { tenantId: tenant_id, resource } = this.#key
    this.context.observer.notice?.(message, { tenant_id, resource, ...fields })
  }
}
