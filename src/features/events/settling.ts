/*
 * What a walk settles. The events that wait for a cursor are read before the walk's first request; what they announced
 * has to be in the warehouse after it. An event itself changes no row: it leads to a walk and to requests by id, both
 * with the same code as in every run.
 */
import type { Int64 } from '../../../schema/resource.js'
import { Retry, Skip, Stop } from '../../engine/base/errors.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import type { AfterWalk, CursorRun } from '../../engine/run/tenant.js'
import { DeletedEvents, isOpenReason, openEvents } from './deletedevents.js'
import { type EventRow, type Settled, settleEvents, voidFrom, waitAgain, waitingOf } from './events.js'
import type { Inbox } from './inbox.js'
import { askUnlisted, unseenOf } from './notlisted.js'

/** Milliseconds until a walk looks again for an announced record that isn't there: a replica may lag. */
const pausesMs = [5_000, 30_000, 120_000, 600_000] as const

/** What limits the requests by id of a ring. A planned run takes the time that it needs. */
interface AskingLimits {
  /** How many requests may be sent now. */
  room(): number
  /** Called when events could not be settled for no known reason. */
  failed(): void
}

const unlimited: AskingLimits = { room: () => Number.POSITIVE_INFINITY, failed: () => {} }

/**
 * Called before each walk. Returns what to do when the walk is done; undefined if nothing waits. The walk is complete
 * and counts, whatever happens to its events: only what ends the whole run is thrown. An inbox that is damaged or that
 * belongs to another user ends none.
 */
export async function beforeWalk(
  inbox: Inbox,
  cursor: CursorRun,
  limits = unlimited,
): Promise<AfterWalk | undefined> {
  const begunAt = cursor.now()
  const waiting = await waitingOf(inbox, cursor.key).catch((error: unknown) => {
    if (cursor.signal.aborted) throw error
    tellTrouble(cursor, error)
    return []
  })
  if (waiting.length === 0) return undefined
  return async (floor) => {
    const settling = new Settling(inbox, cursor, { begunAt, floor }, limits)
    try {
      await settling.run(waiting)
    } catch (error) {
      if ((error instanceof Stop && !inbox.isOwn(error)) || cursor.signal.aborted) throw error
      tellTrouble(cursor, error)
      limits.failed()
      // Whatever is wrong may keep this from being stored, too.
      await settling.waitAgain(waiting, 'not_settled').catch(() => {})
    }
  }
}

const tellTrouble = ({ survived }: CursorRun, error: unknown): void =>
  survived(error, 'What events announced could not be settled; a later walk tries again')

/** A busy cursor is walked every few seconds: these walks leave out events that wait for a later check. */
const isDue = ({ due_at, tries }: EventRow, at: string): boolean =>
  due_at === null || due_at <= at || due_at > voidFrom(at) || Number(tries ?? 0) === 0

/** A source may answer by id in one way now and in another later: those tries count together. */
const triesFor = (reason: string, row: EventRow): number =>
  row.reason === reason || (isOpenReason(reason) && isOpenReason(row.reason)) ? Number(row.tries ?? 0) : 0

const isLastTry = (reason: string, row: EventRow): boolean => triesFor(reason, row) >= pausesMs.length

/** What one walk settles for one cursor. */
class Settling {
  constructor(
    private readonly inbox: Inbox,
    private readonly cursor: CursorRun,
    /** Where the walk started: in time, and in the list. */
    private readonly began: { readonly begunAt: string; readonly floor: string },
    private readonly limits: AskingLimits,
  ) {}

  async run(waiting: readonly EventRow[]): Promise<void> {
    const isOwn = ({ type }: EventRow): boolean => type === this.cursor.resource.resource.entity
    const own = waiting.filter(isOwn)
    const deleted = new Set(own.filter(isDeletion))
    const unseen = new Set(
      await unseenOf(
        this.cursor,
        own.filter((row) => !isDeletion(row)),
      ),
    )
    await this.#settle(
      waiting.filter((row) => !deleted.has(row) && !unseen.has(row)),
      { state: 'settled' },
    )
    const isDueNow = (row: EventRow): boolean => isDue(row, this.began.begunAt)
    const { again, over } = this.#tried([...unseen].filter(isDueNow))
    await this.waitAgain(again, 'not_listed')
    await this.#inTurn(over, (part) => this.#ask(part))
    await this.#delete([...deleted].filter(isDueNow))
  }

  /**
   * Requests what these events name, some records at a time, first those that were never requested. Each part is settled before the next is requested: what is
   * cut short, by a rate limit as well as by a signal, keeps what it has done. A ring always requests a first part, and
   * leaves the rest waiting when its room is used up. `ask` resolves to false if the rest need not be requested.
   */
  async #inTurn(rows: readonly EventRow[], ask: (part: EventRow[]) => Promise<boolean>): Promise<EventRow[]> {
    const left = byRecord(rows.toSorted((a, b) => Number(a.tries ?? 0) - Number(b.tries ?? 0)))
    for (let isFirst = true; left.length > 0; isFirst = false) {
      const room = Math.min(askedAtOnce, this.limits.room() - toConfirm)
      if (room < 1 && !isFirst) return []
      const part = left.splice(0, Math.max(1, room)).flat()
      try {
        if (!(await ask(part))) return left.flat()
      } catch (error) {
        if (error instanceof Stop || this.cursor.signal.aborted) throw error
        tellTrouble(this.cursor, error)
        // A source that refuses one part refuses the others.
        const isRefused = error instanceof Skip || error instanceof Retry
        const unasked = isRefused ? [...part, ...left.splice(0).flat()] : part
        await this.#stayOpen(new Map(openEvents(unasked)))
      }
    }
    return []
  }

  /** If no answer ever says anything about a record, it is requested as often as an unlisted record is looked for. */
  async #stayOpen(open: ReadonlyMap<EventRow, string>): Promise<void> {
    for (const reason of new Set(open.values())) {
      const rows = [...open.keys()].filter((row) => open.get(row) === reason)
      const over = rows.filter((row) => isLastTry(reason, row))
      await this.#settle(over.filter(isDeletion), { state: 'left', reason })
      await this.#settle(
        over.filter((row) => !isDeletion(row)),
        { state: 'unseen', reason },
      )
      await this.waitAgain(
        rows.filter((row) => !isLastTry(reason, row)),
        reason,
      )
    }
  }

  /** Which of these a later walk looks for again, and for which that is over. */
  #tried(rows: readonly EventRow[]) {
    const isOver = (row: EventRow): boolean => isOpenReason(row.reason) || isLastTry('not_listed', row)
    return { over: rows.filter(isOver), again: rows.filter((row) => !isOver(row)) }
  }

  /** Requests records by id that no walk has shown. */
  async #ask(over: readonly EventRow[]): Promise<boolean> {
    const { absent, stored, unseen, open } = await askUnlisted(this.cursor, this.began.floor, over)
    await this.#settle(stored, { state: 'settled', reason: 'not_listed' })
    await this.#settle(unseen, { state: 'unseen', reason: 'not_listed' })
    await this.#stayOpen(open)
    await this.#delete(absent)
    return true
  }

  /** `rows`: events of deletions, and those whose record was requested by id and doesn't exist. */
  async #delete(rows: readonly EventRow[]): Promise<void> {
    const deletions = new DeletedEvents(this.cursor)
    const live = new Set(await deletions.ofLive(rows))
    await this.#notLive(rows.filter((row) => !live.has(row)))
    let why = ''
    const rest = await this.#inTurn([...live], async (part) => {
      const { deleted, left, notLive, exists, open } = await deletions.ask(part)
      await this.#notLive(notLive)
      await this.#settle(deleted, { state: 'deleted' })
      await this.#exist(exists)
      await this.#stayOpen(open)
      if (!left || left.rows.length === 0) return true
      await this.#settle(left.rows, { state: 'left', reason: left.reason })
      why = left.reason
      return false
    })
    // What can't be believed of some records can't be believed of more: they aren't requested.
    await this.#settle(rest, { state: 'left', reason: why })
  }

  async #notLive(rows: readonly EventRow[]): Promise<void> {
    await this.#settle(rows.filter(isDeletion), { state: 'settled' })
    await this.#settle(
      rows.filter((row) => !isDeletion(row)),
      { state: 'unseen', reason: 'not_listed' },
    )
  }

  async #exist(rows: readonly EventRow[]): Promise<void> {
    await this.#settle(
      rows.filter((row) => !isDeletion(row)),
      { state: 'unseen', reason: 'not_listed' },
    )
    const there = rows.filter(isDeletion)
    const isOver = (row: EventRow): boolean => isLastTry('exists', row)
    await this.#settle(there.filter(isOver), { state: 'exists' })
    await this.waitAgain(
      there.filter((row) => !isOver(row)),
      'exists',
    )
  }

  #settle(rows: readonly EventRow[], settled: Settled): Promise<void> {
    const { warehouse } = this.cursor
    return settleEvents(this.inbox, rows, { ...settled, runId: warehouse.runId, at: this.cursor.now() })
  }

  /** Lets events wait for a later walk, longer each time. */
  async waitAgain(rows: readonly EventRow[], reason: string): Promise<void> {
    const now = this.cursor.run.clock.nowMicros()
    for (const tries of new Set(rows.map((row) => triesFor(reason, row)))) {
      const pause = pausesMs[Math.min(tries, pausesMs.length - 1)] ?? 0
      const dueAt = fromMicros(now + BigInt(pause) * 1000n)
      const alike = rows.filter((row) => triesFor(reason, row) === tries)
      await waitAgain(this.inbox, alike, { reason, tries: tries + 1, dueAt })
    }
  }
}

/** How many records are requested before their events are settled. */
const askedAtOnce = 24
/** How many more requests it may take to see that the source answers by id. */
const toConfirm = 2

const isDeletion = ({ action }: EventRow): boolean => action === 'deleted'

function byRecord(rows: readonly EventRow[]): EventRow[][] {
  const found = new Map<Int64, EventRow[]>()
  for (const row of rows) {
    const its = found.get(row.record_id)
    if (its) its.push(row)
    else found.set(row.record_id, [row])
  }
  return [...found.values()]
}
