import type { Int64 } from '../../schema/resource.js'
import { Bug, Skip } from '../errors.js'
import { type Balance, Book, type Sighting } from './books.js'
import { listHeadOf, type PagePlace, Pager } from './pager.js'
import type { ListHead } from './prefetch.js'
import { reached, type WalkProgress } from './progress.js'
import { edgesOf, newest, oldest } from './ties.js'

/** One response of the walked list, flattened: what the books need, and what will be stored. */
export interface WalkPage<P> {
  /** `total_count`. */
  readonly total: number
  /** Page number that was asked for. */
  readonly page: number
  /** As the server says: it may hold fewer records a page than was asked for. */
  readonly totalPages: number
  /** How many records stood in it, unusable ones included. */
  readonly records: number
  readonly sightings: readonly Sighting[]
  /** Handed to `store` as it is. */
  readonly payload: P
}

/** What commits together with a page. */
export interface PageCommit {
  /** null: the walk is over. undefined: leave it as it is. */
  readonly progress?: WalkProgress | null
  /** New ids of this page, and which of the pages before entered the list: kept while the walk lasts. */
  readonly part?: {
    readonly number: number
    readonly ids: readonly Int64[]
    readonly entered: readonly Int64[]
  }
  /** The verdict, on the page that completes the walk. */
  readonly outcome?: WalkOutcome
}

export interface WalkOutcome {
  readonly verdict: 'proven' | 'repaired' | 'unproven'
  /** Newest `updated_at` of the first response; null when the list was empty. */
  readonly ceiling: string | null
  readonly books: Balance
  /** Why it is not proven. */
  readonly reason: string | null
}

/** How the walk reaches the list and the warehouse. */
export interface WalkPort<P> {
  /** One page of the list of records newer than the floor. */
  fetch(page: number, perPage: number): Promise<WalkPage<P>>
  /** Stores a page with its mark in one transaction; returns the versions that the warehouse had before, by id. */
  store(page: WalkPage<P>, mark: PageCommit): Promise<(id: Int64) => string | undefined>
  /** How many records are newer than t (design: the question that the API can answer). */
  countAfter(t: string): Promise<number>
  /**
   * How many pages may be under way at once. 0: a page is asked for when the one before is stored. 1: when the one
   * before has come, while that is being stored; still strictly one after the other. More: several together.
   */
  readAhead(): number
  note(message: string, fields: Record<string, unknown>): void
}

export interface WalkPlan {
  readonly floor: string
  /** 100, then other sizes that cut ties elsewhere. */
  readonly pageSizes: readonly number[]
  readonly resume?: {
    readonly progress: WalkProgress
    readonly ids: readonly Int64[]
    readonly entered: readonly Int64[]
  }
  /**
   * Where the next walk would begin if this one ended with that ceiling: what is newer may still become visible later.
   * Without it nothing is thought to come late.
   */
  readonly nextFloor?: (ceiling: string) => string
  /** Rows that the warehouse has above the floor, where a walk that finds far fewer must not be believed. */
  readonly expected?: number
}

/** Page sizes of the passes: coprime, so that records of one `updated_at` are cut at other places each time. */
export const pageSizes = [100, 97, 89, 83, 79] as const
/** A list that loses more than this share of its records at once is not believed. */
const suspiciousShare = 0.2
/** Below this many records a share means nothing. */
const suspiciousFrom = 100
/** Where all that is wrong is that ties hide records, readings are joined until none is missing, so often at most. */
const mostPasses = 25
/** Only lists of so many records are worth reading that often. */
const oftenUpTo = 5000
/** How often the first page is asked for again while it keeps showing something newer. */
const closingRounds = 12

interface Pass<P> {
  readonly number: number
  readonly perPage: number
  readonly descent: Pager<P>
  /** The book that all passes share; in the first pass it is the pass's own. */
  readonly joint: Book
  readonly own: Book
}

/**
 * Reads a list that moves while it is read, newest first, page by page, and says what it can claim. The argument is
 * in design.md, "The walk": a list can only have moved forward between two responses if `total_count` fell; then the
 * walk steps back. At the end the books are closed (books.ts); when they do not close, it walks again.
 */
export class Walk<P> {
  #part = 0
  #entered: Int64[] = []
  /** How far a resumed walk need not read again; it goes with the next page that is stored. */
  #progress: WalkProgress | undefined
  #ahead: WalkProgress['ahead']
  #steppedBack = false
  /** A reading whose numbers were even has to be joined by another before it counts. */
  #wasEven = false
  #newest = ''

  constructor(
    private readonly port: WalkPort<P>,
    private readonly plan: WalkPlan,
  ) {}

  /** Throws Skip when the list cannot be read or is not believed; progress is kept for the next run. */
  async run(): Promise<WalkOutcome> {
    const { pageSizes: sizes } = this.plan
    let joint: Book | undefined
    let outcome: WalkOutcome | undefined
    for (let i = 0; i < sizes.length || (joint && i < mostPasses && joint.balance().last <= oftenUpTo); i++) {
      const perPage = sizes[i % sizes.length] ?? 100
      const pass: { outcome: WalkOutcome; joint: Book | undefined } =
        (i === 0 ? await this.#resume(perPage) : undefined) ?? (await this.#pass(i + 1, perPage, joint))
      if (pass.outcome.verdict !== 'unproven') return pass.outcome
      this.port.note('The books of the walk do not close', { pass: i + 1, ...pass.outcome.books })
      joint = pass.joint && (pass.joint.isShort || pass.joint.standing() === 'even') ? pass.joint : undefined
      outcome = pass.outcome
    }
    if (!outcome) throw new Bug('A walk needs a page size')
    return outcome
  }

  /** How a pass reads down: its pages go through the books into the warehouse. */
  #begin(number: number, perPage: number, own: Book, joint: Book): Pass<P> {
    const books = new Set([own, joint])
    const descent: Pager<P> = new Pager<P>({
      perPage,
      fetch: (page, size) => this.port.fetch(page, size),
      // What was read out of order and did not close is read again in order.
      readAhead: () => (number === 1 ? this.port.readAhead() : 0),
      enter: (page, place, front): Promise<number> => this.#enter(pass, page, place, front),
      observe: (total) => Math.max(...[...books].map((book) => book.response(total, []).fell)),
      vouch: (page) => {
        own.ties.followHeld()
        this.#vouch(pass, page)
      },
      disown: () => {
        own.ties.dropHeld()
        this.#ahead = undefined
      },
      steppedBack: (details) => {
        this.#steppedBack = true
        this.port.note('Records were deleted while the list was read: stepping back', details)
      },
    })
    const pass: Pass<P> = { number, perPage, own, joint, descent }
    return pass
  }

  /** One reading of the whole list from its first page. */
  async #pass(
    number: number,
    perPage: number,
    before: Book | undefined,
  ): Promise<{ outcome: WalkOutcome; joint: Book | undefined }> {
    const first = await this.port.fetch(1, perPage)
    this.#refuseLoss(first.total, this.plan.expected ?? 0)
    if (first.totalPages <= 1 && first.records >= first.total)
      return { outcome: await this.#single(first, number), joint: before }
    const { floor } = this.plan
    const ceiling = newest(first.sightings) || floor
    const lateFrom = this.#lateFrom(ceiling)
    const isZoneSeen =
      lateFrom >= ceiling || first.sightings.some((s) => s.updatedAt !== '' && s.updatedAt <= lateFrom)
    const own = new Book({ floor, total: first.total, ceiling, lateFrom, isZoneSeen })
    const pass = this.#begin(number, perPage, own, before ?? own)
    pass.descent.showed(first)
    await this.#enter(pass, first, 'next')
    await pass.descent.run(2, first.totalPages)
    return { outcome: await this.#close(pass), joint: pass.joint }
  }

  #lateFrom(ceiling: string): string {
    return this.plan.nextFloor?.(ceiling) ?? ceiling
  }

  /** A list of one page is its own proof. */
  async #single(page: WalkPage<P>, number: number): Promise<WalkOutcome> {
    const outcome: WalkOutcome = {
      verdict: number > 1 ? 'repaired' : 'proven',
      ceiling: newest(page.sightings) || null,
      books: {
        first: page.total,
        last: page.total,
        distinct: new Set(page.sightings.map((s) => s.id)).size,
        entered: 0,
        fallen: 0,
      },
      reason: number > 1 ? 'read again' : null,
    }
    await this.port.store(page, { progress: null, outcome })
    return outcome
  }

  /** Goes on where an earlier process stopped; undefined when it has to start anew. */
  async #resume(perPage: number): Promise<{ outcome: WalkOutcome; joint: Book } | undefined> {
    const { resume, floor } = this.plan
    if (!resume || resume.progress.floor !== floor) return undefined
    // The total first: what is deleted from then on shows as a fall in the next page, and is stepped back for.
    const top = await this.port.fetch(1, 1)
    const { total } = top
    const progress = reached(resume.progress, listHeadOf(top))
    const newer = await this.port.countAfter(progress.boundary)
    if (isLoss(total, progress.last)) return undefined
    const book = Book.restored(floor, { ...resume, progress, lateFrom: this.#lateFrom(progress.ceiling) })
    this.#part = progress.part
    this.#newest = progress.ceiling
    if (book.response(total, []).fell > 0) this.#steppedBack = true
    // What lay behind the last page read lies behind it still, unless it was deleted or moved to the front since:
    // counted from the end, the place can only be too early. What is newer than the boundary was read in any case.
    const read = Math.max(newer, total - progress.below)
    const pages = Math.max(1, Math.ceil(Math.max(total, newer) / perPage))
    this.#progress = progress
    const pass = this.#begin(1, perPage, book, book)
    pass.descent.showed(top)
    const from = await this.#reach(pass, Math.min(Math.floor(read / perPage) + 1, pages), progress.boundary)
    this.port.note('Resuming a walk', { from, boundary: progress.boundary })
    await pass.descent.run(from, pages)
    return { outcome: await this.#close(pass), joint: book }
  }

  /** The two counts are not of one moment: where the list has moved between them, the page that begins in time is in front. */
  async #reach({ descent, perPage }: Pass<P>, from: number, boundary: string): Promise<number> {
    for (let k = from; ; k--) {
      const page = await this.port.fetch(k, perPage)
      if (k > 1 && newest(page.sightings) < boundary) continue
      descent.has(k, page)
      return k
    }
  }

  /** Enters a response into the books and stores it, with the progress that a resumed walk needs. */
  async #enter(pass: Pass<P>, page: WalkPage<P>, place: PagePlace, front?: ListHead): Promise<number> {
    const { own, joint } = pass
    this.#refuseLoss(page.total, own.balance().last)
    if (place === 'top') for (const book of new Set([own, joint])) book.surprise(page.sightings)
    // Totals that overlap in time have no order: a window's count when the list is looked at behind it.
    const total = place === 'window' ? own.balance().last : page.total
    const { fresh, created, fell } = own.response(total, page.sightings)
    this.#entered.push(...created)
    if (joint !== own) joint.response(place === 'window' ? joint.balance().last : page.total, page.sightings)
    const edges = edgesOf(page)
    if (edges && place === 'next' && fell === 0) own.ties.follow(edges)
    else if (edges) own.ties[place === 'window' ? 'hold' : 'glimpse'](edges)
    // After a fall, records may have slipped past in front of this page: progress stays where it was.
    if (place === 'next' && fell === 0) this.#vouch(pass, page)
    if (place === 'window')
      this.#ahead = front && page.total === front.total ? { ...front, ...this.#depth(pass, page) } : undefined
    const before = await this.port.store(page, pass.number === 1 ? this.#mark(fresh, own) : {})
    this.#entered.push(...own.judge(page.sightings, before))
    if (joint !== own) joint.judge(page.sightings, before)
    const top = newest(page.sightings)
    if (top > this.#newest) this.#newest = top
    return fell
  }

  /** Everything down to this page is read: a resumed walk may go on behind it. */
  #vouch(pass: Pass<P>, page: WalkPage<P>): void {
    const { floor, ceiling, ties } = pass.own
    const { first, last, fallen } = pass.own.balance()
    this.#ahead = undefined
    this.#progress = {
      floor,
      ceiling,
      first,
      last,
      fallen,
      tied: ties.found,
      doubts: pass.own.doubts,
      ...this.#depth(pass, page),
      part: this.#part,
    }
  }

  /** How far down a page lies. */
  #depth({ own, perPage }: Pass<P>, page: WalkPage<P>): Pick<WalkProgress, 'boundary' | 'below'> {
    const below = Math.max(0, page.total - page.page * perPage)
    return { boundary: oldest(page.sightings) || (this.#progress?.boundary ?? own.ceiling), below }
  }

  #mark(ids: readonly Int64[], { doubts }: Book): PageCommit {
    const number = ++this.#part
    const entered = this.#entered.splice(0)
    if (this.#progress) this.#progress = { ...this.#progress, doubts, part: number }
    const ahead = this.#ahead && { ahead: this.#ahead }
    return {
      ...(this.#progress && { progress: { ...this.#progress, ...ahead } }),
      part: { number, ids, entered },
    }
  }

  #refuseLoss(total: number, before: number): void {
    if (!isLoss(total, before)) return
    throw new Skip(`The source shows ${total} records where there were ${before}: not believed`, {
      reason: 'suspicious',
      hint: 'Expected no more than a fifth to vanish at once. Run the same command again; if they were really deleted, it starts from what is there then',
    })
  }

  /**
   * Closes the books: the first page once more, until it shows nothing newer than what was seen; what is newer is
   * read down to what was seen before. One request when nothing moved, two when something did.
   */
  async #close(pass: Pass<P>): Promise<WalkOutcome> {
    const { own, joint } = pass
    for (let round = 0; round < closingRounds; round++) {
      const page = await this.port.fetch(1, pass.perPage)
      const seen = this.#newest
      const news = page.sightings.some((s) => s.updatedAt > seen || own.isNews(s) || joint.isNews(s))
      if (!news) return this.#settle(pass, page)
      await this.#enter(pass, page, 'top')
      if (!page.sightings.some((s) => s.updatedAt < seen)) await pass.descent.run(2, page.totalPages, seen)
    }
    return outcomeOf(pass.own, 'unproven', 'the list never held still')
  }

  /** The last page shows nothing new: what do the books say? */
  async #settle(pass: Pass<P>, page: WalkPage<P>): Promise<WalkOutcome> {
    const { own, joint } = pass
    this.#refuseLoss(page.total, own.balance().last)
    const edges = edgesOf(page)
    for (const book of new Set([own, joint])) {
      book.surprise(page.sightings)
      if (edges) book.vanished(page.sightings, edges)
      book.response(page.total, page.sightings)
    }
    const outcome = this.#judge(pass)
    await this.port.store(page, outcome.verdict === 'unproven' ? {} : { progress: null, outcome })
    return outcome
  }

  #judge({ own, joint, number }: Pass<P>): WalkOutcome {
    const standing = own.standing()
    if (standing === 'closed' && number === 1 && !this.#steppedBack) return outcomeOf(own, 'proven', null)
    if (standing === 'closed')
      return outcomeOf(own, 'repaired', number > 1 ? 'read again' : 'resumed or stepped back')
    if (standing === 'complete')
      return outcomeOf(own, 'repaired', 'records were deleted meanwhile; stepped back')
    if (joint !== own && joint.standing() === 'closed')
      return outcomeOf(
        joint,
        'repaired',
        'records of one updated_at change their order; joined several readings',
      )
    if (standing === 'even' || joint.standing() === 'even')
      return this.#even(standing === 'even' ? own : joint)
    return outcomeOf(
      own,
      'unproven',
      own.ties.found ? 'records of one updated_at may hide behind each other' : 'the totals do not agree',
    )
  }

  /** Once might be a coincidence of three things; that two readings meet with one is not believed. */
  #even(book: Book): WalkOutcome {
    if (this.#wasEven) return outcomeOf(book, 'repaired', 'two readings agree')
    this.#wasEven = true
    return outcomeOf(
      book,
      'unproven',
      'the list moved among records of one updated_at, and was read but once',
    )
  }
}

const outcomeOf = (book: Book, verdict: WalkOutcome['verdict'], reason: string | null): WalkOutcome => ({
  verdict,
  ceiling: book.ceiling,
  books: book.balance(),
  reason,
})

const isLoss = (total: number, before: number): boolean =>
  before >= suspiciousFrom && total < before * (1 - suspiciousShare)
