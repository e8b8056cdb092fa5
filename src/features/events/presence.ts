/*
 * Whether events can be taken, and whether this listener is running: its row in sync_listeners shows that to everyone
 * else.
 */
import { hostname } from 'node:os'
import type { Clock } from '../../engine/base/clock.js'
import { instead } from '../../engine/base/errors.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import { countWaiting } from './events.js'
import type { Inbox } from './inbox.js'
import type { Intake } from './intake.js'
import type { ReceiverCall } from './threadmessages.js'

/** Milliseconds between two signs of life, and while something is wrong. */
const beat = 10_000
const troubledBeat = 1000
/** Free bytes on disk below which nothing more is accepted: the rest of the machine needs room, too. */
const leastRoom = 256 * 1024 * 1024
/** How many events may wait to be settled. */
const mostWaiting = 200_000

/** Why events are refused. */
export type Refusing = 'database' | 'disk_full' | 'backlog'
/** A problem that needs attention although events are accepted. */
export type Troubled = 'certificate' | 'wrong_secret' | 'turns'

export class Presence {
  #written: Refusing | undefined
  #measured: Refusing | undefined

  constructor(
    private readonly inbox: Inbox,
    private readonly intake: Pick<Intake, 'write'>,
    private readonly clock: Clock,
    /** Any other problem. */
    private readonly troubled: () => Troubled | undefined,
  ) {}

  /** undefined if events are accepted. */
  get refusing(): Refusing | undefined {
    return this.#written ?? this.#measured
  }

  get trouble(): Refusing | Troubled | undefined {
    return this.refusing ?? this.troubled()
  }

  /** Called for every commit, and for every failed one. */
  wrote(error: unknown): void {
    this.#written = error === undefined ? undefined : 'database'
  }

  async begin({
    listenerId,
    address,
    source,
  }: Pick<ReceiverCall, 'listenerId' | 'source'> & { readonly address: string }): Promise<void> {
    const now = this.#now()
    await this.#measure()
    await this.intake.write([
      this.inbox.db
        .insertInto('sync_listeners')
        .values({
          listener_id: listenerId,
          address,
          source,
          host: hostname(),
          pid: process.pid,
          trouble: this.trouble ?? null,
          up_at: now,
          seen_at: now,
          ended_at: null,
        })
        .compile(),
    ])
  }

  /** Gives signs of life until the signal fires. */
  async beat(listenerId: string, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.clock.sleep(this.refusing === undefined ? beat : troubledBeat, signal)
      if (!signal.aborted) await this.say(listenerId)
    }
  }

  /** What could not be written shows in `trouble`, and is tried again. */
  async say(listenerId: string): Promise<void> {
    await this.#measure().catch(instead(undefined))
    const columns = { seen_at: this.#now(), trouble: this.trouble ?? null }
    await this.#update(listenerId, columns).catch(instead(undefined))
  }

  end(listenerId: string): Promise<void> {
    return this.#update(listenerId, { ended_at: this.#now(), seen_at: this.#now(), trouble: null })
  }

  #update(
    listenerId: string,
    columns: { readonly seen_at: string; readonly trouble: string | null; readonly ended_at?: string },
  ): Promise<void> {
    return this.intake.write([
      this.inbox.db
        .updateTable('sync_listeners')
        .set(columns)
        .where('listener_id', '=', listenerId)
        .compile(),
    ])
  }

  async #measure(): Promise<void> {
    const room = await this.inbox.dialect.file.room()
    if (room !== undefined && room < leastRoom) this.#measured = 'disk_full'
    else this.#measured = (await countWaiting(this.inbox)) >= mostWaiting ? 'backlog' : undefined
  }

  #now(): string {
    return fromMicros(this.clock.nowMicros())
  }
}
