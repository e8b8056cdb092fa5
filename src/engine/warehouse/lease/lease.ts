/**
 * The lease: one process at a time writes a tenant (docs/dev/architecture.md, What else the engine rests on). A claim is one
 * transaction, in which a process becomes the holder of a row of `sync_lease`. Claims come one after the other: each locks
 * row `run` first, and so sees what the one before it did. openlease.ts claims for commands that write; fence.ts checks the
 * token in every commit.
 */
import { sql } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import type { Clock, Stamps } from '../../base/clock.js'
import { Bug, Retry, Stop } from '../../base/errors.js'
import type { Shard } from '../../base/shard.js'
import { addMicros, fromMicros, latest, toMicros } from '../../base/timestamp.js'
import type { Model } from '../../model/resourcemodel.js'
import { isOfTable } from '../classify.js'
import type { Reader } from '../database.js'
import type { Dialect } from '../dialect.js'
import { checkPrivacy, storedPrivacy } from '../hiding/privacystate.js'
import { metaQuery, storeMeta } from '../state/meta.js'
import { highestOfRuns } from '../state/runs.js'
import { type Fence, wholeName } from '../store/versionbatch.js'
import type { Session } from '../transaction.js'
import type { Warehouse } from '../warehouse.js'
import { checkFence } from './fence.js'
import {
  heldBy,
  isLive,
  isWanted,
  type LeaseHolder,
  later,
  leaseName,
  listenCommand,
  nobody,
  overlaps,
  thisMachine,
  waitedFor,
} from './holder.js'
import { type RowSettings, rowSettingsName } from './oneconfiguration.js'

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
  /** What shapes the rows that the holder stores, and hides of them. undefined if it stores none. */
  readonly shaping?: { readonly rowSettings: RowSettings; readonly model: Model } | undefined
}

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

/* The claim. */

interface Claimed {
  readonly name: string
  readonly token: Int64
  /** Which database it is. */
  readonly server: string
  readonly hasForgotten: boolean
  readonly stamps?: { readonly from: bigint; readonly until: bigint } | undefined
  /** Settings that shape rows and that shards at work have otherwise, by name. */
  readonly differing: readonly string[]
  /** Whether the warehouse has the holder's settings as those that shape rows. */
  readonly hasSettings: boolean
}

/** A row of the lease, and what the claim's statement reads beside it. */
interface Row extends LeaseHolder {
  readonly server: string
  readonly settings: string | null
  readonly any_forgotten: Int64 | null
}

interface Found {
  readonly own: Row
  /** Rows of holders that could write the same tenants. */
  readonly overlapping: readonly Row[]
  /** Rows of holders that can't. */
  readonly siblings: readonly Row[]
  readonly now: string
}

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

/**
 * What all stamps of a new holder are later than: where those of each other holder began, and the end of those that can
 * write no more. How far a sibling at work may still go doesn't count: its tenants are its own, and of many shards that
 * start together each would begin half a minute later than the one before.
 */
export function stampsFloor(
  { own, overlapping, siblings }: Pick<Found, 'own' | 'overlapping' | 'siblings'>,
  claim: LeaseRequest,
): string {
  const clock = fromMicros(claim.clock.nowMicros())
  const all = [own, ...overlapping, ...siblings]
  const over = [own, ...overlapping, ...siblings.filter(({ owner }) => owner === null)]
  return latest([
    clock,
    ...all.map(({ stamps_from: from }) => from),
    ...over.map((row) => stampsEnd(row, clock, claim)),
  ])
}

/** How far the stamps of a new holder go at first. */
const stampsUntil = (from: string, claim: LeaseRequest): string =>
  claim.stamps ? later(from, reserved(claim)) : addMicros(from, 1n)

/**
 * The token and the stamps of a new holder: later than everything on record, whatever the clocks of those who recorded it
 * were. They are on record before any row can have them. Runs keep their tokens, so a lease of before gives none twice.
 */
async function above({ db }: Dialect, session: Session, claim: LeaseRequest, found: Found) {
  const { own, overlapping, siblings, now } = found
  const tokens = [own, ...overlapping, ...siblings].map(({ token }) => Number(token ?? 0))
  const runs = claim.isBare ? undefined : (await session.run(highestOfRuns(db))).rows[0]
  const token = Math.max(...tokens, Number(runs?.token ?? 0)) + 1
  // A warehouse of an older program, as `copy` finds it, doesn't have these columns.
  if (!('stamps_from' in own)) return { token }
  const ended = [runs?.started, runs?.finished, runs?.stamped]
  const from = addMicros(latest([now, stampsFloor(found, claim), ...ended]), 1n)
  // Without requests it stamps what it rewrites with the floor (tenants.ts): nothing may count as settled meanwhile.
  return { token, stamps_from: from, stamps_until: stampsUntil(from, claim) }
}

/** Changes nothing, but locks the row of the whole warehouse until the transaction ends. */
export const lockRow = (db: Dialect['db']) =>
  db.updateTable('sync_lease').set({ name: wholeName }).where('name', '=', wholeName).compile()

/** Part of a statement: the text that shaped the rows last. A bare warehouse may have no such table. */
const storedSettings = (db: Dialect['db'], { shaping }: LeaseRequest) =>
  shaping ? metaQuery(db, rowSettingsName) : sql<string | null>`null`

/** A new lease row, such as that of a copy, hasn't counted changes of what was forgotten. */
const anyForgotten = (db: Dialect['db'], { isBare }: LeaseRequest) =>
  isBare
    ? sql<Int64 | null>`null`
    : db.selectFrom('sync_forgotten_records').select('tenant_id').limit(1).$castTo<Int64 | null>()

/** Locks what claims wait for, and reads all rows. */
async function read(dialect: Dialect, session: Session, claim: LeaseRequest): Promise<Found> {
  const { db, server } = dialect
  const name = leaseName(claim.shard)
  for (const row of new Set([wholeName, name]))
    await session.run(
      db
        .insertInto('sync_lease')
        .values({ name: row, token: 0, ...nobody, claimed_at: null })
        .onConflict((c) => c.doNothing())
        .compile(),
    )
  // Of two concurrent claims, the second one sees the first.
  await session.run(lockRow(db))
  const query = db
    .selectFrom('sync_lease')
    .selectAll()
    .select([
      server.as('server'),
      storedSettings(db, claim).as('settings'),
      anyForgotten(db, claim).as('any_forgotten'),
    ])
    .orderBy('name', 'desc')
  const { rows } = await session.run(query.compile())
  const own = rows.find((row) => row.name === name)
  if (!own) throw new Bug('The lease has no row')
  const others = rows.filter((row) => row !== own)
  return {
    own,
    overlapping: others.filter((row) => overlaps(row.name, name)),
    siblings: others.filter((row) => !overlaps(row.name, name)),
    now: await dialect.now(session, claim.clock),
  }
}

/** A run may claim its own lease again, when it repeats a claim whose commit was not confirmed. */
function refuseHeld({ own, overlapping, now }: Found, claim: LeaseRequest, where: string): void {
  const name = leaseName(claim.shard)
  const rows = [own, ...overlapping]
  const held = rows.filter((row) => row.owner !== claim.runId && isLive(row, now, claim.leaseMs))
  // A listener makes room within seconds, so the message names another holder if there is one.
  const [holder] = held.toSorted(
    (a, b) => Number(a.command === listenCommand) - Number(b.command === listenCommand),
  )
  if (holder) throw heldBy(holder, name, where)
  const isListener = claim.command === listenCommand
  const heeded = rows.filter((row) => isListener || (claim.shard && row.name === wholeName))
  if (heeded.some((row) => isWanted(row, now))) throw waitedFor(where, claim.command)
}

/**
 * Compares the settings that shape rows. Beside shards at work that have others, a shard only tells: each tenant's rows
 * are shaped by its own holder, and a shard that refused would leave its tenants behind.
 */
async function compareSettings(
  { db, where }: Dialect,
  session: Session,
  { own, siblings, now }: Found,
  { shaping, leaseMs }: LeaseRequest,
): Promise<Pick<Claimed, 'differing' | 'hasSettings'>> {
  if (!shaping) return { differing: [], hasSettings: false }
  const { rowSettings, model } = shaping
  const atWork = siblings.filter((row) => isLive(row, now, leaseMs))
  const differing = rowSettings.differing(atWork.flatMap((row) => row.row_settings ?? []))
  if (differing.length === 0) rowSettings.check(own.settings, where)
  checkPrivacy((await session.run(storedPrivacy(db).compile())).rows, model, where)
  if (differing.length === 0 && rowSettings.text !== own.settings)
    await session.run(storeMeta(db, rowSettingsName, rowSettings.text))
  return { differing, hasSettings: differing.length === 0 }
}

/** A process that held one of these rows, and sleeps, can commit nothing when it wakes. */
export const fencedOff = (db: Dialect['db'], names: readonly string[]) =>
  db
    .updateTable('sync_lease')
    .set((eb) => ({ ...nobody, token: eb(eb.fn.coalesce('token', eb.lit(0)), '+', eb.lit(1)) }))
    .where('name', 'in', [...names])
    .compile()

/** Makes the process the holder, in one transaction. Throws LeaseHeld, and whatever refuses its settings. */
async function take(dialect: Dialect, session: Session, claim: LeaseRequest): Promise<Claimed> {
  const { db, where } = dialect
  const found = await read(dialect, session, claim)
  const { own, overlapping, now } = found
  refuseHeld(found, claim, where)
  const compared = await compareSettings(dialect, session, found, claim)
  const mine = {
    ...(await above(dialect, session, claim, found)),
    owner: claim.runId,
    host: thisMachine(),
    pid: process.pid,
    command: claim.command,
    claimed_at: now,
    expires_at: later(now, claim.leaseMs),
    // A warehouse of an older program, as `copy` finds it, doesn't have these columns.
    wanted_at: claim.command !== listenCommand && own.wanted_at ? null : undefined,
    row_settings: claim.shaping?.rowSettings.text,
  }
  if (overlapping.length > 0)
    await session.run(
      fencedOff(
        db,
        overlapping.map(({ name }) => name),
      ),
    )
  await session.run(db.updateTable('sync_lease').set(mine).where('name', '=', own.name).compile())
  const { token, stamps_from: from, stamps_until: until } = mine
  return {
    name: own.name,
    token,
    server: own.server,
    ...compared,
    hasForgotten: (own.forgotten ?? null) !== null || own.any_forgotten !== null,
    stamps: claim.stamps && from && until ? { from: toMicros(from), until: toMicros(until) } : undefined,
  }
}

/* What a holder does, and who waits for it. */

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
export const isHeld = async (warehouse: Reader, { nowMicros }: Clock): Promise<boolean> =>
  (await leaseRows(warehouse)).some((row) => isLive(row, fromMicros(nowMicros())))

const leaseRows = (warehouse: Reader): Promise<LeaseHolder[]> =>
  warehouse.read((db) => db.selectFrom('sync_lease').selectAll().orderBy('name').execute())

/** When commands that a listener makes room for have last asked for its lease: another text than before if one does now. */
export async function wishes(warehouse: Reader, shard?: Shard): Promise<string> {
  const own = leaseName(shard)
  const heeded = (await leaseRows(warehouse)).filter(({ name }) => overlaps(name, own))
  return heeded.flatMap(({ name, wanted_at: at }) => (at ? `${name} ${at}` : [])).join()
}
