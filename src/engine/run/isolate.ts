/*
 * Reads a page that never answers in smaller pages, so that a record that breaks every response only blocks itself.
 * cursorlist.ts turns to it when a page has failed for good. What is left are holes: records that no response shows.
 * The records around them show where they are, and an incremental walk retries a remembered hole. If the smaller pages
 * show every record, the size of the page was to blame: see `readable`.
 */

import { Skip } from '../base/errors.js'
import { fromMicros } from '../base/timestamp.js'
import type { Hole } from '../list/anomalies.js'
import { cutBefore } from '../list/cutpoint.js'
import type { ObservedRecord } from '../list/observed.js'
import { smallerSizes } from '../list/pagesize.js'
import type { WalkPage } from '../list/types.js'
import type { FlatPage } from '../model/flatten/batch.js'
import type { ListRequest, Page, Source } from '../source/source.js'
import type { Fetched } from '../warehouse/store/versionbatch.js'
import { timeOf } from './observe.js'

/** A page with the places that no response shows. */
interface IsolatedPage extends Page {
  /** Places on the page, from 0, in order. The records at them are missing from `records`. */
  readonly unread: readonly number[]
  /** The records before and behind each place that are on other pages, if they were needed. */
  readonly around: { readonly before: unknown; readonly behind: unknown }
  /**
   * The size of the smaller pages that showed every record of this one. undefined if they had several sizes: then some
   * records are to blame, and pages without them arrive in larger sizes.
   */
  readonly readable?: number | undefined
}

/** A page far past the end of any list shows its total and no record. */
const farPage = 1_000_000
/** If records are missing from more pages of this size than that, the cause is the source, not some records. */
const few = 10
const mostBroken = 3
/** A size of which this many pages have failed isn't requested again for the rest of the page. */
const mostOfSize = 2
const attemptsOfFew = 2
const attemptsOfOne = 3
/** Records may move from one of the smaller pages to another: then they are read again, at most this often. */
const mostTries = 5

type Ask = (page: number, perPage: number, attempts: number) => Promise<Page>

/**
 * Whether a failure may be caused by the page's records: the source answered wrongly or not at all, every time, or a
 * gateway refused the response as too large.
 */
export const mayBeOfRecords = (error: unknown): error is Skip =>
  error instanceof Skip &&
  (error.details.status === 413 ||
    (error.reason === 'failed' &&
      error.details.code === undefined &&
      (error.details.status === undefined || error.details.status >= 500)))

/** Whether the source refused what was asked. Some sources answer so to a page size that they don't serve. */
export const mayBeOfSize = (error: unknown): error is Skip =>
  error instanceof Skip && error.reason === 'refused' && error.details.status === 422

async function orFailure<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (mayBeOfRecords(error) || mayBeOfSize(error)) return undefined
    throw error
  }
}

/** Number tokens are read while the page is held, because its body is released with the request. */
const keepTokens = (page: Page): Page => {
  const [tokens, isOdd] = [page.tokens(), page.isOdd()]
  return { ...page, tokens: () => tokens, isOdd: () => isOdd }
}

/** Reads the places of a page in smaller pages, and one by one where those don't answer. */
class Isolation {
  readonly #answers: Page[] = []
  readonly #places = new Map<number, { readonly record: unknown; readonly token: unknown }>()
  /** The pages of a few records from which some are missing. */
  readonly #broken = new Set<number>()
  /** How many pages of each size have failed. */
  readonly #failed = new Map<number, number>()
  /** The sizes of the pages that arrived. */
  readonly #arrived = new Set<number>()

  /** `most`: larger pages are known to fail. */
  constructor(
    private readonly ask: Ask,
    private readonly failure: Skip,
    private readonly most: number,
  ) {}

  /** undefined if the list has moved between the smaller pages: a record may have slipped from one to another. */
  async run({ page, perPage }: ListRequest): Promise<IsolatedPage | undefined> {
    const far = await this.#far()
    // Nothing is answered, or nothing that shows how long the list is: no record is to blame for the failure.
    if (!far || far.isUncounted) throw this.failure
    const from = (page - 1) * perPage
    const to = Math.min(from + perPage, far.total)
    const sizes = smallerSizes.filter((size) => size < perPage && size <= this.most)
    await this.#parts(from, to, sizes)
    const answers = [...this.#answers, far]
    if (answers.some(({ total }) => total !== far.total)) return undefined
    const numbers = Array.from({ length: Math.max(0, to - from) }, (_, i) => i)
    const unread = numbers.filter((i) => !this.#places.has(from + i))
    const read = numbers.flatMap((i) => this.#places.get(from + i) ?? [])
    const stamps = answers.map(({ startedAt }) => startedAt).sort()
    const [size, ...others] = this.#arrived
    return {
      ...far,
      // The guard treats the rows as being as old as the first response that contained any of them.
      startedAt: stamps[0] ?? far.startedAt,
      careful: answers.some(({ careful }) => careful),
      isOdd: () => answers.some((answer) => answer.isOdd()),
      records: read.map(({ record }) => record),
      tokens: () => read.map(({ token }) => token),
      page,
      totalPages: Math.ceil(far.total / perPage),
      unread,
      around: await this.#around(unread, from, to),
      readable: size !== undefined && others.length + unread.length === 0 ? size : undefined,
    }
  }

  /** A response that shows how long the list is. */
  async #far(): Promise<Page | undefined> {
    const far = await orFailure(this.ask(farPage, 1, 1))
    if (far) return far.records.length === 0 ? far : undefined
    // A source that refuses sizes may refuse pages past the end, too.
    return mayBeOfSize(this.failure) ? orFailure(this.ask(1, 1, 1)) : undefined
  }

  /** Reads the places of the list, from 0, in pages of the first of the sizes, and those of a page that doesn't answer in smaller ones. */
  async #parts(from: number, to: number, [size, ...smaller]: readonly number[]): Promise<void> {
    if (size === undefined) this.#miss(from)
    else if (size > 1 && (this.#failed.get(size) ?? 0) >= mostOfSize) await this.#parts(from, to, smaller)
    else
      for (let k = Math.floor(from / size); k * size < to; k++) {
        const answer = await orFailure(this.ask(k + 1, size, size > 1 ? attemptsOfFew : attemptsOfOne))
        if (answer) this.#take(answer, k * size, size)
        else {
          this.#failed.set(size, (this.#failed.get(size) ?? 0) + 1)
          await this.#parts(Math.max(from, k * size), Math.min(to, (k + 1) * size), smaller)
        }
      }
  }

  /** No response shows the record at that place. */
  #miss(place: number): void {
    this.#broken.add(Math.floor(place / few))
    if (this.#broken.size > mostBroken) throw this.failure
  }

  #take(answer: Page, from: number, size: number): void {
    this.#arrived.add(size)
    const { records } = answer
    const tokens = answer.tokens()
    this.#answers.push(answer)
    for (const [i, record] of records.entries()) this.#places.set(from + i, { record, token: tokens[i] })
  }

  /** A record at the edge of the page has its neighbor on another page. */
  async #around(unread: readonly number[], from: number, to: number) {
    const neighbour = async (place: number): Promise<unknown> => {
      if (this.#places.has(place)) return this.#places.get(place)?.record
      return (await orFailure(this.ask(place + 1, 1, 1)))?.records[0]
    }
    const isFirst = unread.includes(0) && from > 0
    const isLast = unread.includes(to - from - 1)
    return {
      before: isFirst ? await neighbour(from - 1) : undefined,
      behind: isLast ? await neighbour(to) : undefined,
    }
  }
}

/** Throws the failure if neither single records nor the page's size caused it, or if the list doesn't stand still. */
export async function isolate(
  source: Source,
  request: ListRequest,
  failure: Skip,
  most: number,
): Promise<IsolatedPage> {
  const ask: Ask = (page, perPage, attempts) =>
    source.take({ ...request, page, perPage, attempts }, keepTokens)
  for (let attempt = 0; attempt < mostTries; attempt++) {
    const isolated = await new Isolation(ask, failure, most).run(request)
    if (isolated) return isolated
  }
  throw failure
}

/** The page with a place for each record that is missing from it, and the resulting holes. */
export function withHoles<P extends FlatPage<unknown>>(
  page: WalkPage<Fetched<P>>,
  isolated: IsolatedPage,
  after: string,
): WalkPage<Fetched<P>> {
  const { unread, around } = isolated
  const read = [...page.observed]
  const observed: ObservedRecord[] = []
  const holes: Hole[] = []
  const missing = new Set(unread)
  const first = timeOf(around.before)
  for (let place = 0; read.length > 0 || missing.has(place); place++) {
    const record = missing.has(place) ? undefined : read.shift()
    if (record) observed.push(record)
    else if (!missing.has(place - 1)) {
      let records = 1
      while (missing.has(place + records)) records++
      const newer = observed.at(-1)?.updatedAt || first
      const older = read[0]?.updatedAt || timeOf(around.behind) || after
      holes.push({ after: older, until: newer || lastSecond(isolated), records })
      observed.push(...inHole(newer || older, `${older} ${newer}`, records))
    }
  }
  return { ...page, records: page.records + unread.length, observed, holes }
}

/**
 * For when no newer record is known: the record was stamped before the source answered. Another record may still arrive
 * in the second of the response, so this takes the end of the second before it. At worst, the hole is met again.
 */
const lastSecond = ({ serverDate, startedAt }: IsolatedPage): string =>
  cutBefore(serverDate === undefined ? startedAt : fromMicros(serverDate))

/** The books count what the total counts: each record of a hole is in them under a text that stays the same. */
const inHole = (updatedAt: string, name: string, records: number): ObservedRecord[] =>
  Array.from({ length: records }, (_, i) => ({ id: `~${name} ${i}`, updatedAt, createdAt: null }))
