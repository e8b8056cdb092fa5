/*
 * What events show about cursors: which changes were announced, what waits, and since when a listener has been running
 * without a break. If events were never received here, there is no inbox, and nothing of this is queried.
 */
import { instead } from '../../engine/base/errors.js'
import { addMicros, toMillis } from '../../engine/base/timestamp.js'
import type { Arrival } from '../../engine/run/polls.js'
import type { CursorRun } from '../../engine/run/tenant.js'
import { cursorName } from '../../engine/warehouse/state/cursors.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { CommandContext } from '../../shell/command.js'
import { eventParts, isOlder, isOwnEvent } from '../events/events.js'
import { Inbox } from '../events/inbox.js'

/** How far the clocks of the source and the receiver may differ. */
const clocksApart = 600_000_000n
/** A listener gives a sign of life every ten seconds. */
const silence = 60_000_000n

/** How many events are used to rank cursors; rings take care of the rest. */
const mostWaiting = 10_000

/**
 * What events announced of a cursor and waits for a walk: how many records, and the sum of their ages. Another resource's
 * event makes this cursor due (`events.also`) without announcing anything of it, so it adds no age.
 */
export interface WaitingEvents {
  readonly count: number
  readonly hours: number
}

export type InboxNeeds = Pick<CommandContext, 'clock' | 'config' | 'invocation' | 'log' | 'onClose'>

export class Announcements {
  private constructor(private readonly inbox: Inbox) {}

  /** undefined if events have never been received here. */
  static async there(
    context: InboxNeeds,
    warehouse: Pick<Warehouse, 'dialect'>,
  ): Promise<Announcements | undefined> {
    const { clock, invocation, log } = context
    const { signal } = invocation.signals
    const inbox = await Inbox.there(warehouse, { clock, signal }).catch((error: unknown) => {
      log.warn('Could not open the received events; cursors are ranked without them')
      return instead(undefined)(error)
    })
    if (!inbox) return undefined
    context.onClose(() => inbox.close())
    return new Announcements(inbox)
  }

  /** How many of these new or changed records no event has announced. */
  async lacking({ key, state }: CursorRun, arrivals: readonly Arrival[]): Promise<number> {
    const since = addMicros(state?.polled_at ?? arrivals[0]?.updatedAt ?? '', -clocksApart)
    const ids = arrivals.map(({ id }) => id)
    const events = await this.#reading((inbox) =>
      eventParts(inbox, ['record_id', 'version'], { announcing: key, since, records: ids }),
    )
    return arrivals.filter(
      ({ id, updatedAt }) =>
        !events?.some(
          ({ record_id, version }) =>
            String(record_id) === String(id) && (version === null || !isOlder(version, updatedAt)),
        ),
    ).length
  }

  /** Since when a receiver that is still running has been up; null if there is none. */
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

  /**
   * The waiting events, by cursor: only the oldest ones, if there are very many. Each record counts once, by its first
   * event, and one that a walk has looked for in vain doesn't count until it is looked for again.
   */
  async waiting(now: string): Promise<ReadonlyMap<string, WaitingEvents>> {
    const columns = ['tenant_id', 'resource', 'type', 'record_id', 'received_at'] as const
    const filter = { state: 'waiting', dueNow: now, order: 'asc', limit: mostWaiting } as const
    const rows = await this.#reading((inbox) => eventParts(inbox, columns, filter))
    const found = new Map<string, { count: number; hours: number }>()
    const seen = new Set<string>()
    for (const { tenant_id: tenantId, resource, type, record_id, received_at } of rows ?? []) {
      const name = cursorName({ tenantId, resource })
      const record = `${name} ${type} ${record_id}`
      if (seen.has(record)) continue
      seen.add(record)
      const sum = found.get(name) ?? { count: 0, hours: 0 }
      sum.count += 1
      found.set(name, sum)
      if (isOwnEvent(type, resource))
        sum.hours += Math.max(0, toMillis(now) - toMillis(received_at ?? now)) / 3_600_000
    }
    return found
  }

  /** What can't be read counts as not announced: polls find it anyway. */
  #reading<T>(read: (inbox: Inbox) => Promise<T>): Promise<T | undefined> {
    return read(this.inbox).catch(instead(undefined))
  }
}
