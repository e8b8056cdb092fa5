/*
 * Queries the source about rows that its list doesn't show, and about records whose rows have vanished. `reconcile` and
 * `verify` use it before anything counts as deleted.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Stamps } from '../../engine/base/clock.js'
import { mapLimited } from '../../engine/base/eachlimited.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import type { Candidate } from '../../engine/compare/comparison.js'
import type { CursorList } from '../../engine/run/cursorlist.js'
import { mayBeOfRecords } from '../../engine/run/isolate.js'
import type { Note } from '../../engine/run/runreport.js'
import type { Fetched } from '../../engine/run/store.js'
import { countAfter } from '../../engine/walk/count.js'
import { cutBefore, cutPoint, epoch } from '../../engine/walk/cutpoint.js'
import { RangeWalk } from '../../engine/walk/range.js'
import type { WalkPage } from '../../engine/walk/types.js'
import type { GoneRow } from './tombstone.js'

/** The source's answers about rows that its list doesn't show. */
export interface Confirmed {
  readonly gone: readonly GoneRow[]
  /** Records that exist: they moved, or the list had hidden them. */
  readonly moved: readonly Fetched[]
}

/** The same for records requested by id. */
interface AskedById extends Confirmed {
  /** Records that break the response. */
  readonly unread: readonly Int64[]
  readonly isById: boolean
}

/** How many requests for single records run at once. */
const together = 8

/**
 * Requests each row missing from a list by id. A 404 only counts if the source answers by id at all: a record that a
 * list has just shown is requested afterwards. If that one isn't found either, a second list decides: a row counts as
 * gone if it is also missing when the part of the list with its second is read again.
 */
export class Confirmation {
  /** Whether the source answers by id; undefined until it was tried. */
  #byId: boolean | undefined

  constructor(
    private readonly list: CursorList,
    private readonly stamps: Stamps,
    private readonly note: Note,
    /** Whether some records of the list break every response: they may do so by id, too. */
    private readonly hasHoles: () => boolean = () => false,
  ) {}

  /** Whether the source answers by id. */
  get isById(): boolean {
    return this.#byId === true
  }

  async ask(candidates: readonly Candidate[]): Promise<Confirmed> {
    if (this.#byId === false) return this.#readAgain(candidates)
    const { gone, moved, isById } = await this.byId(candidates)
    if (isById) return { gone, moved }
    this.note(
      'The source does not answer by id; a record that a second listing also lacks counts as deleted',
      {},
    )
    const asked = new Map(candidates.map((candidate) => [candidate.id, candidate]))
    const second = await this.#readAgain(gone.flatMap(({ id }) => asked.get(id) ?? []))
    return { gone: second.gone, moved: [...moved, ...second.moved] }
  }

  /** Requests by id, and nothing else. Without `isById`, the source doesn't answer by id, and a 404 means nothing. */
  async byId(candidates: readonly Candidate[]): Promise<AskedById> {
    const [gone, moved, unread]: [GoneRow[], Fetched[], Int64[]] = [[], [], []]
    const answers = await mapLimited(candidates, together, (candidate) => this.#item(candidate))
    for (const [i, answer] of answers.entries()) {
      if (!answer) unread.push(...candidates.slice(i, i + 1).map(({ id }) => id))
      else if ('flattened' in answer) moved.push(answer)
      else gone.push(answer)
    }
    if (moved.length > 0) this.#byId = true
    const isById = gone.length === 0 || (await this.#answersById())
    if (gone.length > 0) this.#byId = isById
    return { gone, moved, unread, isById }
  }

  /** Fetches records whose rows have vanished from the warehouse. undefined: the source doesn't answer by id. */
  async find(ids: readonly Int64[]): Promise<Fetched[] | undefined> {
    const items = await mapLimited(ids, together, (id) => this.list.item(id))
    const found = items.flatMap((item) => item ?? [])
    if (found.length > 0) this.#byId = true
    return found.length === ids.length || (await this.#answersById()) ? found : undefined
  }

  /** undefined: the record breaks the response by id as it breaks its page. */
  async #item({ id, updatedAt }: Candidate): Promise<GoneRow | Fetched | undefined> {
    const askedAt = fromMicros(this.stamps.next())
    try {
      return (await this.list.item(id)) ?? { id, updatedAt, askedAt }
    } catch (error) {
      if (this.hasHoles() && mayBeOfRecords(error)) return undefined
      throw error
    }
  }

  /** The version of each record by id, requested twice with a pause in between; undefined if there is none. */
  async twice(
    ids: readonly Int64[],
    pause: () => Promise<void>,
  ): Promise<{ readonly id: Int64; readonly first?: Fetched; readonly second?: Fetched }[]> {
    const first = await mapLimited(ids, together, (id) => this.list.item(id))
    await pause()
    const second = await mapLimited(ids, together, (id) => this.list.item(id))
    return ids.map((id, i) => {
      const [one, other] = [first[i], second[i]]
      return { id, ...(one && { first: one }), ...(other && { second: other }) }
    })
  }

  /** Requests a record that exists; twice, since the first may just have been deleted. */
  async #answersById(): Promise<boolean> {
    for (let attempt = 0; attempt < 2; attempt++) {
      const probeId = attempt === 0 ? this.list.probeId : await this.#newestId()
      if (probeId !== undefined && (await this.list.item(probeId))) return true
    }
    return false
  }

  async #newestId(): Promise<Int64 | undefined> {
    await this.list.fetch(epoch, 1, 1)
    return this.list.probeId
  }

  /** The second list: the newest records first, since a record that moved is there; then each row's second. */
  async #readAgain(candidates: readonly Candidate[]): Promise<Confirmed> {
    const newest = await this.list.fetch(epoch, 1, 100)
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
    const port = { fetch, take, reached: async () => {}, readAhead: () => 0, note: this.note }
    const newer = await countAfter(port, until)
    const total = await countAfter(port, after)
    const outcome = await new RangeWalk(port, { after, until, newer, total }).run()
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
