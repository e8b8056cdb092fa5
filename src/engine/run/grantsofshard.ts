/*
 * Which tenants are granted, for the run of a shard. One of the shards asks the source, once an hour; the others go by the
 * table `tenants`, as it left it. If each asked, ten thousand tenants would cost a hundred requests for each shard.
 */
import { fromMicros, toMicros } from '../base/timestamp.js'
import { removeMeta, storeMetaUnless } from '../warehouse/state/meta.js'
import { readGranted } from '../warehouse/state/tenants.js'
import { type Authorizations, firstAuthorizations, type Granted } from './askauthorizations.js'
import type { WritingRun } from './runcontext.js'

/** In sync_meta: when a shard last began to ask, by the clock of the database. */
const markName = 'grants_asked_at'

/** Microseconds for which the answer is good. */
const goodFor = 3_600_000_000n
/** Microseconds for which the other shards wait for the first answer of all. The one that asks may have been killed. */
const awaitedFor = 120_000_000n
/** Microseconds by which the mark may be ahead of us: a transaction that began after ours may have committed first. */
const beganLater = 60_000_000n
/** Milliseconds between two looks. */
const betweenLooks = 1000

/** What the shards go by. `asked`: this one has asked. */
export interface KnownGrants {
  readonly granted: Granted
  readonly asked?: Authorizations
}

/** Which tenants are granted according to what is stored. Those in sync.exceptTenants, and forgotten ones, are left out. */
export function storedGrants(
  { config }: Pick<WritingRun, 'config'>,
  { granted, revoked, forgotten }: Awaited<ReturnType<typeof readGranted>>,
): Granted {
  const except = new Set(config.sync.exceptTenants)
  const isMeant = (id: (typeof granted)[number]): boolean => !(except.has(id) || forgotten.has(id))
  return { granted: granted.filter(isMeant), revoked, missing: [], forgotten, reason: null }
}

/** Whether this shard is the one that asks: at most one is told so. */
const mayAsk = ({ warehouse }: Pick<WritingRun, 'warehouse'>, isKnown: boolean): Promise<boolean> =>
  warehouse.transaction(async (session) => {
    const now = await warehouse.dialect.now(session, warehouse.clock)
    const from = fromMicros(toMicros(now) - (isKnown ? goodFor : awaitedFor))
    const until = fromMicros(toMicros(now) + beganLater)
    const mark = storeMetaUnless(warehouse.db, { name: markName, value: now }, { from, until })
    return (await session.run(mark)).affected > 0
  })

/** Asks, or waits for the first answer. */
export async function grantsOfShard(
  run: WritingRun,
  ask: () => Promise<Authorizations>,
): Promise<KnownGrants> {
  const { warehouse, signal, clock } = run
  for (;;) {
    const known = await readGranted(warehouse)
    if (await mayAsk(run, known.all > 0)) {
      try {
        const asked = await firstAuthorizations(ask)
        return { granted: asked, asked }
      } catch (error) {
        await warehouse.write([removeMeta(warehouse.db, markName)]).catch(() => {})
        throw error
      }
    }
    if (known.all > 0) return { granted: storedGrants(run, known) }
    await clock.sleep(betweenLooks, signal)
    signal.throwIfAborted()
  }
}
