import type { CompiledQuery } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import type { Page, Source } from '../../api/source.js'
import type { Flattened } from '../../model/flatten/batch.js'
import type { ResourceModel } from '../../model/registry.js'
import { endOfSecond, fromMicros, toMicros } from '../../timestamp.js'
import { epoch, type Sighting } from '../../walk/books.js'
import { decodeIds, encodeIds } from '../../walk/idset.js'
import type { WalkProgress } from '../../walk/progress.js'
import {
  type PageCommit,
  pageSizes,
  Walk,
  type WalkOutcome,
  type WalkPage,
  type WalkPlan,
  type WalkPort,
} from '../../walk/walk.js'
import { type CursorState, cursorName, moveCursor } from '../../warehouse/cursors.js'
import { now, type RunContext } from '../run/context.js'
import type { Reconciled } from '../run/report.js'
import { Pace } from './pace.js'

/** What came of one cursor, before the run judges it. */
export interface CursorResult {
  readonly outcome: WalkOutcome | null
  readonly watermark: string | null
  readonly records: number
  readonly unstorable: number
  readonly written: number
  readonly removed: number
  readonly reconciled?: Reconciled
  /** What kept the work from being complete, where no walk is to blame. */
  readonly problem?: string
}

/** A page on its way from the API to the warehouse. */
interface Payload {
  readonly flattened: Flattened
  readonly startedAt: string
  readonly requestId: string | undefined
}

/** Progress, and in which mode it was made: a full walk that was cut short is not gone on with by another sync. */
interface StoredWalk extends WalkProgress {
  readonly mode: 'sync' | 'full'
}

/** How many records a walk that was cut short had still before it. */
export const remaining = (state: CursorState | undefined): number =>
  (state?.walk as StoredWalk | null | undefined)?.below ?? 0

/**
 * Where to start: the watermark less the overlap, for records that become visible late. Always at the last microsecond
 * of a second, where "newer than" means the same whatever precision the source prints (design.md §2).
 */
export function floorOf(watermark: string | null, overlapMs: number): string {
  if (watermark === null) return epoch
  const from = toMicros(watermark) - BigInt(overlapMs) * 1000n
  const second = fromMicros(from - 1_000_000n)
  return second < epoch ? epoch : endOfSecond(second)
}

/** What the books count: every record once, those too that cannot be stored, and an id that stands twice in one page. */
export function sightingsOf(page: Pick<Page, 'records'>, flattened: Flattened): readonly Sighting[] {
  const { records, quarantine, unstorable } = flattened
  const surplus = page.records.length - records.length - unstorable
  if (unstorable === 0 && surplus <= 0) return records
  const odd: Sighting[] = quarantine
    .filter((entry) => entry.path === '')
    .map((entry) => ({ id: `!${entry.recordId}`, updatedAt: '', createdAt: null }))
  return [...records, ...odd, ...(surplus > 0 ? repeated(page.records) : [])]
}

function repeated(records: readonly unknown[]): Sighting[] {
  const counts = new Map<string, number>()
  return records.flatMap((record) => {
    const id = typeof record === 'object' && record !== null && 'id' in record ? String(record.id) : ''
    const count = (counts.get(id) ?? 0) + 1
    counts.set(id, count)
    return id !== '' && count > 1 ? [{ id: `${id}#${count}`, updatedAt: '', createdAt: null }] : []
  })
}

/** One cursor's walk: joins the API's list, the books and the warehouse. */
export class CursorWalk {
  #floor: string
  #before: string | null
  readonly #counts = { records: 0, unstorable: 0, written: 0, removed: 0, done: 0 }
  readonly #pace: Pace
  readonly #startedAt: string
  #watermark: string | null

  constructor(
    private readonly context: RunContext,
    private readonly tenantId: Int64,
    private readonly resource: ResourceModel,
    private readonly source: Source,
    private readonly mode: 'sync' | 'full',
  ) {
    this.#pace = new Pace(context)
    this.#startedAt = now(context)
    this.#before = this.#state?.watermark ?? null
    this.#watermark = this.#before
    this.#floor = floorOf(mode === 'full' ? null : this.#before, context.config.sync.overlap)
  }

  get #key(): { tenantId: Int64; resource: string } {
    return { tenantId: this.tenantId, resource: this.resource.name }
  }

  get #state() {
    return this.context.cursors.get(cursorName(this.#key))
  }

  /** What has been done so far; also after a failure. */
  get result(): Omit<CursorResult, 'outcome'> {
    const { done: _, ...counts } = this.#counts
    return { ...counts, watermark: this.#watermark }
  }

  async run(): Promise<CursorResult> {
    // Never synced, cut short, or all of it again: a long walk. An idle one must not pay for it.
    if (this.mode === 'full' || !this.#state || this.#state.walk) this.context.warehouse.warm()
    const resume = await this.#resumable()
    const expected = this.mode === 'full' && this.#before !== null ? await this.#liveRows() : undefined
    const outcome = await this.#walk({
      ...(resume && { resume }),
      ...(expected !== undefined && { expected }),
    })
    if (!resume || outcome.verdict === 'unproven') return { ...this.result, outcome }
    // A resumed walk speaks of the time when it began. What has come since within the overlap, or within the second
    // of its ceiling, is for the walk after it; a run that says it is done must not leave that to the next.
    this.#before = this.#watermark
    this.#floor = floorOf(this.#before, this.context.config.sync.overlap)
    const next = await this.#walk({})
    return {
      ...this.result,
      outcome: outcome.verdict === 'repaired' && next.verdict === 'proven' ? outcome : next,
    }
  }

  async #walk(plan: Pick<WalkPlan, 'resume' | 'expected'>): Promise<WalkOutcome> {
    const walk = new Walk<Payload>(this.#port(), {
      floor: this.#floor,
      nextFloor: (ceiling) => floorOf(ceiling, this.context.config.sync.overlap),
      pageSizes: this.context.pageSizes ?? pageSizes,
      ...plan,
    })
    const outcome = await walk.run()
    if (outcome.verdict === 'unproven') await this.#giveUp(outcome)
    return outcome
  }

  #liveRows(): Promise<number> {
    const [root] = this.resource.tables
    return root ? this.context.warehouse.countRows(root, this.tenantId) : Promise.resolve(0)
  }

  async #resumable(): Promise<{ progress: WalkProgress; ids: Int64[]; entered: Int64[] } | undefined> {
    const progress = this.#state?.walk as StoredWalk | null | undefined
    if (!progress || progress.floor !== this.#floor) return undefined
    if (progress.mode !== this.mode && this.#before !== null) return undefined
    const parts = await this.context.warehouse.read((db) =>
      db
        .selectFrom('sync_walk_parts')
        .select(['ids', 'entered'])
        .where('tenant_id', '=', this.tenantId)
        .where('resource', '=', this.resource.name)
        .where('part', '<=', progress.part)
        .execute(),
    )
    const all = (name: 'ids' | 'entered'): Int64[] => parts.flatMap((part) => decodeIds(part[name] ?? ''))
    return { progress, ids: all('ids'), entered: all('entered') }
  }

  #port(): WalkPort<Payload> {
    return {
      fetch: (page, perPage) => this.#fetch(page, perPage),
      store: (page, mark) => this.#store(page, mark),
      countAfter: (t) => this.#countAfter(t),
      readAhead: () => this.#pace.readAhead(),
      note: (message, fields) => this.#note(message, fields),
    }
  }

  #note(message: string, fields: Record<string, unknown>): void {
    const { tenantId: tenant_id, resource } = this.#key
    this.context.observer.notice?.(message, { tenant_id, resource, ...fields })
  }

  async #fetch(page: number, perPage: number): Promise<WalkPage<Payload>> {
    await this.context.warehouse.room()
    const request = { ...this.#request, updatedAfter: this.#floor, page, perPage }
    return this.#pace.fetching(
      this.source.take(request, (answer) => this.#pageOf(answer)),
      ({ payload }) => payload.startedAt,
    )
  }

  #pageOf(answer: Page): WalkPage<Payload> {
    const flattened = this.resource.flatten(answer.records, answer.careful)
    this.context.warehouse.foresee(flattened)
    return {
      total: answer.total,
      page: answer.page,
      totalPages: answer.totalPages,
      records: answer.records.length,
      sightings: sightingsOf(answer, flattened),
      payload: { flattened, startedAt: answer.startedAt, requestId: answer.requestId },
    }
  }

  /** `total_count` of what is newer than t (design.md §2), whatever precision is printed. */
  async #countAfter(t: string): Promise<number> {
    const updatedAfter = t === epoch ? t : endOfSecond(t)
    return (await this.source.list({ ...this.#request, updatedAfter, page: 1, perPage: 1 })).total
  }

  get #request() {
    const { signal } = this.context
    return { tenantId: this.tenantId, path: this.resource.path, priority: 'incremental' as const, signal }
  }

  async #store(page: WalkPage<Payload>, mark: PageCommit): Promise<(id: Int64) => string | undefined> {
    const { flattened, startedAt, requestId = null } = page.payload
    const { runId, fence } = this.context
    const applied = await this.#pace.storing(
      this.context.warehouse.apply({
        ...this.#key,
        flattened,
        syncedAt: startedAt,
        statements: this.#statements(mark),
        fence,
        origin: { runId, way: 'walk', page: page.page, requestId },
      }),
    )
    const counts = this.#counts
    counts.records += page.records
    counts.unstorable += flattened.unstorable
    counts.written += applied.written
    counts.removed += applied.removed
    counts.done += flattened.records.length
    this.context.counted.quarantined += flattened.quarantine.length
    if (applied.drift.length > 0)
      this.#note('The API sends what its document does not show; it is kept, see sync_drift', {
        found: applied.drift.map(({ path, detail }) => (detail ? `${path}=${detail}` : path)),
      })
    if (flattened.quarantine.length > 0)
      this.#note('Values could not be stored: see sync_quarantine', { count: flattened.quarantine.length })
    if (mark.outcome) this.#watermark = this.#moved(mark.outcome)
    this.context.observer.page?.({
      ...this.#key,
      records: page.records,
      rows: applied.written,
      expected: page.total,
      done: counts.done,
    })
    return (id) => applied.previous.get(id)?.updatedAt
  }

  /** A watermark never moves back: the newest record may have been deleted since. */
  #moved({ ceiling }: WalkOutcome): string | null {
    if (ceiling === null) return this.#before
    return this.#before !== null && this.#before > ceiling ? this.#before : ceiling
  }

  #statements({ progress, part, outcome }: PageCommit): CompiledQuery[] {
    const { db } = this.context.warehouse
    const walk = progress && { ...progress, mode: this.mode }
    const statements: CompiledQuery[] = []
    if (part?.number === 1 || outcome) statements.push(this.#forgetParts())
    if (part) {
      const row = { part: part.number, ids: encodeIds(part.ids), entered: encodeIds(part.entered) }
      const key = { tenant_id: this.tenantId, resource: this.resource.name }
      statements.push(
        db
          .insertInto('sync_walk_parts')
          .values({ ...key, ...row })
          .onConflict((c) => c.columns(['tenant_id', 'resource', 'part']).doUpdateSet(row))
          .compile(),
      )
    }
    if (outcome && this.#floor === epoch) statements.push(this.#forgetNameless())
    if (outcome) statements.push(this.#finished(outcome))
    else if (walk !== undefined) statements.push(moveCursor(db, this.#key, { walk }))
    return statements
  }

  /** Records without an id can only be told apart by what they held; a walk of everything shows which are left. */
  #forgetNameless(): CompiledQuery {
    return this.context.warehouse.db
      .deleteFrom('sync_quarantine')
      .where('tenant_id', '=', this.tenantId)
      .where('resource', '=', this.resource.name)
      .where('record_id', 'like', '?%')
      .where('last_seen_at', '<', this.#startedAt)
      .compile()
  }

  #forgetParts(): CompiledQuery {
    return this.context.warehouse.db
      .deleteFrom('sync_walk_parts')
      .where('tenant_id', '=', this.tenantId)
      .where('resource', '=', this.resource.name)
      .compile()
  }

  /** The walk is complete: the watermark moves in the transaction of its last rows. */
  #finished(outcome: WalkOutcome): CompiledQuery {
    return moveCursor(this.context.warehouse.db, this.#key, {
      watermark: this.#moved(outcome),
      status: 'ok',
      completeness: outcome.verdict,
      last_success_at: now(this.context),
      last_error: null,
      last_run_id: this.context.runId,
      walk: null,
    })
  }

  /** The books stayed open: what came is stored, the watermark stays, and the next run begins anew. */
  async #giveUp(outcome: WalkOutcome): Promise<void> {
    const { warehouse, runId, fence } = this.context
    const cursor = moveCursor(warehouse.db, this.#key, {
      status: 'failed',
      completeness: 'unproven',
      last_error: outcome.reason,
      last_run_id: runId,
      walk: null,
    })
    await warehouse.write([this.#forgetParts(), cursor], fence)
  }
}
