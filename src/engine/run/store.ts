/*
 * The only way a fetched page gets into the warehouse. The walks, reconcile and the replay of quarantined records store
 * their pages here; nothing else calls `warehouse.apply`.
 */
import type { CompiledQuery } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { inSpan } from '../base/trace.js'
import type { ResourceModel } from '../model/resourcemodel.js'
import { type CursorKey, cursorColumns, demandLook } from '../warehouse/state/cursors.js'
import type { Applied, EncodedPage, Fetched, Origin } from '../warehouse/store/versionbatch.js'
import type { Writer } from '../warehouse/warehouse.js'
import { addCounts, type Counts, noCounts } from './cursorwork.js'
import type { Note, Observer } from './runreport.js'
import type { TenantStats } from './runstats.js'

/** What commits with a page, and what is reported about it. */
interface PageDetails {
  /** State that refers to the rows and commits in their transaction. */
  readonly statements?: readonly CompiledQuery[]
  /** Records in the whole list, so the observer can show how far the cursor has come. */
  readonly expected?: number | undefined
  /** See Batch. */
  readonly forceOlder?: ReadonlyMap<Int64, string> | undefined
}

/** Stores the pages of one cursor, counts what they contain, and reports drift and values in quarantine. */
export class PageStore {
  #counts = noCounts
  /** The names in quarantine of records that couldn't be stored: a walk reads some pages more than once. */
  readonly #unstorable = new Set<string>()

  /** `way`: how the pages arrive, for `why`. undefined if their requests aren't recorded. */
  constructor(
    /** What stores the pages of a cursor: only the warehouse's lease, and nothing else of a run. */
    private readonly cursor: {
      readonly key: CursorKey
      readonly resource: Pick<ResourceModel, 'tables'>
      readonly warehouse: Writer
      readonly observer: Pick<Observer, 'notice' | 'page'>
      readonly stats: TenantStats
    },
    private readonly way: Origin['way'] | undefined,
  ) {}

  /** What the pages have added so far. */
  get counts(): Counts {
    return this.#counts
  }

  /** Encodes a page that was compared first, and stores it. */
  storeFlat(fetched: Fetched, details?: PageDetails): Promise<Applied> {
    return this.store(
      { ...fetched, flattened: this.cursor.warehouse.encode(fetched.flattened, this.cursor.key) },
      details,
    )
  }

  async store(
    fetched: Fetched<EncodedPage>,
    { statements = [], expected, forceOlder }: PageDetails = {},
  ): Promise<Applied> {
    const { flattened, records, startedAt, requestId = null, page = null } = fetched
    const { key, warehouse, observer, stats } = this.cursor
    const { tenantId, resource } = key
    const site = { 'shopsync.tenant_id': String(tenantId), 'shopsync.resource': resource }
    const facts = { ...site, 'shopsync.records': records, 'shopsync.page': page ?? undefined }
    // From record to record: see sharedrows.ts.
    const hasMovingRows = this.cursor.resource.tables.some(({ moves }) => moves)
    const isMarked = !hasMovingRows || stats.touched(resource) !== undefined
    const applied = await inSpan('store', facts, async (tell) => {
      const done = await warehouse.apply({
        ...key,
        page: flattened,
        syncedAt: startedAt,
        statements,
        ifChanged: isMarked ? undefined : demandLook(warehouse.db, key),
        isById: page === null ? true : undefined,
        forceOlder,
        origin: this.way ? { runId: warehouse.runId, way: this.way, page, requestId } : undefined,
      })
      tell({ 'shopsync.rows': done.written })
      return done
    })
    const { written, changed, removed } = applied
    const unstorable = this.#newUnstorable(flattened)
    this.#counts = addCounts(this.#counts, { records, changed, unstorable, written, removed })
    stats.stored(resource, changed)
    if (hasMovingRows && written + removed > 0)
      stats.touch(
        resource,
        flattened.records.map(({ id }) => id),
      )
    this.#tell(flattened, applied)
    if (expected !== undefined)
      observer.page?.({ ...key, records, changed, expected, done: this.#counts.records })
    return applied
  }

  /** How many records that can't be stored no earlier page showed. An empty path stands for the whole record. */
  #newUnstorable({ unstorable, quarantine }: EncodedPage): number {
    if (unstorable === 0) return 0
    const before = this.#unstorable.size
    for (const { recordId, path } of quarantine) if (path === '') this.#unstorable.add(recordId)
    return this.#unstorable.size - before
  }

  #tell({ quarantine }: EncodedPage, { drift, lowered, reassigned = [] }: Applied): void {
    const { key, observer, stats } = this.cursor
    const note: Note = (message, fields) => observer.notice?.(message, { ...cursorColumns(key), ...fields })
    stats.quarantined += quarantine.length
    if (lowered > 0)
      note('Rows were stamped ahead of all that was recorded; what the source shows now replaces them', {
        records: lowered,
      })
    if (reassigned.length > 0)
      note('The source gives records of forgotten customers to other customers; they stay forgotten', {
        records: reassigned.length,
        ids: reassigned.slice(0, 20),
      })
    if (drift.length > 0)
      note(
        'The API sends fields or values that its documentation does not show; they are kept (see sync_drift)',
        {
          // No values: those that aren't in an enumeration are in sync_drift.
          found: [...new Set(drift.map(({ path }) => path))],
        },
      )
    if (quarantine.length > 0)
      note('Values could not be stored: see sync_quarantine', { count: quarantine.length })
  }
}
