import type { Int64 } from '../../../schema/resource.js'
import type { Source } from '../../api/source.js'
import type { Candidate } from '../../compare/comparison.js'
import { type Cell, forever, type Move } from '../../compare/histogram.js'
import { epoch } from '../../walk/books.js'
import { supersedes } from '../../warehouse/apply.js'
import { cursorName } from '../../warehouse/cursors.js'
import type { Version } from '../../warehouse/dialect.js'
import type { RunContext } from '../run/context.js'
import type { CursorTask } from '../run/cursor.js'
import type { Reconciled } from '../run/report.js'
import { type CursorResult, CursorWalk } from '../walks/incremental.js'
import { CursorList, type Fetched } from '../walks/list.js'
import { Breaker } from './breaker.js'
import { type ComparedCursor, type ComparedSide, Comparing } from './comparing.js'
import { Confirmation } from './confirm.js'
import { LiveRows, rootOf } from './liverows.js'
import { recoverLostRows } from './lostrows.js'
import { RegisterCheck } from './registercheck.js'
import { type GoneRow, markDeleted } from './tombstone.js'
import { trimRequests } from './trim.js'

export interface ReconcileOptions {
  /** List every id, whatever the counts say. */
  readonly full: boolean
  /** Mark as deleted however many are gone. */
  readonly acceptDeletes: boolean
  /** The share of a cursor's rows that may be marked deleted at once without that. */
  readonly maxDeletes: number
}

/** Of a cursor: an incremental walk, then a comparison with the source that mends what differs. */
export class Reconciliation implements ComparedSide {
  readonly #list: CursorList
  readonly #comparing: Comparing
  readonly #confirmation: Confirmation
  readonly #mirror: LiveRows
  readonly #audit: RegisterCheck
  readonly #counts = { records: 0, unstorable: 0, written: 0, removed: 0, stored: 0, deleted: 0 }
  #walk: CursorWalk
  #breaker: Breaker | undefined

  constructor(
    private readonly context: RunContext,
    private readonly task: CursorTask,
    private readonly source: Source,
    private readonly options: ReconcileOptions,
  ) {
    this.#mirror = new LiveRows(context.warehouse, task)
    this.#audit = new RegisterCheck(context, task, context.fence)
    this.#list = new CursorList(source, task, { priority: 'reconcile', signal: context.signal })
    this.#comparing = new Comparing(context, task, { list: this.#list, side: this })
    this.#confirmation = new Confirmation({
      list: this.#list,
      stamps: context.stamps,
      note: (message, fields) => this.#comparing.note(message, fields),
    })
    this.#walk = new CursorWalk(context, task.tenantId, task.resource, source, 'sync')
  }

  /** What has been done so far; also after a failure. */
  get result(): Omit<CursorResult, 'outcome'> {
    const { records, unstorable, written, removed, watermark } = this.#walk.result
    const counts = this.#counts
    return {
      records: records + counts.records + this.#list.records,
      unstorable: unstorable + counts.unstorable,
      written: written + counts.written,
      removed: removed + counts.removed,
      watermark,
    }
  }

  async run(): Promise<CursorResult> {
    const { outcome } = await this.#walk.run()
    if (outcome?.verdict === 'unproven') return { ...this.result, outcome }
    const found = await this.#comparing.run(this.options.full)
    const { isEven, verdict, odd, ...rest } = found
    if (isEven) await this.#audit.close(this.options.full ? 'listing' : found.method)
    await trimRequests(this.context, this.task, found.warehouse)
    const { stored, deleted } = this.#counts
    this.#counts.unstorable = odd
    const reconciled: Reconciled = { ...rest, stored, deleted }
    const repaired = outcome?.verdict === 'repaired' || verdict === 'repaired'
    const problem = isEven ? null : unevenText(found)
    return {
      ...this.result,
      outcome: outcome && { ...outcome, verdict: isEven ? (repaired ? 'repaired' : 'proven') : 'unproven' },
      reconciled,
      ...(problem !== null && { problem }),
    }
  }

  versions(ids: readonly Int64[]): Promise<Map<Int64, Version>> {
    return this.#mirror.versions(ids)
  }

  cells(after: string, until: string): Promise<Cell[]> {
    return this.#mirror.cells(after, until)
  }

  rows(after: string, until: string): Promise<Map<Int64, string>> {
    return this.#mirror.rows(after, until)
  }

  all(): AsyncIterable<Candidate> {
    return this.#mirror.all()
  }

  async recall(): Promise<readonly Move[] | undefined> {
    const note = (message: string, fields: Record<string, unknown>) => this.#comparing.note(message, fields)
    const finding = await this.#audit.look(this.#mirror.counted)
    return recoverLostRows({
      finding,
      side: this,
      mirror: this.#mirror,
      confirmation: this.#confirmation,
      note,
    })
  }

  /** The source has moved: another walk, from the watermark that the one before has left. */
  async refresh(): Promise<void> {
    const { tenantId, resource } = this.task
    const before = this.#walk.result
    const state = { watermark: before.watermark, walk: null }
    const cursors = new Map([[cursorName({ tenantId, resource: resource.name }), state]])
    this.#walk = new CursorWalk({ ...this.context, cursors }, tenantId, resource, this.source, 'sync')
    for (const name of ['records', 'unstorable', 'written', 'removed'] as const)
      this.#counts[name] += before[name]
    await this.#walk.run()
  }

  async store({ flattened, startedAt, requestId, page }: Fetched): Promise<Move[]> {
    const { warehouse, fence, counted, runId } = this.context
    const { tenantId, resource } = this.task
    const applied = await warehouse.apply({
      tenantId,
      resource: resource.name,
      flattened,
      syncedAt: startedAt,
      statements: [],
      fence,
      origin: { runId, way: 'reconcile', page: page ?? null, requestId: requestId ?? null },
    })
    const moves = flattened.records.flatMap(({ id, updatedAt }): Move[] => {
      const stored = applied.previous.get(id)
      if (stored && !supersedes(updatedAt, startedAt, stored)) return []
      const before = stored && stored.deletedAt === null ? stored.updatedAt : null
      return before === updatedAt ? [] : [{ before, after: updatedAt }]
    })
    const counts = this.#counts
    counts.written += applied.written
    counts.removed += applied.removed
    counts.stored += moves.length
    counted.quarantined += flattened.quarantine.length
    return moves
  }

  /** Asks about rows that the list does not show; stores what has moved, and marks what is gone. */
  async settle(candidates: readonly Candidate[]): Promise<Move[]> {
    const stored = await this.#mirror.versions(candidates.map(({ id }) => id))
    const doubtful = candidates.filter(({ id, updatedAt }) => {
      const version = stored.get(id)
      return version?.deletedAt === null && version.updatedAt === updatedAt
    })
    const breaker = await this.#limit()
    const gone: GoneRow[] = []
    const moves: Move[] = []
    // The first few tell whether a landslide is one: nobody asks for a hundred thousand records in vain.
    const sample = breaker.trips(doubtful.length) ? doubtful.slice(0, 20) : doubtful
    for (const part of sample === doubtful ? [doubtful] : [sample, doubtful.slice(20)]) {
      const answer = await this.#confirmation.ask(part)
      for (const fetched of answer.moved) moves.push(...(await this.store(fetched)))
      gone.push(...answer.gone)
      if (part === sample && sample !== doubtful && gone.length === part.length)
        breaker.refuse(doubtful.length)
    }
    breaker.pass(gone.length)
    const { warehouse, fence } = this.context
    const { tenantId, resource } = this.task
    const buried = await markDeleted({ warehouse, fence }, { tenantId, root: rootOf(resource) }, gone)
    this.#counts.removed += buried.length
    this.#counts.deleted += buried.length
    return [...moves, ...buried.map(({ updatedAt }): Move => ({ before: updatedAt, after: null }))]
  }

  async #limit(): Promise<Breaker> {
    this.#breaker ??= new Breaker({
      live: await this.#mirror.count(epoch, forever),
      share: this.options.maxDeletes,
      accepted: this.options.acceptDeletes,
    })
    return this.#breaker
  }
}

const unevenText = ({ source, warehouse }: ComparedCursor): string =>
  `Records kept moving while the counts were compared: ${source} at the source, ${warehouse} in the warehouse. What was found is stored; the next reconcile looks again`
