import type { Int64 } from '../../../schema/resource.js'
import type { Skip } from '../base/errors.js'
import type { NumberForm } from '../base/numbertoken.js'
import { endOfSecond, fromMicros } from '../base/timestamp.js'
import type { Clocks } from '../list/clocks.js'
import { cutPoint, epoch, unfiltered } from '../list/cutpoint.js'
import { memoryOf, usualPage } from '../list/memory.js'
import { pageSizes, sizesUpTo } from '../list/pagesize.js'
import type { WalkPage } from '../list/types.js'
import type { FlatPage } from '../model/flatten/batch.js'
import type { ResourceModel } from '../model/resourcemodel.js'
import type { Flow } from '../source/rate/flow.js'
import type { ListRequest, Page, Priority, Source } from '../source/source.js'
import type { Fetched } from '../warehouse/store/versionbatch.js'
import { type AnswerById, answerOfFailure, otherThan } from './answerbyid.js'
import { isolate, mayBeOfRecords, mayBeOfSize, withHoles } from './isolate.js'
import { recordsObservedIn } from './observe.js'

interface ListedCursor {
  readonly tenantId: Int64
  readonly resource: ResourceModel
  readonly source: Source
  readonly signal: AbortSignal
  readonly warehouse: { readonly dialect: { readonly sql: { readonly numbers: NumberForm } } }
  readonly run?: { readonly pageSizes?: readonly number[] | undefined }
  readonly state?: { readonly remembered?: unknown } | undefined
}

/** One cursor's list whose pages are compared, or only encoded when they are stored. */
export const flatList = (cursor: ListedCursor, priority: Priority, flow?: Flow): CursorList<FlatPage> =>
  new CursorList(cursor, { priority, flow }, (flattened) => flattened)

/** The first year that no timestamp can express. */
const year10000 = 253_402_300_800_000_000n

/** A `Date` has whole seconds: within its second, every stamp is possible. */
export function clocksOf({ serverDate, startedAt }: Pick<Page, 'serverDate' | 'startedAt'>): Clocks {
  const isUsable = serverDate !== undefined && serverDate >= 0n && serverDate < year10000
  return { source: isUsable ? endOfSecond(fromMicros(serverDate)) : null, own: startedAt }
}

/** One cursor's list at the source: its pages, its counts, and single records. */
export class CursorList<P extends FlatPage<unknown> = FlatPage> {
  records = 0
  /** A record that the list showed on its last page. */
  probeId: Int64 | undefined
  /** The source has counted this list before. */
  #isCounted = false
  /** Pages that failed before: they are requested one more time before they are read in smaller pages again. */
  readonly #failed = new Set<string>()
  /** How the source failed when a page was requested that is larger than those it turned out to serve. */
  #refusal: Skip | undefined
  #total = 0
  /** The most records per page that can be read. undefined if no larger page has failed because of its size. */
  readable: number | undefined

  constructor(
    private readonly cursor: ListedCursor,
    private readonly options: {
      readonly priority: Priority
      /** For lists whose pages are stored as they arrive. */
      readonly flow?: Flow | undefined
    },
    /**
     * Runs on each page before a promise holds it: otherwise the tuples of a waiting page would be copied again and
     * again.
     */
    private readonly form: (flattened: FlatPage) => P,
  ) {
    this.readable = memoryOf(cursor.state?.remembered).readable?.size
  }

  /** The most records to request at once. */
  get most(): number {
    return Math.min(this.cursor.source.pageSize, this.readable ?? Number.POSITIVE_INFINITY)
  }

  /** How many records a page is expected to have, for estimates. */
  get usualPage(): number {
    return usualPage(memoryOf(this.cursor.state?.remembered), this.most)
  }

  /** The page sizes of the readings of this list. */
  get pageSizes(): readonly number[] {
    return sizesUpTo(this.most, this.cursor.run?.pageSizes ?? pageSizes)
  }

  get #request() {
    const { tenantId, resource, signal } = this.cursor
    return { tenantId, path: resource.path, priority: this.options.priority, signal }
  }

  /** A page of everything newer than `after`. */
  async fetch(
    after: string,
    page: number,
    perPage: number,
    {
      wanted,
      flow = this.options.flow,
    }: {
      /** Only the page's records that it accepts are kept. */
      readonly wanted?: (record: unknown) => boolean
      /** Replaces the list's own. */
      readonly flow?: Flow | undefined
    } = {},
  ): Promise<WalkPage<Fetched<P>>> {
    const request = { ...this.#request, updatedAfter: after, page, perPage }
    const name = `${after} ${page} ${perPage}`
    const isSuspect = this.#failed.has(name) || perPage > this.most
    const first = {
      ...request,
      flow,
      isCounted: this.#isCounted,
      attempts: isSuspect ? 1 : undefined,
    }
    const ask = (): Promise<WalkPage<Fetched<P>>> =>
      this.cursor.source.take(first, (answer) => this.#pageOf(answer, request, wanted))
    try {
      if (this.#refusal && perPage > this.most) throw this.#refusal
      return await ask()
    } catch (error) {
      if (!this.#mayReadSmaller(error, request)) throw error
      this.#failed.add(name)
      const isolated = await isolate(this.cursor.source, request, error, this.most)
      if (isolated.readable !== undefined && !isSuspect) {
        // If the page arrives by now, its size wasn't to blame.
        const arrived = await this.attempt(after, page, perPage, wanted)
        if (arrived) return arrived
        this.readable = isolated.readable
        this.#refusal = error
      }
      const shown = withHoles(this.#pageOf(isolated, request, wanted), isolated, after || epoch)
      const { readable } = this
      return { ...shown, readable: (readable ?? perPage) < perPage ? readable : undefined }
    }
  }

  /** A page that is requested only once, whatever happens. undefined if the source fails. */
  async attempt(
    after: string,
    page: number,
    perPage: number,
    wanted?: (record: unknown) => boolean,
  ): Promise<WalkPage<Fetched<P>> | undefined> {
    const request = { ...this.#request, updatedAfter: after, page, perPage, attempts: 1 }
    try {
      return await this.cursor.source.take(request, (answer) => this.#pageOf(answer, request, wanted))
    } catch (error) {
      if (mayBeOfRecords(error) || mayBeOfSize(error)) return undefined
      throw error
    }
  }

  /**
   * Whether smaller pages may show what this one doesn't. A page past the end may be refused for being there; its size
   * isn't to blame.
   */
  #mayReadSmaller(error: unknown, { page, perPage }: Pick<ListRequest, 'page' | 'perPage'>): error is Skip {
    if (mayBeOfRecords(error)) return true
    return mayBeOfSize(error) && perPage > 1 && (page === 1 || (page - 1) * perPage < this.#total)
  }

  /** How many records are newer than the second of an instant, by the source's count. */
  async countAfter(t: string): Promise<number> {
    return (await this.fetch(cutPoint(t), 1, 1)).total
  }

  /** How many records there are, by the source's count without a time filter. */
  async countAll(): Promise<number> {
    return (await this.fetch(unfiltered, 1, 1)).total
  }

  #pageOf(
    answer: Page,
    { page, perPage }: Pick<ListRequest, 'page' | 'perPage'>,
    wanted: ((record: unknown) => boolean) | undefined,
  ): WalkPage<Fetched<P>> {
    const { records, startedAt, requestId, careful, total, totalPages, isUncounted } = answer
    this.#isCounted ||= !isUncounted
    this.#total = total
    const { resource, tenantId } = this.cursor
    const numbers = { ...answer, form: this.cursor.warehouse.dialect.sql.numbers }
    const flattened = resource.flatten(tenantId, records, careful, numbers)
    this.probeId = flattened.records[0]?.id
    this.records += records.length
    const kept = wanted ? records.filter(wanted) : records
    const isPart = kept.length < records.length
    const isKept = new Set(kept)
    const part = (): FlatPage =>
      resource.flatten(tenantId, kept, careful, {
        ...numbers,
        tokens: () => answer.tokens().filter((_, i) => isKept.has(records[i])),
      })
    const observed = recordsObservedIn(records, flattened)
    const byTotal = Math.ceil(total / perPage)
    return {
      total,
      isUncounted,
      page,
      totalPages: byTotal,
      // What the source says about its pages never ends a list. If it says that more follow, the walk checks.
      goesOn: totalPages > page && byTotal <= page ? true : undefined,
      records: records.length,
      observed,
      clocks: clocksOf(answer),
      payload: {
        flattened: this.form(isPart ? part() : flattened),
        records: kept.length,
        startedAt,
        requestId,
        page,
      },
    }
  }

  /** Requests one record. Only byid.ts calls it, because it knows what an answer without the record means. */
  async item(id: Int64): Promise<AnswerById<P>> {
    const item = await this.cursor.source.item({ ...this.#request, id }).catch(answerOfFailure)
    if (!item) return { kind: 'gone' }
    if ('kind' in item) return item
    const other = otherThan(item.value, id)
    if (other) return other
    const { value, careful, startedAt, requestId } = item
    const { resource, tenantId } = this.cursor
    const numbers = {
      ...item,
      form: this.cursor.warehouse.dialect.sql.numbers,
      tokens: () => [item.tokens()],
    }
    const flattened = this.form(resource.flatten(tenantId, [value], careful, numbers))
    return { kind: 'record', fetched: { flattened, records: 1, startedAt, requestId, page: undefined } }
  }
}
