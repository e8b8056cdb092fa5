/*
 * The queries for ranking the cursors: only a few columns, since a warehouse may have hundreds of thousands of cursors.
 */
import { sql } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import type { Shard } from '../../engine/base/shard.js'
import type { Db } from '../../engine/warehouse/database.js'
import type { Reader } from '../../engine/warehouse/state/cursors.js'
import { isOfShard } from '../../engine/warehouse/state/shardsql.js'
import { type WantedCursors, wantedCursors } from '../../engine/warehouse/state/wantedcursors.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { withDelays } from './tables.js'

/** Lists per statement: the rows of all of them at once would take more memory than everything else. */
const listsAtOnce = 2000

interface LastList {
  readonly tenant_id: Int64
  readonly resource: string
}

/** Lists of all tenants, or of a shard's, behind one in key order. */
interface Part {
  readonly after: LastList | undefined
  readonly shard: Shard | undefined
}

/** What comes behind a list in key order. */
const behind = (tenant: string, resource: string, after: LastList | undefined) =>
  sql<boolean>`(${sql.ref(tenant)}, ${sql.ref(resource)}) > (${after?.tenant_id ?? 0}, ${after?.resource ?? ''})`

async function* inParts<T extends LastList>(
  read: (after: T | undefined) => Promise<T[]>,
): AsyncGenerator<readonly T[]> {
  for (let last: T | undefined; ; ) {
    const rows: T[] = await read(last)
    yield rows
    last = rows.at(-1)
    if (rows.length < listsAtOnce) return
  }
}

/** Resources whose changes somebody has listened for since then. */
export interface Listening {
  readonly since: string
  readonly names: readonly string[]
}

/** When the list was last read. */
const at = sql<string | null>`coalesce(polled_at, last_success_at)`

/** If a listener was running all the time, polls are only for what nobody announced. */
const newsOf = (listening: Listening | undefined) =>
  listening
    ? sql<
        number | null
      >`case when resource in (${sql.join(listening.names)}) and ${at} >= ${listening.since} then news_unannounced else news end`
    : sql<number | null>`news`

/** `under_way`: 1 while an interrupted walk is to be resumed. */
const readLists = (warehouse: Reader, listening: Listening | undefined, { after, shard }: Part) =>
  warehouse.read((db) => {
    const lists = db
      .selectFrom('sync_cursors')
      .select(['tenant_id', 'resource', 'status', 'news_hours', at.as('at'), newsOf(listening).as('news')])
      .select(sql<number>`case when walk is null then 0 else 1 end`.as('under_way'))
      .$if(after !== undefined, (query) => query.where(behind('tenant_id', 'resource', after)))
      .orderBy('tenant_id')
      .orderBy('resource')
      .limit(listsAtOnce)
    return (shard ? lists.where(isOfShard(sql.ref('tenant_id'), shard)) : lists).execute()
  })

export type ListRow = Awaited<ReturnType<typeof readLists>>[number]

/** All lists in key order, a few thousand at a time. */
export const allLists = (
  warehouse: Reader,
  listening: Listening | undefined,
  shard?: Shard,
): AsyncGenerator<readonly ListRow[]> => inParts((after) => readLists(warehouse, listening, { after, shard }))

/** By resource: what the polls of its lists have found, and how many lists the source does not offer. */
export const readTotals = (warehouse: Reader, listening: Listening | undefined) =>
  warehouse.read((db) =>
    db
      .selectFrom('sync_cursors')
      .groupBy('resource')
      .select('resource')
      .select((eb) => [
        eb.fn.sum<number | null>(newsOf(listening)).as('news'),
        eb.fn.sum<number | null>('news_hours').as('hours'),
        sql<number>`sum(case when status = 'unavailable' then 1 else 0 end)`.as('unavailable'),
      ])
      .execute(),
  )

/** The lists whose last walk failed, or which the source didn't offer, and when. */
export const readFailed = (
  warehouse: Reader,
  shard: Shard | undefined,
): Promise<
  {
    readonly tenant_id: Int64
    readonly resource: string
    readonly status: string | null
    readonly reason: string | null
    /** End of the last attempt. */
    readonly at: string | null
  }[]
> =>
  warehouse.read((db) => {
    const failed = db
      .selectFrom('sync_cursors as c')
      .innerJoin('sync_run_cursors as r', (join) =>
        join
          .onRef('r.run_id', '=', 'c.last_run_id')
          .onRef('r.tenant_id', '=', 'c.tenant_id')
          .onRef('r.resource', '=', 'c.resource'),
      )
      .where('c.status', 'in', ['failed', 'unavailable'])
      .groupBy(['c.tenant_id', 'c.resource', 'c.status', 'c.reason'])
      .select(['c.tenant_id', 'c.resource', 'c.status', 'c.reason'])
      .select((eb) => eb.fn.max<string | null>('r.finished_at').as('at'))
    return (shard ? failed.where(isOfShard(sql.ref('c.tenant_id'), shard)) : failed).execute()
  })

const readChecks = (warehouse: Reader, since: string, { after, shard }: Part) =>
  warehouse.read((db) => {
    const checks = db
      .selectFrom('sync_cursors as c')
      .leftJoin('sync_registers as r', (join) =>
        join.onRef('r.tenant_id', '=', 'c.tenant_id').onRef('r.resource', '=', 'c.resource'),
      )
      .where(({ eb, fn }) => eb(fn.coalesce('c.polled_at', 'c.last_success_at'), 'is not', null))
      .where((eb) => eb.or([eb('c.deletes_checked_at', 'is', null), eb('c.deletes_checked_at', '<=', since)]))
      .select(['c.tenant_id', 'c.resource', 'c.status', 'c.deletes_checked_at', 'c.remembered'])
      .select('r.live_rows')
      .$if(after !== undefined, (query) => query.where(behind('c.tenant_id', 'c.resource', after)))
      .orderBy('c.tenant_id')
      .orderBy('c.resource')
      .limit(listsAtOnce)
    return (shard ? checks.where(isOfShard(sql.ref('c.tenant_id'), shard)) : checks).execute()
  })

export type CheckRow = Awaited<ReturnType<typeof readChecks>>[number]

/** The lists that have been read and whose deletions were not checked since then, with their rows, in key order. */
export const uncheckedLists = (
  warehouse: Reader,
  since: string,
  shard?: Shard,
): AsyncGenerator<readonly CheckRow[]> => inParts((after) => readChecks(warehouse, since, { after, shard }))

/** The outcome of changes since that hour: by resource, and by list for tenants with targets of their own. */
export async function delaysSince(
  warehouse: Pick<Warehouse, 'has' | 'read'>,
  hour: string,
): Promise<{ resource: string; tenant_id?: Int64 | undefined; met: number; missed: number }[]> {
  const read = <T>(work: (db: ReturnType<typeof withDelays>) => Promise<T>): Promise<T> =>
    warehouse.read((db) => work(withDelays(db)))
  const rows = await read((db) =>
    db
      .selectFrom('sync_delays')
      .where('hour', '>=', hour)
      .groupBy('resource')
      .select('resource')
      .select((eb) => [eb.fn.sum<number>('met').as('met'), eb.fn.sum<number>('missed').as('missed')])
      .execute(),
  )
  // A warehouse that nothing has brought up to date yet lacks the table.
  const own = (await warehouse.has('sync_tenant_delays'))
    ? await read((db) =>
        db
          .selectFrom('sync_tenant_delays')
          .where('hour', '>=', hour)
          .groupBy(['tenant_id', 'resource'])
          .select(['tenant_id', 'resource'])
          .select((eb) => [eb.fn.sum<number>('met').as('met'), eb.fn.sum<number>('missed').as('missed')])
          .execute(),
      )
    : []
  return [...rows, ...own].map((row) => ({ ...row, met: Number(row.met), missed: Number(row.missed) }))
}

/** The lists that are polled: wanted, granted and offered by the source. */
const polledLists = (db: Db, wanted: WantedCursors) =>
  wantedCursors(db, wanted).where((eb) =>
    eb.or([eb('status', '<>', 'unavailable'), eb('status', 'is', null)]),
  )

/** Their oldest last poll, by resource. */
export const oldestPolls = (warehouse: Reader, wanted: WantedCursors) =>
  warehouse.read((db) =>
    polledLists(db, wanted)
      .groupBy('resource')
      .select('resource')
      .select((eb) => eb.fn.min<string | null>('polled_at').as('at'))
      .execute(),
  )

/** Their last polls, each. */
export const lastPolls = (warehouse: Reader, wanted: WantedCursors) =>
  warehouse.read((db) =>
    polledLists(db, wanted).select(['tenant_id', 'resource', 'polled_at as at']).execute(),
  )
