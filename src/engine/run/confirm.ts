/*
 * Queries the source about rows that its list doesn't show, and about records whose rows have vanished. `reconcile` and
 * `verify` use it before anything counts as deleted.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Candidate } from '../compare/comparison.js'
import { countAfter } from '../list/count.js'
import { cutBefore, cutPoint, epoch } from '../list/cutpoint.js'
import { largestOf } from '../list/pagesize.js'
import { RangeWalk } from '../list/range.js'
import type { List, WalkPage } from '../list/types.js'
import type { Fetched } from '../warehouse/store/versionbatch.js'
import type { UnclearAnswer } from './answerbyid.js'
import type { ById } from './byid.js'
import type { CursorList } from './cursorlist.js'
import type { Note } from './runreport.js'
import type { GoneRow } from './tombstone.js'

/** The records that these answers show. */
export const idsOf = (answers: readonly Fetched[]): Int64[] =>
  answers.flatMap(({ flattened }) => flattened.records.map(({ id }) => id))

/** The source's answers about rows that its list doesn't show. */
interface Confirmed {
  readonly gone: readonly GoneRow[]
  /** Records that exist: they moved, or the list had hidden them. */
  readonly moved: readonly Fetched[]
}

/**
 * Requests each row missing from a list by id. If the source doesn't answer by id, a second list decides: a row counts
 * as gone if it is also missing when the part of the list with its second is read again.
 *
 * An answer that says nothing about a record leaves its row as it is, and the comparison unproven, even if it is the
 * source's way to say that the record is gone. No sync brings back a row that was marked deleted by mistake, because its
 * list doesn't show the record. A row that was left by mistake is reported by every reconcile.
 */
export class Confirmation {
  /** Each is requested once. */
  readonly #unclear = new Map<Int64, UnclearAnswer>()

  constructor(
    private readonly list: CursorList,
    private readonly byId: ById,
    private readonly options: {
      readonly note: Note
      /** Whether some records of the list break every response: they may do so by id, too. */
      readonly hasHoles?: () => boolean
    },
  ) {}

  /** Whether the source has shown that it answers by id. */
  get isById(): boolean {
    return this.byId.isOffered
  }

  /** Rows that were left as they are because the answer says nothing about their records. */
  get unclear(): ReadonlyMap<Int64, UnclearAnswer> {
    return this.#unclear
  }

  async ask(candidates: readonly Candidate[]): Promise<Confirmed> {
    const open = candidates.filter(({ id }) => !this.#unclear.has(id))
    const { gone, moved, unclear, isById } = await this.askById(open)
    if (isById) {
      for (const [id, answer] of unclear)
        if (answer.kind !== 'unread' || !this.options.hasHoles?.()) this.#unclear.set(id, answer)
      return { gone, moved }
    }
    this.options.note(
      'The source does not answer by id; a record that a second listing also lacks counts as deleted',
      {},
    )
    const shown = new Set(moved.flatMap(({ flattened }) => flattened.records.map(({ id }) => id)))
    const second = await this.#readAgain(open.filter(({ id }) => !shown.has(id)))
    return { gone: second.gone, moved: [...moved, ...second.moved] }
  }

  /** Requests by id, and nothing else. */
  async askById(candidates: readonly Candidate[]): Promise<
    Confirmed & {
      /** Records about which the answer says nothing: refused, for example. */
      readonly unclear: ReadonlyMap<Int64, UnclearAnswer>
      /** Whether the source answers by id. Without it, nothing is gone or unclear, and some records weren't requested. */
      readonly isById: boolean
    }
  > {
    const [gone, moved]: [GoneRow[], Fetched[]] = [[], []]
    const unclear = new Map<Int64, UnclearAnswer>()
    const { answers, isOffered: isById } = await this.byId.ask(candidates.map(({ id }) => id))
    for (const { id, updatedAt } of candidates) {
      const answer = answers.get(id)
      if (answer?.kind === 'record') moved.push(answer.fetched)
      else if (answer?.kind === 'gone') gone.push({ id, updatedAt, askedAt: answer.askedAt })
      else if (answer) unclear.set(id, answer)
    }
    return isById ? { gone, moved, unclear, isById } : { gone: [], moved, unclear: new Map(), isById }
  }

  /**
   * Fetches records whose rows have vanished from the warehouse. undefined: not every answer shows whether the record
   * exists, so the list has to.
   */
  async find(ids: readonly Int64[]): Promise<Fetched[] | undefined> {
    const { answers, isOffered } = await this.byId.ask(ids)
    const all = [...answers.values()]
    if (!isOffered || all.some(({ kind }) => kind !== 'record' && kind !== 'gone')) return undefined
    return all.flatMap((answer) => (answer.kind === 'record' ? [answer.fetched] : []))
  }

  /** The version of each record by id, requested twice with a pause in between; undefined if there is none. */
  async twice(
    ids: readonly Int64[],
    pause: () => Promise<void>,
  ): Promise<
    { readonly id: Int64; readonly first?: Fetched | undefined; readonly second?: Fetched | undefined }[]
  > {
    const first = await this.byId.ask(ids)
    if (!first.isOffered) return ids.map((id) => ({ id }))
    await pause()
    const second = await this.byId.ask(ids)
    return ids.map((id) => {
      const [one, other] = [first.answers.get(id), second.answers.get(id)]
      return {
        id,
        first: one?.kind === 'record' ? one.fetched : undefined,
        second: other?.kind === 'record' ? other.fetched : undefined,
      }
    })
  }

  /** The second list: the newest records first, since a record that moved is there; then each row's second. */
  async #readAgain(candidates: readonly Candidate[]): Promise<Confirmed> {
    const newest = await this.list.fetch(epoch, 1, largestOf(this.list.pageSizes))
    const gone: GoneRow[] = []
    const moved: Fetched[] = [newest.payload]
    for (const group of inSeconds(candidates)) {
      const { shown, askedAt, isSure } = await this.#readSecond(group[0]?.updatedAt ?? '', moved)
      for (const { id, updatedAt } of group)
        if (isSure && !shown.has(id)) gone.push({ id, updatedAt, askedAt })
    }
    return { gone, moved }
  }

  /** The records of one second. Adds its pages to `moved`. */
  async #readSecond(time: string, moved: Fetched[]) {
    const [after, until] = [cutBefore(time), cutPoint(time)]
    const shown = new Set<Int64 | string>()
    let askedAt = ''
    const fetch = async (from: string, page: number, perPage: number): Promise<WalkPage<Fetched>> => {
      const answer = await this.list.fetch(from, page, perPage)
      if (from === after && (askedAt === '' || answer.payload.startedAt < askedAt))
        askedAt = answer.payload.startedAt
      return answer
    }
    const take = async (page: WalkPage<Fetched>): Promise<void> => {
      for (const { id } of page.observed) shown.add(id)
      moved.push(page.payload)
    }
    const { pageSizes } = this.list
    const list: List<Fetched> = {
      fetch: (page, perPage) => fetch(after, page, perPage),
      countAfter: (t) => countAfter({ fetch }, t),
      readAhead: () => 0,
      note: this.options.note,
    }
    const newer = await list.countAfter(until)
    const total = await list.countAfter(after)
    const outcome = await new RangeWalk(list, { take }, { pageSizes, after, until, newer, total }).run()
    return { shown, askedAt, isSure: outcome.verdict !== 'unproven' }
  }
}

/** Candidates grouped by second, newest first. */
function inSeconds(candidates: readonly Candidate[]): Candidate[][] {
  const groups = new Map<string, Candidate[]>()
  for (const candidate of candidates) {
    const second = cutPoint(candidate.updatedAt)
    groups.set(second, [...(groups.get(second) ?? []), candidate])
  }
  return [...groups].sort(([a], [b]) => (a < b ? 1 : -1)).map(([, group]) => group)
}
