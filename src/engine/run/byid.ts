/*
 * The one way to request records by id. It decides whether the source answers by id at all: sources refuse it with 404,
 * 400, 403, 405, 406, 501 or with a page for people, and every one of these may also concern a single record. So if a
 * record isn't shown, one that the list has just shown is requested. If that one is shown, the answer concerned the
 * record. If it isn't, nor another one, and the list still shows them, the source doesn't answer by id, which is
 * remembered for a week.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Clock, Stamps } from '../base/clock.js'
import { mapLimited } from '../base/eachlimited.js'
import { addMicros, fromMicros } from '../base/timestamp.js'
import { epoch } from '../list/cutpoint.js'
import { type CursorKey, moveCursor } from '../warehouse/state/cursors.js'
import type { Warehouse, Writer } from '../warehouse/warehouse.js'
import type { AnswerById } from './answerbyid.js'
import type { CursorList } from './cursorlist.js'
import { type CursorRun, now } from './tenant.js'

/** `askedAt`: the stamp of the request. */
type StampedAnswer = AnswerById & { readonly askedAt: string }

interface ByIdParts {
  readonly list: CursorList
  readonly stamps: Stamps
  now(): string
  /** When the source was last found not to answer by id for this list. */
  readonly refusedAt: string | null | undefined
  /** Remembers it, or that the source answers again. Absent for a command that only reads. */
  remember?(refusedAt: string | null): Promise<void>
}

/** How many requests for single records run at once. */
const together = 8

/** Of more records than this, a first part shows whether the rest is worth requesting; of fewer, it costs too much. */
const few = 25

/** How many listed records to choose one from that isn't itself in question, and can be stored. */
const newest = 10

/** How often to look for one: in what the list showed before, then in lists that show what has gone meanwhile. */
const mostLooks = 4

const week = 7n * 86_400_000_000n

export class ById {
  /** Whether the source answers by id; undefined until it was tried. */
  #isOffered: boolean | undefined
  /** A record was shown: whatever else it refuses, the source answers by id. */
  #hasShown = false
  #refusedAt: string | null

  constructor(private readonly parts: ByIdParts) {
    this.#refusedAt = parts.refusedAt ?? null
    const now = parts.now()
    // A time ahead of the clock was taken from a wrong one.
    const isRecent =
      this.#refusedAt !== null && this.#refusedAt <= now && this.#refusedAt > addMicros(now, -week)
    this.#isOffered = isRecent ? false : undefined
  }

  /** Whether the source has shown that it answers by id. */
  get isOffered(): boolean {
    return this.#isOffered === true
  }

  get #isRefused(): boolean {
    return this.#isOffered === false
  }

  /** Requests each record once. If the source doesn't answer by id, that costs a few requests and not one per record. */
  async ask(ids: readonly Int64[]): Promise<{
    /** Without it, the answers of records that weren't shown mean nothing, and some records weren't requested. */
    readonly isOffered: boolean
    readonly answers: ReadonlyMap<Int64, StampedAnswer>
  }> {
    const answers = new Map<Int64, StampedAnswer>()
    if (this.#isRefused) return { isOffered: false, answers }
    const parts = this.#isOffered || ids.length <= few ? [ids] : [ids.slice(0, together), ids.slice(together)]
    let isSure = true
    for (const part of parts.filter(({ length }) => length > 0)) {
      const found = await this.each(part)
      for (const [id, answer] of found) answers.set(id, answer)
      const asked = [...found.values()]
      // Afterwards: a tenant that was revoked meanwhile answers 404 too.
      const isDoubtful = asked.some(({ kind }) => kind === 'gone' || kind === 'unread' || !this.isOffered)
      isSure = !isDoubtful || (await this.#isListedShown(answers))
      if (this.#isRefused) break
    }
    return { isOffered: isSure, answers }
  }

  /**
   * Requests each record, and nothing to find out what a 404 means: for callers who leave that to someone else. Requests
   * nothing while it is known that the source doesn't answer by id.
   */
  async each(ids: readonly Int64[]): Promise<ReadonlyMap<Int64, StampedAnswer>> {
    if (this.#isRefused) return new Map()
    const asked = await mapLimited(ids, together, async (id) => [id, await this.#one(id)] as const)
    if (asked.some(([, { kind }]) => kind === 'record')) await this.#shown()
    return new Map(asked)
  }

  async #one(id: Int64): Promise<StampedAnswer> {
    const askedAt = fromMicros(this.parts.stamps.next())
    return { ...(await this.parts.list.item(id)), askedAt }
  }

  async #shown(): Promise<void> {
    this.#isOffered = true
    this.#hasShown = true
    if (this.#refusedAt !== null) await this.parts.remember?.(null)
    this.#refusedAt = null
  }

  /**
   * Requests other records that the list shows. One that isn't shown may be refused for its own sake, or be deleted by
   * now. So it takes two, if the list has two, of which the list still shows one afterwards: a wrong answer would last a
   * week.
   */
  async #isListedShown(asked: ReadonlyMap<Int64, StampedAnswer>): Promise<boolean> {
    const { list } = this.parts
    const notShown = new Set<Int64>()
    let answer: AnswerById | undefined
    let isStillListed = false
    for (let look = 0; look < mostLooks; look++) {
      const listed = look > 0 ? await this.#newest() : list.probeId === undefined ? [] : [list.probeId]
      isStillListed ||= listed.some((id) => notShown.has(id))
      const isEnough = (): boolean => isStillListed && notShown.size > 1
      const id = isEnough() ? undefined : listed.find((one) => !asked.has(one) && !notShown.has(one))
      if (id !== undefined) {
        answer = await list.item(id)
        if (answer.kind === 'record') {
          await this.#shown()
          return true
        }
        notShown.add(id)
      }
      if (isEnough() || (look > 0 && id === undefined)) break
    }
    // The source is away, so nothing is known about any of the records.
    if (answer?.kind === 'unread') throw answer.error
    if (isStillListed) await this.#refused()
    return false
  }

  async #refused(): Promise<void> {
    this.#isOffered = false
    if (this.#hasShown) return
    this.#refusedAt = this.parts.now()
    await this.parts.remember?.(this.#refusedAt)
  }

  async #newest(): Promise<readonly Int64[]> {
    const { observed } = await this.parts.list.fetch(epoch, 1, newest)
    // A record without a usable version goes by a text.
    return observed.flatMap(({ id }) => (typeof id === 'string' ? [] : [id]))
  }
}

/** For a command that a person typed to have records requested: it asks again, whatever is remembered. */
export const byIdNow = ({ stamps, clock }: { stamps: Stamps; clock: Clock }, list: CursorList): ById =>
  new ById({ list, stamps, now: () => now({ clock }), refusedAt: null })

async function remember(warehouse: Writer, key: CursorKey, at: string | null): Promise<void> {
  await warehouse.write([moveCursor(warehouse.db, key, { by_id_refused_at: at })])
}

const partsOf = (cursor: CursorRun<Warehouse>, list: CursorList): ByIdParts => ({
  list,
  stamps: cursor.run.stamps,
  now: () => cursor.now(),
  refusedAt: cursor.state?.by_id_refused_at,
})

/** For a cursor's work that only reads. */
export const readingById = (cursor: CursorRun<Warehouse>, list: CursorList): ById =>
  new ById(partsOf(cursor, list))

export const byIdOf = (cursor: CursorRun, list: CursorList): ById => {
  const { key, warehouse } = cursor
  return new ById({ ...partsOf(cursor, list), remember: (at) => remember(warehouse, key, at) })
}
