/* The lists that a round chooses from, in the form of pollranking.ts: facts from the cursors and from events. */
import { resources as declared } from '../../../schema/index.js'
import type { Int64 } from '../../../schema/resource.js'
import type { Shard } from '../../engine/base/shard.js'
import { toMillis } from '../../engine/base/timestamp.js'
import type { FreshnessSettings } from '../../engine/config/targetsection.js'
import type { ResourceModel } from '../../engine/model/resourcemodel.js'
import type { CursorTask } from '../../engine/run/tenant.js'
import type { Reader } from '../../engine/warehouse/database.js'
import { type CursorPart, cursorParts, pollTotals, rowName } from '../../engine/warehouse/state/cursors.js'
import type { Announcements, WaitingEvents } from './announced.js'
import type { PolledList } from './pollranking.js'
import { type ListWaits, restingLists } from './restinglists.js'

const hourMs = 3_600_000
/** How far the clocks of two machines may differ; a poll further ahead comes from a wrong clock. */
const clocksApartMs = 60_000
/** The assumed wait of a list whose last poll is in the future, in hours: longer than any bound. */
const forever = 1_000_000

export interface DueList extends PolledList {
  readonly task: CursorTask
}

/** Resources whose changes somebody has listened for since then. */
interface Listening {
  readonly since: string
  readonly names: readonly string[]
}

/** What events tell of the lists. */
interface Heard {
  /** undefined where nobody listens. */
  readonly listening?: Listening | undefined
  /** By cursor. */
  readonly waiting: ReadonlyMap<string, WaitingEvents>
}

export const nothingHeard: Heard = { waiting: new Map() }

/** `now`: canonical timestamp. */
export async function heardOf(announcements: Announcements | undefined, now: string): Promise<Heard> {
  if (!announcements) return nothingHeard
  const since = await announcements.upSince(now)
  const names = Object.values(declared).flatMap(({ name, announced }) => (announced ? name : []))
  return {
    listening: since === null ? undefined : { since, names },
    waiting: await announcements.waiting(now),
  }
}

/** Only a few columns: a warehouse may have hundreds of thousands of cursors. */
const listColumns = [
  'status',
  'polled_at',
  'last_success_at',
  'news',
  'news_unannounced',
  'news_hours',
  'is_walking',
] as const
type ListRow = CursorPart<(typeof listColumns)[number]>

/** If a listener was running all the time since the list was read, polls are only for what nobody announced. */
const newsOf = (
  listening: Listening | undefined,
  { resource, news, news_unannounced }: Pick<ListRow, 'resource' | 'news' | 'news_unannounced'>,
  isReadSince: boolean,
): number => Number((isReadSince && listening?.names.includes(resource) ? news_unannounced : news) ?? 0)

/** Of all lists of a resource. */
export interface ResourceTotals extends Pick<PolledList, 'resource' | 'news' | 'hours'> {
  /** Lists that the source doesn't offer. */
  readonly unavailable: number
}

/** What polls have found, per resource, in the lists of all tenants. */
export async function totalsOf(warehouse: Reader, { listening }: Heard): Promise<readonly ResourceTotals[]> {
  const totals = new Map<string, ResourceTotals>()
  for (const row of await pollTotals(warehouse, listening?.since)) {
    const { resource, news_hours, unavailable } = row
    const others = totals.get(resource) ?? { news: 0, hours: 0, unavailable: 0 }
    totals.set(resource, {
      resource,
      news: others.news + newsOf(listening, row, Number(row.is_since) === 1),
      hours: others.hours + Number(news_hours ?? 0),
      unavailable: others.unavailable + Number(unavailable),
    })
  }
  return [...totals.values()]
}

/**
 * The lists that may be polled, without those that failed or weren't offered just now. Resolves to the lists that were
 * never read: those that weren't offered come first, since each costs one request; then those with a started walk, then
 * unknown lists, then failed ones.
 */
export async function dueLists(
  warehouse: Reader,
  {
    resources,
    tenants,
  }: { readonly resources: readonly ResourceModel[]; readonly tenants: readonly Int64[] },
  {
    heard,
    now,
    atLeast,
    targetOf,
    own,
    shard,
    take,
  }: ListWaits & {
    readonly own?: FreshnessSettings['own']
    readonly heard: Heard
    readonly shard?: Shard | undefined
    /** Canonical timestamp. */
    readonly now: string
    /** Takes each list that was read before: all of them at once would take more memory than all else. */
    take(list: DueList): void
  },
): Promise<readonly CursorTask[]> {
  const nowMs = toMillis(now)
  const resting = await restingLists(warehouse, nowMs, { atLeast, targetOf, shard })
  const byName = new Map(resources.map((resource) => [resource.name, resource]))
  const isWanted = new Set(tenants)
  const known = new KnownLists(resources.length)
  const begun: CursorTask[] = []
  const failed: CursorTask[] = []
  const absent: CursorTask[] = []
  const judge = (row: ListRow): void => {
    const resource = byName.get(row.resource)
    if (!resource || !isWanted.has(row.tenant_id)) return
    known.add(row)
    const task = { tenantId: row.tenant_id, resource }
    const isAbsent = row.status === 'unavailable'
    const at = row.polled_at ?? row.last_success_at
    if ((isAbsent || row.status === 'failed') && resting.has(rowName(row))) return
    if (isAbsent) absent.push(task)
    else if (at !== null) {
      const ownTarget = own?.targetOf(row.resource, row.tenant_id)
      const list = polledList(row, task, { at, nowMs, heard })
      take(ownTarget === undefined ? list : { ...list, ownTarget: ownTarget / hourMs })
    } else if (row.is_walking) begun.push(task)
    else failed.push(task)
  }
  for await (const rows of cursorParts(warehouse, listColumns, { shard })) for (const row of rows) judge(row)
  const fresh = tenants.flatMap((tenantId) =>
    resources.flatMap((resource) => (known.has(tenantId, resource.name) ? [] : [{ tenantId, resource }])),
  )
  return [...absent, ...begun, ...fresh, ...failed]
}

/** Which lists have a cursor. Where each resource of a tenant has one, as nearly everywhere, a tenant takes no set of its own. */
class KnownLists {
  readonly #some = new Map<Int64, Set<string>>()
  readonly #all = new Set<Int64>()

  constructor(private readonly resources: number) {}

  add({ tenant_id: tenantId, resource }: Pick<ListRow, 'tenant_id' | 'resource'>): void {
    const names = this.#some.get(tenantId) ?? new Set()
    this.#some.set(tenantId, names.add(resource))
    if (names.size < this.resources) return
    this.#all.add(tenantId)
    this.#some.delete(tenantId)
  }

  has(tenantId: Int64, resource: string): boolean {
    return this.#all.has(tenantId) || this.#some.get(tenantId)?.has(resource) === true
  }
}

/** `at`: when it was last read. */
function polledList(
  row: ListRow,
  task: CursorTask,
  {
    at,
    nowMs,
    heard: { listening, waiting },
  }: { readonly at: string; readonly nowMs: number; readonly heard: Heard },
): DueList {
  const events = waiting.size === 0 ? undefined : waiting.get(rowName(row))
  const waited = nowMs - toMillis(at)
  return {
    task,
    resource: row.resource,
    waited: waited < -clocksApartMs ? forever : Math.max(0, waited) / hourMs,
    news: newsOf(listening, row, listening !== undefined && at >= listening.since),
    hours: row.news_hours ?? 0,
    events: events?.count ?? 0,
    eventAges: events?.hours ?? 0,
  }
}
