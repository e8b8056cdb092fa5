/*
 * What a walk settles. The events that wait for a cursor are read before the walk's first request; what they announced
 * has to be in the warehouse after it. An event itself changes no row: it leads to a walk and to requests by id, both
 * with the same code as in every run.
 */
import type { Int64 } from '../../../schema/resource.js'
import { Retry, Skip } from '../../engine/base/errors.js'
import { fromMicros, toMicros } from '../../engine/base/timestamp.js'
import type { AfterWalk, CursorRun } from '../../engine/run/tenant.js'
import { rootTable } from '../../engine/warehouse/database.js'
import type { LeasedWarehouse } from '../../engine/warehouse/leasedwarehouse.js'
import { DeletedEvents } from './deletedevents.js'
import type { Inbox } from './inbox.js'
import { askUnlisted } from './notlisted.js'
import { type EventRow, isOlder, type Settled, settleEvents, waitAgain, waitingOf } from './waiting.js'

type Cursor = CursorRun<LeasedWarehouse>

/** Milliseconds until a walk looks again for an announced record that isn't there: a replica may lag. */
export const pausesMs = [5_000, 30_000, 120_000, 600_000] as const

/** How far ahead of the source's clock an announced version may be. Beyond that, it means nothing. */
const aheadMicros = 60_000_000n

/** The record in the warehouse. */
interface Kept {
  readonly updatedAt: string
  readonly isDeleted: boolean
}

/** Called before each walk. Returns what to do when the walk is done; undefined if nothing waits. */
export async function beforeWalk(inbox: Inbox, cursor: Cursor): Promise<AfterWalk | undefined> {
  const begunAt = cursor.now()
  const waiting = await waitingOf(inbox, cursor.key)
  if (waiting.length === 0) return undefined
  return (floor) => new Settling(inbox, cursor, { begunAt, floor }).run(waiting)
}

/** Where a walk started: in the list, and in time. */
interface WalkBegan {
  readonly begunAt: string
  readonly floor: string
}

/** A busy cursor is walked every few seconds: these walks leave out events that wait for a later check. */
const isDue = ({ due_at, tries }: EventRow, at: string): boolean =>
  due_at === null || due_at <= at || Number(tries ?? 0) === 0

const triesFor = (reason: string, row: EventRow): number =>
  row.reason === reason ? Number(row.tries ?? 0) : 0

const isLastTry = (reason: string, row: EventRow): boolean => triesFor(reason, row) >= pausesMs.length

/** What one walk settles for one cursor. */
class Settling {
  constructor(
    private readonly inbox: Inbox,
    private readonly cursor: Cursor,
    private readonly began: WalkBegan,
  ) {}

  async run(waiting: readonly EventRow[]): Promise<void> {
    const isOwn = ({ type }: EventRow): boolean => type === this.cursor.resource.resource.entity
    const own = waiting.filter(isOwn)
    const deleted = own.filter(({ action }) => action === 'deleted')
    const announced = own.filter(({ action }) => action !== 'deleted')
    const unseen = await this.#unseen(announced)
    const seen = waiting.filter((row) => !deleted.includes(row) && !unseen.includes(row))
    await this.#settle(seen, { state: 'settled' })
    const { again, over } = this.#tried(unseen.filter((row) => isDue(row, this.began.begunAt)))
    await this.#waitAgain(again, 'not_listed')
    const gone = await this.#asking(over, () => this.#ask(over))
    const asked = [...deleted.filter((row) => isDue(row, this.began.begunAt)), ...(gone ?? [])]
    await this.#asking(asked, () => this.#delete(asked))
  }

  /** The walk is complete and counts: what could not be requested is requested after a later walk. */
  async #asking<T>(rows: readonly EventRow[], ask: () => Promise<T>): Promise<T | undefined> {
    if (rows.length === 0) return undefined
    try {
      return await ask()
    } catch (error) {
      if (!(error instanceof Skip || error instanceof Retry)) throw error
      this.cursor.warn('Could not fetch what events announced; a later walk tries again', {
        error: error.message,
      })
      await this.#notAsked(rows)
      return undefined
    }
  }

  /** If the answer for a record always fails, it is requested as often as an unlisted record is looked for. */
  async #notAsked(rows: readonly EventRow[]): Promise<void> {
    const over = rows.filter((row) => isLastTry('not_asked', row))
    const isDeletion = ({ action }: EventRow): boolean => action === 'deleted'
    await this.#settle(over.filter(isDeletion), { state: 'left', reason: 'not_asked' })
    await this.#settle(
      over.filter((row) => !isDeletion(row)),
      { state: 'unseen', reason: 'not_asked' },
    )
    await this.#waitAgain(
      rows.filter((row) => !over.includes(row)),
      'not_asked',
    )
  }

  /** The events whose record the walk has not left at the announced version or a newer one. */
  async #unseen(announced: readonly EventRow[]): Promise<EventRow[]> {
    const witnesses = announced.filter((row) => this.#isWitness(row))
    if (witnesses.length === 0) return []
    const ids = [...new Set(witnesses.map(({ record_id: id }) => id))]
    const kept = await this.#kept(ids)
    const held = await this.#inQuarantine(ids)
    return witnesses.filter(({ record_id: id, version }) => {
      const row = kept.get(id)
      if (held.has(id) || row?.isDeleted) return false
      return row === undefined || isOlder(row.updatedAt, version ?? '')
    })
  }

  #isWitness({ version }: EventRow): boolean {
    if (version === null) return false
    const { serverTime } = this.cursor.source.stats()
    const now =
      serverTime === undefined ? this.cursor.run.clock.nowMicros() : BigInt(Math.ceil(serverTime)) * 1000n
    return toMicros(version) <= now + aheadMicros
  }

  async #kept(ids: readonly Int64[]): Promise<Map<Int64, Kept>> {
    const { warehouse, root, tenantId } = this.cursor
    const found = new Map<Int64, Kept>()
    for (const part of inParts(ids)) {
      const rows = await warehouse.read((db) =>
        db
          .selectFrom(rootTable(root))
          .select(['id', 'updated_at', '_deleted_at'])
          .where('tenant_id', '=', tenantId)
          .where('id', 'in', part)
          .execute(),
      )
      for (const { id, updated_at, _deleted_at } of rows)
        found.set(id, { updatedAt: updated_at, isDeleted: _deleted_at !== null })
    }
    return found
  }

  /** Records that could not be stored completely. */
  async #inQuarantine(ids: readonly Int64[]): Promise<ReadonlySet<Int64>> {
    const { warehouse, key } = this.cursor
    const byText = new Map(ids.map((id) => [String(id), id]))
    const found = new Set<Int64>()
    for (const part of inParts([...byText.keys()])) {
      const rows = await warehouse.read((db) =>
        db
          .selectFrom('sync_quarantine')
          .select('record_id')
          .where('tenant_id', '=', key.tenantId)
          .where('resource', '=', key.resource)
          .where('path', '=', '')
          .where('record_id', 'in', part)
          .execute(),
      )
      for (const { record_id } of rows) found.add(byText.get(record_id) ?? 0)
    }
    return found
  }

  /** Which of these a later walk looks for again, and for which that is over. */
  #tried(rows: readonly EventRow[]) {
    const isOver = (row: EventRow): boolean => row.reason === 'not_asked' || isLastTry('not_listed', row)
    return { over: rows.filter(isOver), again: rows.filter((row) => !isOver(row)) }
  }

  /** Requests records by id that no walk has shown. Returns the events of those that don't exist. */
  async #ask(over: readonly EventRow[]): Promise<EventRow[]> {
    const { absent, stored, unseen, unread } = await askUnlisted(this.cursor, this.began.floor, over)
    await this.#settle(stored, { state: 'settled', reason: 'not_listed' })
    await this.#settle(unseen, { state: 'unseen', reason: 'not_listed' })
    await this.#notAsked(unread)
    return absent
  }

  /** `rows`: events of deletions, and those whose record was requested by id and doesn't exist. */
  async #delete(rows: readonly EventRow[]): Promise<void> {
    const { deleted, left, notLive, exists, unread } = await new DeletedEvents(this.cursor).ask(rows)
    const isDeletion = ({ action }: EventRow): boolean => action === 'deleted'
    const never = [...notLive, ...exists].filter((row) => !isDeletion(row))
    await this.#settle(never, { state: 'unseen', reason: 'not_listed' })
    await this.#settle(notLive.filter(isDeletion), { state: 'settled' })
    await this.#settle(deleted, { state: 'deleted' })
    if (left) await this.#settle(left.rows, { state: 'left', reason: left.reason })
    const there = exists.filter(isDeletion)
    const isOver = (row: EventRow): boolean => isLastTry('exists', row)
    await this.#settle(there.filter(isOver), { state: 'exists' })
    await this.#waitAgain(
      there.filter((row) => !isOver(row)),
      'exists',
    )
    await this.#notAsked(unread)
  }

  #settle(rows: readonly EventRow[], settled: Settled): Promise<void> {
    const { warehouse } = this.cursor
    return settleEvents(this.inbox, rows, { ...settled, runId: warehouse.runId, at: this.cursor.now() })
  }

  async #waitAgain(rows: readonly EventRow[], reason: string): Promise<void> {
    const now = this.cursor.run.clock.nowMicros()
    for (const tries of new Set(rows.map((row) => triesFor(reason, row)))) {
      const pause = pausesMs[Math.min(tries, pausesMs.length - 1)] ?? 0
      const dueAt = fromMicros(now + BigInt(pause) * 1000n)
      const alike = rows.filter((row) => triesFor(reason, row) === tries)
      await waitAgain(this.inbox, alike, { reason, tries: tries + 1, dueAt })
    }
  }
}

/** Ids per statement. */
const idsAtOnce = 200

function* inParts<T>(ids: readonly T[]): Generator<T[]> {
  for (let i = 0; i < ids.length; i += idsAtOnce) yield ids.slice(i, i + idsAtOnce)
}
