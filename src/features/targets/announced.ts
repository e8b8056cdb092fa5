/*
 * What events tell of cursors: which changes were announced, what waits, and since when somebody has listened without a
 * break. Where nobody ever received events there is no inbox, and nothing of this is asked.
 */
import { addMicros, toMillis } from '../../engine/base/timestamp.js'
import type { Arrival } from '../../engine/run/polls.js'
import type { ReadingCursor } from '../../engine/run/tenant.js'
import { cursorName } from '../../engine/warehouse/cursors.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { CommandContext } from '../../shell/command.js'
import { isOwnEvent } from '../events/counts.js'
import { Inbox } from '../events/inbox.js'
import { isExpected } from '../events/ringing.js'
import { isOlder } from '../events/waiting.js'

/** The clocks of the source and of the receiver may differ by so much. */
const clocksApart = 600_000_000n
/** A listener says that it lives every ten seconds. */
const silence = 60_000_000n

/** Events that are looked at to rank cursors: whoever rings takes the rest. */
const mostWaiting = 10_000

/** The events that wait for a cursor, and the sum of their ages. */
export interface WaitingEvents {
  readonly count: number
  readonly hours: number
}

export type InboxNeeds = Pick<CommandContext, 'clock' | 'config' | 'invocation' | 'log' | 'onClose'>

export class Announcements {
  private constructor(private readonly inbox: Inbox) {}

  /** undefined where nobody has ever received events. */
  static async there(
    context: InboxNeeds,
    warehouse: Pick<Warehouse, 'dialect'>,
  ): Promise<Announcements | undefined> {
    const { clock, invocation, log } = context
    const { signal } = invocation.signals
    const inbox = await Inbox.there(warehouse, { clock, signal }).catch((error: unknown) => {
      if (!isExpected(error)) throw error
      log.warn('Could not open the received events; cursors are ranked without them')
      return undefined
    })
    if (!inbox) return undefined
    context.onClose(() => inbox.close())
    return new Announcements(inbox)
  }

  /** How many of these new or changed records no event has announced. */
  async lacking({ key, state }: ReadingCursor, arrivals: readonly Arrival[]): Promise<number> {
    const since = addMicros(state?.polls?.polledAt ?? arrivals[0]?.updatedAt ?? '', -clocksApart)
    const ids = arrivals.map(({ id }) => id)
    const rows = await this.#reading((inbox) =>
      inbox.read((db) =>
        db
          .selectFrom('sync_events')
          .select(['type', 'record_id', 'version'])
          .where('tenant_id', '=', key.tenantId)
          .where('resource', '=', key.resource)
          .where('received_at', '>=', since)
          .where('record_id', 'in', ids)
          .execute(),
      ),
    )
    const own = (rows ?? []).filter(({ type }) => isOwnEvent(type, key.resource))
    return arrivals.filter(
      ({ id, updatedAt }) =>
        !own.some(
          ({ record_id, version }) =>
            String(record_id) === String(id) && (version === null || !isOlder(version, updatedAt)),
        ),
    ).length
  }

  /** Since when a receiver has been up that still is; null where none is. */
  async upSince(now: string): Promise<string | null> {
    const row = await this.#reading((inbox) =>
      inbox.read((db) =>
        db
          .selectFrom('sync_listeners')
          .select((eb) => eb.fn.min<string | null>('up_at').as('at'))
          .where('ended_at', 'is', null)
          .where('trouble', 'is', null)
          .where('seen_at', '>=', addMicros(now, -silence))
          .executeTakeFirst(),
      ),
    )
    return row?.at ?? null
  }

  /** The events that wait, by cursor: the oldest ones, where there are very many. */
  async waiting(now: string): Promise<ReadonlyMap<string, WaitingEvents>> {
    const rows = await this.#reading((inbox) =>
      inbox.read((db) =>
        db
          .selectFrom('sync_events')
          .select(['tenant_id', 'resource', 'received_at'])
          .where('state', '=', 'waiting')
          .orderBy('received_at')
          .limit(mostWaiting)
          .execute(),
      ),
    )
    const found = new Map<string, { count: number; hours: number }>()
    for (const { tenant_id: tenantId, resource, received_at } of rows ?? []) {
      const name = cursorName({ tenantId, resource })
      const sum = found.get(name) ?? { count: 0, hours: 0 }
      sum.count += 1
      sum.hours += Math.max(0, toMillis(now) - toMillis(received_at ?? now)) / 3_600_000
      found.set(name, sum)
    }
    return found
  }

  /** What cannot be read is as if nobody had announced anything: polls find it all the same. */
  async #reading<T>(read: (inbox: Inbox) => Promise<T>): Promise<T | undefined> {
    try {
      return await read(this.inbox)
    } catch (error) {
      if (!isExpected(error)) throw error
      return undefined
    }
  }
}
