/**
 * The fence: what every commit of a run is checked against, so that it doesn't commit once another run has taken over,
 * nor once the database has lost what it had confirmed. lease.ts makes it with a claim; apply.ts and warehouse.ts check
 * it.
 */
import type { CompiledQuery } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import { Stop } from '../../base/errors.js'
import type { PageForgotten } from '../../model/flatten/batch.js'
import { compiledOnce } from '../database.js'
import type { Dialect } from '../dialect.js'
import { type Fence, wholeName } from '../store/versionbatch.js'
import type { Session } from '../transaction.js'

/**
 * The database no longer has what it confirmed, or may not have it: a crash without synchronous commits, a failover to a
 * replica that lagged, a backup that was restored, a file that was replaced. To walk on from what this process
 * remembers would leave a gap, so the run ends. That a harmless restart of the server ends it too was judged better.
 */
export const wentBack = (message: string): Stop =>
  new Stop(`${message}. It may lack what was stored since, so nothing more was written`, {
    exitCode: 1,
    code: 'warehouse_went_back',
    hint: 'Run the same command again: every list continues from what is stored now',
  })

/** The token of the lease, and in which database it is. */
export type TokenAt = Pick<Fence, 'token' | 'server'>

const heldToken = ({ db, server }: Dialect, name: string) =>
  db
    .selectFrom('sync_lease')
    .select(['token', server.as('server')])
    .where('name', '=', name)

/** A page was prepared before a record was forgotten. Thrown by the commit, which stores nothing. */
const preparedBefore = (): Stop =>
  new Stop('A customer was forgotten while this page was under way; nothing of it was written', {
    exitCode: 1,
    isPreparedBefore: true,
    hint: 'Run the same command again',
  })

export const wasPreparedBefore = (error: unknown): boolean =>
  error instanceof Stop && error.details.isPreparedBefore === true

/** The number that a page's commit expects: its own entries raise it. */
export const expectedGeneration = (page: { readonly forgotten?: PageForgotten }): Int64 => {
  const { generation = 0, entering = [], sharing = [] } = page.forgotten ?? {}
  return entering.length + sharing.length > 0 ? Number(generation) + 1 : generation
}

/** Of a page's commit, also how often the sets of forgotten records have changed: an older program's lease lacks that. */
const keptToken = (
  dialect: Dialect,
  of: 'state' | 'page',
  name: string,
): CompiledQuery<{
  readonly token: Int64 | null
  readonly server: string
  readonly forgotten?: Int64 | null
}> =>
  compiledOnce(dialect.db, `keptToken ${of}`, { name }, (row) => {
    const token = heldToken(dialect, row.name)
    const held = of === 'page' ? token.select('forgotten') : token
    return dialect.locksRows ? held.forShare() : held
  })

/**
 * Of the row of the whole warehouse, whose token every claim raises. undefined if nobody has ever claimed the lease. It doesn't
 * wait for a database that is away.
 */
export async function tokenNow(dialect: Dialect): Promise<TokenAt | undefined> {
  const row = await heldToken(dialect, wholeName).executeTakeFirst()
  return row && { token: row.token ?? 0, server: row.server }
}

/** Whether this is another database than before, or lacks what it had then: claims only take higher tokens. */
export const isEarlier = (now: TokenAt, before: TokenAt): boolean =>
  now.server !== before.server || Number(now.token) < Number(before.token)

/**
 * Stops if another run holds the lease, or if the database isn't the one that the lease was claimed in. Otherwise keeps
 * every claim out until the transaction ends.
 */
export async function checkFence(
  dialect: Dialect,
  session: Pick<Session, 'run'>,
  fence: Fence | undefined,
  /** Of a page: which sets of forgotten records it expects. */
  generation?: Int64,
): Promise<void> {
  if (fence === undefined) return
  const { where } = dialect
  const of = generation === undefined ? 'state' : 'page'
  const row = (await session.run(keptToken(dialect, of, fence.name))).rows[0]
  if (row?.token === fence.token && row.server === fence.server) {
    if (generation !== undefined && generation !== (row.forgotten ?? 0)) throw preparedBefore()
    return
  }
  if (row === undefined || row.server !== fence.server)
    throw wentBack(`The database of the warehouse ${where} was restarted or replaced during this run`)
  // Nobody can take over with a lower token: claims only take higher ones.
  if (Number(row.token) < Number(fence.token))
    throw wentBack(`The warehouse ${where} went back to an earlier state during this run`)
  throw new Stop(
    `Another run has taken over (its token is ${row.token}, ours is ${fence.token}); this page was not written`,
    {
      exitCode: 4,
      hint: 'This process was paused for longer than its lease lasts. Run the same command again when the other run has ended',
    },
  )
}
