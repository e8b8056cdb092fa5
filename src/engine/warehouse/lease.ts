/**
 * The lease: one run writes at a time (docs/architecture.md, What else the engine rests on). openlease.ts claims it for
 * commands that write; fence.ts checks its token in every commit.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Clock, Stamps } from '../base/clock.js'
import { Bug, Retry, Stop } from '../base/errors.js'
import type { Shard } from '../base/shard.js'
import { addMicros, fromMicros, toMicros } from '../base/timestamp.js'
import { isOfTable } from './classify.js'
import type { Reader } from './cursors.js'
import type { Dialect } from './dialect.js'
import { anyForgotten, checkFence } from './fence.js'
import { isDead, thisMachine } from './holderprocess.js'
import { storeMeta } from './meta.js'
import { type RowSettings, rowSettingsName, storedSettings } from './oneconfiguration.js'
import { storedPrivacy } from './privacystate.js'
import { highestOfRuns } from './runs.js'
import type { Session } from './transaction.js'
import type { Fence } from './versionbatch.js'
import type { Warehouse } from './warehouse.js'

/**
 * A run's claim on the warehouse.
 *
 * held:     the heartbeat moves the expiry forward four times per lease; every commit checks the token.
 * lost:     the lease expired and another run claimed it, or the database went back to an earlier state. Commits of this
 *           run fail from then on; `lost` aborts at the next heartbeat.
 * released: the heartbeat has stopped, and the next claim succeeds immediately.
 */
export interface Lease {
  /** What every commit is checked against. */
  readonly fence: Fence
  /** Whether customers were forgotten: then the sets of their records have to be read. */
  readonly hasForgotten: boolean
  readonly lost: AbortSignal
  release(): Promise<void>
}

export interface LeaseRequest {
  readonly runId: string
  readonly command: string
  readonly clock: Clock
  /** How long the lease lasts without a heartbeat, in milliseconds. */
  readonly leaseMs: number
  /** The stamps that the holder's requests get. undefined if it stores no records. */
  readonly stamps?: Stamps | undefined
  /** The warehouse may be an older program's, or have no table but the lease, as `copy` finds or makes them. */
  readonly isBare?: boolean | undefined
  /** The part of the tenants that is claimed. undefined: the whole warehouse. */
  readonly shard?: Shard | undefined
  /** What shapes the rows that the holder stores. undefined if it stores none. */
  readonly rowSettings?: RowSettings | undefined
}

/** The row of `sync_lease`. */
interface LeaseHolder {
  readonly token: Int64 | null
  readonly owner: string | null
  readonly host: string | null
  readonly pid: Int64 | null
  readonly command: string | null
  readonly claimed_at: string | null
  readonly expires_at: string | null
  readonly wanted_at: string | null
  readonly stamps_from?: string | null
  readonly stamps_until?: string | null
  /** From `sync_meta`. */
  readonly row_settings?: string | null
  readonly forgotten?: Int64 | null
  /** Any of `sync_forgotten_records`. */
  readonly any_forgotten?: Int64 | null
}

/**
 * The command of a holder that follows the source's events (src/features/events). It releases the lease as soon as
 * another command wants it, since the next holder can do everything that it does.
 */
export const listenCommand = 'listen'

/** How long a request for the lease is valid, in milliseconds. A waiting command renews it once a second. */
const wishMs = 15_000

const nobody = { owner: null, host: null, pid: null, command: null, expires_at: null }

const later = (now: string, milliseconds: number): string =>
  fromMicros(toMicros(now) + BigInt(milliseconds) * 1000n)

/** How long a lease lasts without a heartbeat, in milliseconds. */
export const usualLeaseMs = 60_000

/** How far a clock may be corrected under a live holder before its expiry is attributed to a wrong clock. */
const clockStepMs = 1000

/**
 * Whether a lease with that expiry is over now. An expiry further away than a lease lasts was written while a clock was
 * wrong, and doesn't count. A warehouse that nobody can write until that clock is right again was judged worse than
 * ending a live holder's run, which would move its expiry back within a quarter of a lease.
 */
export const isOver = (expiresAt: string | null, now: string, leaseMs = usualLeaseMs): boolean =>
  expiresAt === null || expiresAt <= now || expiresAt > later(now, leaseMs + clockStepMs)

/** A run may claim its own lease again, when it repeats a claim whose commit was not confirmed. */
const isFree = (holder: LeaseHolder, now: string, { runId, leaseMs }: LeaseRequest): boolean =>
  holder.owner === null || holder.owner === runId || isOver(holder.expires_at, now, leaseMs) || isDead(holder)

/** Another run holds the lease. `isListener`: it releases the lease on request. */
export class LeaseHeld extends Stop {
  constructor(
    message: string,
    hint: string,
    readonly isListener: boolean,
  ) {
    super(message, { exitCode: 4, hint })
  }
}

function heldBy(holder: LeaseHolder, where: string): LeaseHeld {
  return new LeaseHeld(
    `Another run (${holder.command === 'full' ? 'sync --full' : (holder.command ?? 'unknown')}, ${holder.owner}) has held ${where} since ${holder.claimed_at}, on ${holder.host}, pid ${holder.pid}`,
    `Wait for that run to end; if its process is gone, its lease expires by itself at ${holder.expires_at}`,
    holder.command === listenCommand,
  )
}

/** Whether a command other than a listener waits for the lease. */
const isWanted = ({ wanted_at: wantedAt }: Pick<LeaseHolder, 'wanted_at'>, now: string): boolean =>
  wantedAt !== null && wantedAt <= later(now, wishMs) && later(wantedAt, wishMs) > now

/** Records that a command waits for the lease, without changing who holds it. A listener then releases it. */
export const wantLease = (warehouse: Warehouse): Promise<void> =>
  warehouse.trying(() =>
    warehouse.dialect.transaction(async (session) => {
      const wanted_at = await warehouse.dialect.now(session, warehouse.clock)
      await session.run(
        warehouse.db.updateTable('sync_lease').set({ wanted_at }).where('name', '=', 'run').compile(),
      )
    }),
  )

/** For how long the stamps of a holder are on record in advance: two heartbeats. */
const reserved = ({ leaseMs }: LeaseRequest): number => leaseMs / 2

/**
 * What no stamp of a former holder is later than. A holder that was killed recorded how far its stamps might go; if our
 * clock is the one that it used, and has passed the last reading of it, they can't go further than that.
 */
function stampsEnd(holder: LeaseHolder, own: string, claim: LeaseRequest): string {
  const { owner, host, stamps_from: from, stamps_until: until } = holder
  if (!until) return own
  const isSameClock = owner !== null && host === thisMachine() && own >= later(until, -reserved(claim))
  return isSameClock ? latest([own, from ?? own]) : until
}

const latest = (times: readonly (string | null | undefined)[]): string =>
  times
    .flatMap((time) => time ?? [])
    .sort()
    .at(-1) ?? fromMicros(0n)

/**
 * The token and the stamps of a new holder: later than everything on record, whatever the clocks of those who recorded it
 * were. They are on record before any row can have them. Runs keep their tokens, so a lease of before gives none twice.
 */
async function above(
  dialect: Dialect,
  session: Session,
  claim: LeaseRequest,
  holder: LeaseHolder,
  now: string,
) {
  if (claim.isBare) return { token: Number(holder.token ?? 0) + 1 }
  const runs = (await session.run(highestOfRuns(dialect.db))).rows[0]
  const token = Math.max(Number(holder.token ?? 0), Number(runs?.token ?? 0)) + 1
  if (!claim.stamps) return { token }
  const own = fromMicros(claim.clock.nowMicros())
  const ended = [runs?.started, runs?.finished, runs?.stamped, holder.stamps_from]
  const from = addMicros(latest([now, own, stampsEnd(holder, own, claim), ...ended]), 1n)
  return { token, stamps_from: from, stamps_until: later(from, reserved(claim)) }
}

interface Claimed extends Fence {
  readonly hasForgotten: boolean
  readonly stamps?: { readonly from: bigint; readonly until: bigint } | undefined
}

async function take(dialect: Dialect, session: Session, claim: LeaseRequest): Promise<Claimed> {
  const { db, server } = dialect
  await session.run(
    db
      .insertInto('sync_lease')
      .values({ name: 'run', token: 0, ...nobody, claimed_at: null })
      .onConflict((c) => c.doNothing())
      .compile(),
  )
  // The update changes nothing but locks the row: of two concurrent claims, the second one sees the first.
  await session.run(db.updateTable('sync_lease').set({ name: 'run' }).where('name', '=', 'run').compile())
  const { rowSettings } = claim
  const row = db
    .selectFrom('sync_lease')
    .selectAll()
    .select([
      server.as('server'),
      storedSettings(db, rowSettings).as('row_settings'),
      anyForgotten(db, claim.isBare === true).as('any_forgotten'),
    ])
    .where('name', '=', 'run')
  const [holder] = (await session.run(row.compile())).rows
  if (!holder) throw new Bug('The lease has no row')
  const now = await dialect.now(session, claim.clock)
  if (!isFree(holder, now, claim)) throw heldBy(holder, dialect.where)
  const isListener = claim.command === listenCommand
  if (isListener && isWanted(holder, now))
    throw new LeaseHeld(
      `Another command is waiting for ${dialect.where}`,
      'The listener takes its turn afterwards',
      false,
    )
  rowSettings?.check(holder.row_settings ?? null, dialect.where)
  if (rowSettings)
    rowSettings.checkPrivacy((await session.run(storedPrivacy(db).compile())).rows, dialect.where)
  if (rowSettings && rowSettings.text !== holder.row_settings)
    await session.run(storeMeta(db, rowSettingsName, rowSettings.text))
  const mine = {
    ...(await above(dialect, session, claim, holder, now)),
    owner: claim.runId,
    host: thisMachine(),
    pid: process.pid,
    command: claim.command,
    claimed_at: now,
    expires_at: later(now, claim.leaseMs),
    // A warehouse of an older program, as `copy` finds it, doesn't have this column.
    ...(!isListener && holder.wanted_at && { wanted_at: null }),
  }
  await session.run(db.updateTable('sync_lease').set(mine).where('name', '=', 'run').compile())
  const { token, stamps_from: from, stamps_until: until } = mine
  return {
    ...{ token, server: holder.server },
    hasForgotten: (holder.forgotten ?? null) !== null || (holder.any_forgotten ?? null) !== null,
    ...(from && until && { stamps: { from: toMicros(from), until: toMicros(until) } }),
  }
}

/** Moves the expiry forward, and with it how far the holder's stamps may go. Throws Stop if the lease is lost. */
async function extend(
  dialect: Dialect,
  claim: LeaseRequest,
  { stamps, ...fence }: Claimed,
  reached: () => void,
): Promise<void> {
  const [own, given] = [claim.clock.nowMicros(), claim.stamps?.newest ?? 0n]
  const until = (own > given ? own : given) + BigInt(reserved(claim)) * 1000n
  await dialect.transaction(async (session) => {
    const expires = later(await dialect.now(session, claim.clock), claim.leaseMs)
    const update = dialect.db
      .updateTable('sync_lease')
      .set({ expires_at: expires, ...(stamps && { stamps_until: fromMicros(until) }) })
      .where('name', '=', 'run')
      .where('token', '=', fence.token)
    await session.run(update.compile())
    await checkFence(dialect, session, fence)
  })
  if (stamps) claim.stamps?.hold(until, reached)
}

/** Claims the warehouse for one run; throws Stop with exit code 4 while another holds it. */
export async function takeLease(dialect: Dialect, claim: LeaseRequest): Promise<Lease> {
  const claimed = await dialect.transaction((session) => take(dialect, session, claim))
  claim.rowSettings?.stored()
  const { token, server, stamps, hasForgotten } = claimed
  if (stamps) claim.stamps?.raise(stamps.from)
  const lost = new AbortController()
  let beating = Promise.resolve()
  const beat = async (): Promise<void> => {
    try {
      await extend(dialect, claim, claimed, next)
    } catch (error) {
      // A warehouse that is away, or too slow for a timeout, hasn't given the lease to another run: the next heartbeat
      // tries again.
      const classed = dialect.classify(error)
      if (!(classed instanceof Retry || isOfTable(classed))) lost.abort(error)
    }
  }
  const next = (): void => {
    beating = beating.then(beat)
  }
  if (stamps) claim.stamps?.hold(stamps.until, next)
  const timer = setInterval(next, claim.leaseMs / 4)
  timer.unref()
  return {
    get fence() {
      const { newest } = claim.stamps ?? {}
      return { token, server, ...(newest !== undefined && { stampedUntil: fromMicros(newest) }) }
    },
    hasForgotten,
    lost: lost.signal,
    release: async () => {
      clearInterval(timer)
      await beating
      // The next holder's stamps begin after the last one that was given.
      claim.stamps?.hold(undefined)
      const until = stamps && fromMicros(claim.stamps?.newest ?? stamps.from)
      await dialect.transaction((session) =>
        session.run(
          dialect.db
            .updateTable('sync_lease')
            .set({ ...nobody, ...(until && { stamps_until: until }) })
            .where('name', '=', 'run')
            .where('token', '=', token)
            .compile(),
        ),
      )
    },
  }
}

/** The same, repeated while the database is away. What others made on the tables is looked for once per lease. */
export function claimLease(warehouse: Warehouse, claim: Omit<LeaseRequest, 'clock'>): Promise<Lease> {
  warehouse.interfered.forget()
  return warehouse.trying(() => takeLease(warehouse.dialect, { ...claim, clock: warehouse.clock }))
}

/** The row of the lease's holder. In it, a listener sees that another command wants the lease. */
export const lockHolder = (warehouse: Reader): Promise<LeaseHolder | undefined> =>
  warehouse.read((db) => db.selectFrom('sync_lease').selectAll().where('name', '=', 'run').executeTakeFirst())
