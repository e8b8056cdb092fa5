import type { Int64 } from '../../../schema/resource.js'
import type { Stamps } from '../../clock.js'
import type { Candidate } from '../../compare/comparison.js'
import { fromMicros } from '../../timestamp.js'
import { countAfter } from '../../walk/count.js'
import { cutBefore, cutPoint, epoch } from '../../walk/cutpoint.js'
import { RangeWalk } from '../../walk/range.js'
import type { WalkPage } from '../../walk/types.js'
import type { CursorList, Fetched } from '../walks/list.js'
import type { GoneRow } from './tombstone.js'

/** What the source said of rows that its list does not show. */
export interface Confirmed {
  readonly gone: readonly GoneRow[]
  /** Records that exist: they have moved, or the list had hidden them. */
  readonly moved: readonly Fetched[]
}

/** Requests for single records that are under way at once. */
const together = 8

/**
 * Asks the source itself about each row that a list did not show. A 404 counts only if the source answers by id at all:
 * one record that a list has just shown is asked for after the others. Where it is not found either, the list of the
 * very second at which the record stood is read once more, and that has to miss it too.
 */
export class Confirmation {
  readonly #list: CursorList
  readonly #stamps: Stamps
  readonly #note: (message: string, fields: Record<string, unknown>) => void
  /** Whether the source answers by id; undefined until it was tried. */
  #byId: boolean | undefined

  constructor(parts: {
    readonly list: CursorList
    readonly stamps: Stamps
    readonly note: (message: string, fields: Record<string, unknown>) => void
  }) {
    this.#list = parts.list
    this.#stamps = parts.stamps
    this.#note = parts.note
  }

  async ask(candidates: readonly Candidate[]): Promise<Confirmed> {
    if (this.#byId === false) return this.#again(candidates)
    const gone: GoneRow[] = []
    const moved: Fetched[] = []
    for (let i = 0; i < candidates.length; i += together) {
      const part = candidates.slice(i, i + together)
      const answers = await Promise.all(part.map((candidate) => this.#item(candidate)))
      for (const answer of answers) 'flattened' in answer ? moved.push(answer) : gone.push(answer)
    }
    if (moved.length > 0) this.#byId = true
    if (gone.length === 0) return { gone, moved }
    if (await this.#answersById()) return { gone, moved }
    this.#byId = false
    this.#note('The source does not answer by id: what a second list misses too counts as deleted', {})
    const asked = new Map(candidates.map((candidate) => [candidate.id, candidate]))
    const second = await this.#again(gone.flatMap(({ id }) => asked.get(id) ?? []))
    return { gone: second.gone, moved: [...moved, ...second.moved] }
  }

  /** Fetches what has vanished from the warehouse. undefined: the source does not answer by id. */
  async find(ids: readonly Int64[]): Promise<Fetched[] | undefined> {
    const found: Fetched[] = []
    for (let i = 0; i < ids.length; i += together) {
      const items = await Promise.all(ids.slice(i, i + together).map((id) => this.#list.item(id)))
      for (const item of items) if (item) found.push(item)
    }
    if (found.length > 0) this.#byId = true
    return found.length === ids.length || (await this.#answersById()) ? found : undefined
  }

  async #item({ id, updatedAt }: Candidate): Promise<GoneRow | Fetched> {
    const askedAt = fromMicros(this.#stamps.next())
    return (await this.#list.item(id)) ?? { id, updatedAt, askedAt }
  }

  /** Asks for a record that exists; twice, since it may be deleted just now. */
  async #answersById(): Promise<boolean> {
    for (let attempt = 0; attempt < 2; attempt++) {
      const witness: Int64 | undefined = attempt === 0 ? this.#list.witness : await this.#front()
      if (witness !== undefined && (await this.#list.item(witness))) return true
    }
    return false
  }

  async #front(): Promise<Int64 | undefined> {
    await this.#list.fetch(epoch, 1, 1)
    return this.#list.witness
  }

  /** The second list: first of what is newest, where a record is that has moved, then of where each stood. */
  async #again(candidates: readonly Candidate[]): Promise<Confirmed> {
    const front = await this.#list.fetch(epoch, 1, 100)
    const gone: GoneRow[] = []
    const moved: Fetched[] = [front.payload]
    for (const group of inSeconds(candidates)) {
      const { shown, askedAt, isSure } = await this.#second(group[0]?.updatedAt ?? '', moved)
      for (const { id, updatedAt } of group)
        if (isSure && !shown.has(id)) gone.push({ id, updatedAt, askedAt })
    }
    return { gone, moved }
  }

  async #second(time: string, moved: Fetched[]) {
    const [after, until] = [cutBefore(time), cutPoint(time)]
    const shown = new Set<Int64 | string>()
    let askedAt = ''
    const fetch = async (from: string, page: number, perPage: number): Promise<WalkPage<Fetched>> => {
      const answer = await this.#list.fetch(from, page, perPage)
      if (from === after && (askedAt === '' || answer.payload.startedAt < askedAt))
        askedAt = answer.payload.startedAt
      return answer
    }
    const take = async (page: WalkPage<Fetched>): Promise<void> => {
      for (const { id } of page.sightings) shown.add(id)
      moved.push(page.payload)
    }
    const port = { fetch, take, reached: async () => {}, readAhead: () => 0, note: this.#note }
    const newer = await countAfter(port, until)
    const total = await countAfter(port, after)
    const outcome = await new RangeWalk(port, { after, until, newer, total }).run()
    return { shown, askedAt, isSure: outcome.verdict !== 'unproven' }
  }
}

/** Candidates of one second each, newest first. */
function inSeconds(candidates: readonly Candidate[]): Candidate[][] {
  const groups = new Map<string, Candidate[]>()
  for (const candidate of candidates) {
    const second = cutPoint(candidate.updatedAt)
    groups.set(second, [...(groups.get(second) ?? []), candidate])
  }
  return [...groups].sort(([a], [b]) => (a < b ? 1 : -1)).map(([, group]) => group)
}
