/*
 * What a walk settles. The events that wait for a cursor are read before the
 * walk's first request; what they announced has to be in the warehouse after it. An event itself changes no row: what
 * it leads to are the walk, and questions by id, both the same code as every run's.
 */
import type { Int64 } from '../../../schema/resource.js'
import { Retry, Skip } from '../../engine/base/errors.js'
import { fromMicros, toMicros } from '../../engine/base/timestamp.js'
import type { AfterWalk, CursorRun } from '../../engine/run/tenant.js'
import { rootTable } from '../../engine/warehouse/database.js'
import type { LeasedWarehouse } from '../../engine/warehouse/leasedwarehouse.js'
import { DeletedEvents } from './deletedevents.js'
import type { Inbox } from './inbox.js'
import { askUnlisted } from './unlisted.js'
import { type EventRow, isOlder, type Settled, settleEvents, waitAgain, waitingOf } from './waiting.js'

type Cursor = CursorRun<LeasedWarehouse>

/** Milliseconds after which a walk looks again for a record that was announced and is not there: a replica may lag. */
export const pausesMs = [5_000, 30_000, 120_000, 600_000] as const

/** How far ahead of the source's clock an announced version may lie: one further ahead says nothing. */
const aheadMicros = 60_000_000n

/** The record as the warehouse has it. */
interface Kept {
  readonly updatedAt: string
  readonly isDeleted: boolean
}

/** Asked before each walk: what follows when the walk has come to its end; undefined where nothing waits. */
export async function beforeWalk(inbox: Inbox, cursor: Cursor): Promise<AfterWalk | undefined> {
  const waiting = await waitingOf(inbox, cursor.key)
  if (waiting.length === 0) return undefined
  return (floor) => new Settling(inbox, cursor, floor).run(waiting)
}

/** What one walk settles of one cursor. */
class Settling {
  constructor(
    private readonly inbox: Inbox,
    private readonly cursor: Cursor,
    private readonly floor: string,
  ) {}

  async run(waiting: readonly EventRow[]): Promise<void> {
    const isOwn = ({ type }: EventRow): boolean => type === this.cursor.resource.resource.entity
    const own = waiting.filter(isOwn)
    const deleted = own.filter(({ action }) => action === 'deleted')
    const announced = own.filter(({ action }) => action !== 'deleted')
    const unseen = await this.#unseen(announced)
    const seen = waiting.filter((row) => !deleted.includes(row) && !unseen.includes(row))
    await this.#settle(seen, { state: 'settled' })
    const { again, over } = this.#tried(unseen)
    await this.#waitAgain(again, 'not_listed')
    try {
      const gone = over.length > 0 ? await this.#ask(over) : []
      await this.#delete([...deleted, ...gone])
    } catch (error) {
      // The walk is at its end, and stands: what could not be asked is asked after the next one.
      if (!(error instanceof Skip || error instanceof Retry)) throw error
      this.cursor.warn('What events announced could not be asked for: the next walk asks again', {
        error: error.message,
      })
      await this.#waitAgain([...over, ...deleted], 'not_asked')
    }
  }

  /** Of these events, those whose record the walk has not left at the announced version or a newer one. */
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

  /** Records that could not be stored as a whole. */
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

  /** Which of these are looked for again by a later walk, and for which that is over. */
  #tried(rows: readonly EventRow[]) {
    const isOver = ({ reason, tries }: EventRow): boolean =>
      reason === 'not_listed' && Number(tries ?? 0) >= pausesMs.length
    return { over: rows.filter(isOver), again: rows.filter((row) => !isOver(row)) }
  }

  /** Asks for records by id that no walk has shown. Returns the events of those that do not exist. */
  async #ask(over: readonly EventRow[]): Promise<EventRow[]> {
    const { absent, stored, unseen } = await askUnlisted(this.cursor, this.floor, over)
    await this.#settle(stored, { state: 'settled', reason: 'not_listed' })
    await this.#settle(unseen, { state: 'unseen', reason: 'not_listed' })
    return absent
  }

  async #delete(rows: readonly EventRow[]): Promise<void> {
    if (rows.length === 0) return
    const { settled, exists } = await new DeletedEvents(this.cursor).ask(rows)
    for (const [state, its] of settled) await this.#settle(its, state)
    const isOver = ({ reason, tries }: EventRow): boolean =>
      reason === 'exists' && Number(tries ?? 0) >= pausesMs.length
    await this.#settle(exists.filter(isOver), { state: 'exists' })
    await this.#waitAgain(
      exists.filter((row) => !isOver(row)),
      'exists',
    )
  }

  #settle(rows: readonly EventRow[], settled: Settled): Promise<void> {
    const { warehouse } = this.cursor
    return settleEvents(this.inbox, rows, { ...settled, runId: warehouse.runId, at: this.cursor.now() })
  }

  async #waitAgain(rows: readonly EventRow[], reason: string): Promise<void> {
    const now = this.cursor.run.clock.nowMicros()
    const triesOf = (row: EventRow): number => (row.reason === reason ? Number(row.tries ?? 0) : 0)
    for (const tries of new Set(rows.map(triesOf))) {
      const pause = pausesMs[Math.min(tries, pausesMs.length - 1)] ?? 0
      const dueAt = fromMicros(now + BigInt(pause) * 1000n)
      const alike = rows.filter((row) => triesOf(row) === tries)
      await waitAgain(this.inbox, alike, { reason, tries: tries + 1, dueAt })
    }
  }
}

/** Ids in one statement. */
const idsAtOnce = 200

function* inParts<T>(ids: readonly T[]): Generator<T[]> {
  for (let i = 0; i < ids.length; i += idsAtOnce) yield ids.slice(i, i + idsAtOnce)
}
