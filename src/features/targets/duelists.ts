/* The lists that a round chooses from, in the form of pollranking.ts: facts from the cursors and from events. */
import { resources as declared } from '../../../schema/index.js'
import type { Int64 } from '../../../schema/resource.js'
import { toMillis } from '../../engine/base/timestamp.js'
import type { ResourceModel } from '../../engine/model/resourcemodel.js'
import type { CursorTask } from '../../engine/run/tenant.js'
import { cursorName, type Reader } from '../../engine/warehouse/cursors.js'
import type { Announcements, WaitingEvents } from './announced.js'
import type { PolledList } from './pollranking.js'
import { allLists, type ListRow, readFailed } from './sql.js'

const hourMs = 3_600_000
/** A failed list is tried again after a quarter of its target, but not sooner than this. */
const soonestAgainMs = 900_000
/** How far the clocks of two machines may differ; a poll further ahead comes from a wrong clock. */
const clocksApartMs = 60_000
/** The assumed wait of a list whose last poll is in the future, in hours: longer than any bound. */
const forever = 1_000_000

export interface DueList extends PolledList {
  readonly task: CursorTask
}

export interface DueLists {
  readonly polled: readonly DueList[]
  /** Lists with a started walk come first, then unknown lists, then failed ones. */
  readonly unread: readonly CursorTask[]
}

interface Wanted {
  readonly resources: readonly ResourceModel[]
  readonly tenants: readonly Int64[]
}

interface DueBy {
  readonly announcements: Announcements | undefined
  /** Canonical timestamp. */
  readonly now: string
  /** In milliseconds. */
  targetOf(resource: string): number
}

const nameOf = ({ tenant_id: tenantId, resource }: Pick<ListRow, 'tenant_id' | 'resource'>): string =>
  cursorName({ tenantId, resource })

/** The lists that may be polled, without those that the source doesn't offer or that failed just now. */
export async function dueLists(
  warehouse: Reader,
  { resources, tenants }: Wanted,
  { announcements, now, targetOf }: DueBy,
): Promise<DueLists> {
  const upSince = (await announcements?.upSince(now)) ?? null
  const waiting = (await announcements?.waiting(now)) ?? new Map<string, WaitingEvents>()
  const nowMs = toMillis(now)
  const resting = await restingLists(warehouse, nowMs, targetOf)
  const byName = new Map(resources.map((resource) => [resource.name, resource]))
  const isWanted = new Set(tenants)
  const known = new Map(resources.map(({ name }) => [name, new Set<Int64>()]))
  const polled: DueList[] = []
  const begun: CursorTask[] = []
  const failed: CursorTask[] = []
  const take = (row: ListRow): void => {
    const resource = byName.get(row.resource)
    if (!resource || !isWanted.has(row.tenant_id)) return
    known.get(row.resource)?.add(row.tenant_id)
    const task = { tenantId: row.tenant_id, resource }
    if (row.status === 'unavailable' || (row.status === 'failed' && resting.has(nameOf(row)))) return
    const at = row.polled_at ?? row.last_success_at
    const events = waiting.size === 0 ? undefined : waiting.get(nameOf(row))
    if (at !== null) polled.push(polledList(row, task, { at, nowMs, upSince, waiting: events }))
    else if (Number(row.under_way) === 1) begun.push(task)
    else failed.push(task)
  }
  for await (const rows of allLists(warehouse)) for (const row of rows) take(row)
  const fresh = tenants.flatMap((tenantId) =>
    resources.flatMap((resource) =>
      known.get(resource.name)?.has(tenantId) ? [] : [{ tenantId, resource }],
    ),
  )
  return { polled, unread: [...begun, ...fresh, ...failed] }
}

/** Lists that failed so recently that another try can wait. */
async function restingLists(
  warehouse: Reader,
  nowMs: number,
  targetOf: DueBy['targetOf'],
): Promise<ReadonlySet<string>> {
  const rows = await readFailed(warehouse)
  const rests = rows.filter(({ resource, at }) => {
    const since = at === null ? Number.POSITIVE_INFINITY : nowMs - toMillis(at)
    return since >= 0 && since < Math.max(soonestAgainMs, targetOf(resource) / 4)
  })
  return new Set(rests.map(({ tenant_id, resource }) => cursorName({ tenantId: tenant_id, resource })))
}

interface PolledHow {
  readonly at: string
  readonly nowMs: number
  readonly upSince: string | null
  readonly waiting: WaitingEvents | undefined
}

function polledList(row: ListRow, task: CursorTask, { at, nowMs, upSince, waiting }: PolledHow): DueList {
  const waited = nowMs - toMillis(at)
  // If a listener was running all the time, polls are only for what nobody announced.
  const isHeard = upSince !== null && upSince <= at && declared[row.resource]?.announced === true
  return {
    task,
    resource: row.resource,
    waited: waited < -clocksApartMs ? forever : Math.max(0, waited) / hourMs,
    news: Number((isHeard ? row.news_unannounced : row.news) ?? 0),
    hours: Number(row.news_hours ?? 0),
    events: waiting?.count ?? 0,
    eventAges: waiting?.hours ?? 0,
  }
}
