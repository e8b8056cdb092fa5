/*
 * One process at a time tells the entries. Of two runs that end at once, both would otherwise tell the same changes, and
 * dbt would build beside another dbt. The turn is kept in sync_meta, and a process that has died loses it as it loses a
 * lease.
 */
import { randomBytes } from 'node:crypto'
import { thisMachine } from '../../engine/warehouse/holderprocess.js'
import { isLive, type LeaseHolder, later, usualLeaseMs } from '../../engine/warehouse/leaserows.js'
import { lockMeta, storeMeta } from '../../engine/warehouse/meta.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { CommandContext } from '../../shell/command.js'

const name = 'then turn'

/** Milliseconds between two attempts. */
const betweenAttempts = 500

type Holder = Pick<LeaseHolder, 'owner' | 'host' | 'pid' | 'expires_at'>

/** Stores what `next` makes of the holder; undefined: it stays. Resolves to whether it was stored. */
const change = (
  warehouse: Warehouse,
  next: (holder: Holder | null, now: string) => Holder | null | undefined,
): Promise<boolean> =>
  warehouse.transaction(async (session) => {
    const { db, dialect, clock } = warehouse
    const value = await lockMeta(session, db, name)
    const made = next(
      value === null ? null : (JSON.parse(value) as Holder),
      await dialect.now(session, clock),
    )
    if (made === undefined) return false
    // The row stays without a holder: if it were removed, two who wait for its lock would both find none.
    await session.run(storeMeta(db, name, made && JSON.stringify(made)))
    return true
  })

/** Takes the turn, or keeps it; false: another process has it. */
const take = (warehouse: Warehouse, owner: string): Promise<boolean> =>
  change(warehouse, (holder, now) => {
    if (holder && holder.owner !== owner && isLive(holder, now)) return undefined
    return { owner, host: thisMachine(), pid: process.pid, expires_at: later(now, usualLeaseMs) }
  })

/**
 * Does the work when no other process tells. undefined: it was still telling after `patience` milliseconds, or this
 * program should end. The next run tells what is left, so giving up loses nothing.
 */
export async function inTurn<T>(
  { clock, invocation }: Pick<CommandContext, 'clock' | 'invocation'>,
  warehouse: Warehouse,
  patience: number,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const { signal } = invocation.signals
  const owner = randomBytes(8).toString('hex')
  const began = clock.nowMicros()
  while (!(await take(warehouse, owner))) {
    if (signal.aborted || Number(clock.nowMicros() - began) / 1000 > patience) return undefined
    await clock.sleep(betweenAttempts, signal)
  }
  let keeping: Promise<unknown> = Promise.resolve()
  // If it can't be kept, somebody may tell the same a second time; the work isn't worth ending for that.
  const keep = (): void => {
    keeping = keeping.then(() => take(warehouse, owner)).catch(() => {})
  }
  const timer = setInterval(keep, usualLeaseMs / 4)
  timer.unref()
  try {
    return await work()
  } finally {
    clearInterval(timer)
    await keeping
    // Otherwise it expires by itself.
    await change(warehouse, (holder) => (holder?.owner === owner ? null : undefined)).catch(() => {})
  }
}
