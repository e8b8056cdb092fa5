/*
 * A turn that one process at a time has, such as that of telling what runs have changed. It is kept in sync_meta, and a
 * process that has died loses it as it loses a lease.
 */
import { randomBytes } from 'node:crypto'
import { lockMeta, storeMeta } from '../state/meta.js'
import type { Writer } from '../warehouse.js'
import { isLive, type LeaseHolder, later, thisMachine, usualLeaseMs } from './holder.js'

type Holder = Pick<LeaseHolder, 'owner' | 'host' | 'pid' | 'expires_at'>

export class HeldTurn {
  readonly #owner = randomBytes(8).toString('hex')
  #keeping: Promise<unknown> = Promise.resolve()
  #timer: NodeJS.Timeout | undefined

  /** `name`: in sync_meta. */
  constructor(
    private readonly warehouse: Writer,
    private readonly name: string,
  ) {}

  /** Takes the turn, and keeps it until `end`. Resolves to the process that has it instead, if there is one. */
  async take(): Promise<Holder | undefined> {
    const holder = await this.#change((found, now) =>
      found && found.owner !== this.#owner && isLive(found, now) ? undefined : this.#mine(now),
    )
    if (holder) return holder
    this.#timer ??= setInterval(() => this.#keep(), usualLeaseMs / 4)
    this.#timer.unref()
    return undefined
  }

  async end(): Promise<void> {
    clearInterval(this.#timer)
    await this.#keeping
    // Otherwise it expires by itself.
    await this.#change((found) => (found?.owner === this.#owner ? null : undefined)).catch(() => {})
  }

  /** If it can't be kept, another process may have it, too; nothing that is done in a turn is worth ending for that. */
  #keep(): void {
    this.#keeping = this.#keeping.then(() => this.take()).catch(() => {})
  }

  #mine(now: string): Holder {
    return {
      owner: this.#owner,
      host: thisMachine(),
      pid: process.pid,
      expires_at: later(now, usualLeaseMs),
    }
  }

  /** Stores what `next` makes of the holder. undefined: it stays, and is returned. */
  #change(
    next: (holder: Holder | null, now: string) => Holder | null | undefined,
  ): Promise<Holder | undefined> {
    const { warehouse, name } = this
    return warehouse.transaction(async (session) => {
      const { db, dialect, clock } = warehouse
      const value = await lockMeta(session, db, name)
      const holder = value === null ? null : (JSON.parse(value) as Holder)
      const made = next(holder, await dialect.now(session, clock))
      if (made === undefined) return holder ?? undefined
      // The row stays without a holder: if it were removed, two who wait for its lock would both find none.
      await session.run(storeMeta(db, name, made && JSON.stringify(made)))
      return undefined
    })
  }
}
