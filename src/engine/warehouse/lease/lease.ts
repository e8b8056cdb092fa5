/**
 * The lease: one process at a time writes a tenant (docs/architecture.md, What else the engine rests on). claim.ts takes
 * it, openlease.ts for commands that write; fence.ts checks its token in every commit.
 */
import type { Clock } from '../../base/clock.js'
import { Retry, Stop } from '../../base/errors.js'
import type { Shard } from '../../base/shard.js'
import { fromMicros } from '../../base/timestamp.js'
import { isOfTable } from '../classify.js'
import type { Reader } from '../database.js'
import type { Dialect } from '../dialect.js'
import { type Fence, wholeName } from '../store/versionbatch.js'
import type { Warehouse } from '../warehouse.js'
import { type Claimed, type LeaseRequest, reserved, take } from './claim.js'
import { checkFence } from './fence.js'
import {
  isLive,
  isWanted,
  type LeaseHolder,
  later,
  leaseName,
  listenCommand,
  nobody,
  overlaps,
} from './holder.js'

/**
 * A run's claim on the warehouse, or on a shard of it.
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
  /** Settings that shape rows and that shards at work have otherwise, by name. */
  readonly differing: readonly string[]
  readonly lost: AbortSignal
  /** Of a shard: fires when a command waits for the whole warehouse. The holder should come to an end. */
  readonly wanted: AbortSignal
  release(): Promise<void>
}

/** What `Lease.wanted` fires with. */
const makingRoom = (): Stop =>
  new Stop('Another command needs the whole warehouse; the next run of this shard continues', {
    exitCode: 1,
    code: 'wanted',
  })

/**
 * Records that a command waits for a row, without changing who holds it: a listener then releases it, and shards end if
 * it is the row of the whole warehouse.
 */
export const wantLease = (warehouse: Warehouse, name = wholeName): Promise<void> =>
  warehouse.trying(() =>
    warehouse.dialect.transaction(async (session) => {
      const wanted_at = await warehouse.dialect.now(session, warehouse.clock)
      await session.run(
        warehouse.db
          .insertInto('sync_lease')
          .values({ name, token: 0, ...nobody, claimed_at: null, wanted_at })
          .onConflict((c) => c.column('name').doUpdateSet({ wanted_at }))
          .compile(),
      )
    }),
  )

/** Calls `wanted` if a command waits for the whole warehouse. */
async function lookForWish(dialect: Dialect, claim: LeaseRequest, wanted: () => void): Promise<void> {
  const row = dialect.db.selectFrom('sync_lease').select('wanted_at').where('name', '=', wholeName)
  await dialect.transaction(async (session) => {
    const [whole] = (await session.run(row.compile())).rows
    if (whole && isWanted(whole, await dialect.now(session, claim.clock))) wanted()
  })
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
      .set({ expires_at: expires, stamps_until: stamps && fromMicros(until) })
      .where('name', '=', fence.name)
      .where('token', '=', fence.token)
    await session.run(update.compile())
    await checkFence(dialect, session, fence)
  })
  if (stamps) claim.stamps?.hold(until, reached)
}

/** Claims the warehouse for one run; throws Stop with exit code 4 while another holds it. */
export async function takeLease(dialect: Dialect, claim: LeaseRequest): Promise<Lease> {
  const claimed = await dialect.transaction((session) => take(dialect, session, claim))
  if (claimed.hasSettings) claim.shaping?.rowSettings.stored()
  const { name, token, server, stamps, hasForgotten, differing } = claimed
  if (stamps) claim.stamps?.raise(stamps.from)
  const lost = new AbortController()
  const wanted = new AbortController()
  const looks = claim.shard !== undefined && claim.command !== listenCommand
  let beating = Promise.resolve()
  const beat = async (): Promise<void> => {
    try {
      await extend(dialect, claim, claimed, next)
      if (looks) await lookForWish(dialect, claim, () => wanted.abort(makingRoom()))
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
      return { name, token, server, stampedUntil: newest !== undefined ? fromMicros(newest) : undefined }
    },
    hasForgotten,
    differing,
    lost: lost.signal,
    wanted: wanted.signal,
    release: async () => {
      clearInterval(timer)
      await beating
      // The next holder's stamps begin after the last one that was given, and `changes.through` is later than it.
      claim.stamps?.hold(undefined)
      const until = stamps && fromMicros((claim.stamps?.newest ?? stamps.from) + 1n)
      await dialect.transaction((session) =>
        session.run(
          dialect.db
            .updateTable('sync_lease')
            .set({ ...nobody, stamps_until: until })
            .where('name', '=', name)
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

/** The row of the holder of the whole warehouse. */
export const lockHolder = async (warehouse: Reader): Promise<LeaseHolder | undefined> =>
  (await leaseRows(warehouse)).find(({ name }) => name === wholeName)

/** Whether a run writes at the moment, to all tenants or to some. */
export const isHeld = async (warehouse: Reader, { nowMicros }: Pick<Clock, 'nowMicros'>): Promise<boolean> =>
  (await leaseRows(warehouse)).some((row) => isLive(row, fromMicros(nowMicros())))

const leaseRows = (warehouse: Reader): Promise<LeaseHolder[]> =>
  warehouse.read((db) => db.selectFrom('sync_lease').selectAll().orderBy('name').execute())

/** When commands that a listener makes room for have last asked for its lease: another text than before if one does now. */
export async function wishes(warehouse: Reader, shard?: Shard): Promise<string> {
  const own = leaseName(shard)
  const heeded = (await leaseRows(warehouse)).filter(({ name }) => overlaps(name, own))
  return heeded.flatMap(({ name, wanted_at: at }) => (at ? `${name} ${at}` : [])).join()
}
