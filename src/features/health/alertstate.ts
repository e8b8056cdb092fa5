/* Updates the incidents stored in the warehouse after a run: what opened and what is over. Used by tellrules.ts. */
import type { Int64 } from '../../../schema/resource.js'
import type { Clock } from '../../engine/base/clock.js'
import { since } from '../../engine/base/format.js'
import { shardName } from '../../engine/base/shard.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import type { FreshnessSettings } from '../../engine/config/targetsection.js'
import {
  type LastRun,
  readHolders,
  readShardRuns,
  runningMs,
  type StatusHolder,
} from '../../engine/run/lastrun.js'
import { cursorsWithin, mayBeTroubled } from '../../engine/warehouse/state/cursors.js'
import { askFailedWorks, failedWorksOf } from '../../engine/warehouse/state/failedworks.js'
import type { Session } from '../../engine/warehouse/transaction.js'
import type { Warehouse, Writer } from '../../engine/warehouse/warehouse.js'
import { type EventTroubles, type OddEvents, readEventTroubles } from '../events/eventtroubles.js'
import { isUnreadable, type UnreadableInbox } from '../events/watchinbox.js'
import { type BehindTarget, behindTargets } from '../targets/missedtargets.js'
import { staleAfterNow } from '../targets/stretchedbound.js'
import {
  type HealthRule,
  healthColumns,
  isLostTenant,
  overdueFor,
  tenantRows,
  tenantStandings,
} from './cursorhealth.js'
import { driftMark, isUntold } from './driftmark.js'
import type { KeptIncident } from './incident.js'
import {
  type After,
  type ComparedHow,
  compareIncidents,
  type EndedRun,
  incidentKey,
} from './incidentchanges.js'
import type { Facts } from './incidents.js'
import { type QuietList, quietLists } from './quietlists.js'
import {
  type AlertMark,
  driftBetween,
  forgetIncidents,
  incidentsSince,
  newestRuns,
  onIncidents,
  quarantineOf,
  resourcesRead,
  storeIncidents,
  storeMark,
} from './sql.js'
import {
  failedTroubles,
  killedShard,
  killedTrouble,
  ofShard,
  reportedTroubles,
  thrownTrouble,
} from './wholetrouble.js'
import { workerIncidents } from './workerhealth.js'

export interface AlertStateSettings {
  readonly clock: Clock
  /** Tenants named in the configuration; null: all that are granted. */
  readonly tenants: readonly Int64[] | null
  readonly exceptTenants: readonly Int64[]
  /** The resources that are synced. */
  readonly resources: readonly string[]
  readonly staleAfterMs: number
  readonly deletesUncheckedAfterMs: number
  /** `events.lateAfter`. */
  readonly lateAfterMs: number
  /** undefined without targets. */
  readonly targets?: FreshnessSettings | undefined
  /** Whether a rule names `behind_target`, and whether one names `quiet`. */
  readonly tellsBehind?: boolean
  readonly tellsQuiet?: boolean
  /** How long resolved incidents are kept, in milliseconds. */
  readonly keepMs: number
}

/** How long to keep trying to deliver a resolved incident that wasn't accepted: a week. */
const triedMs = 7 * 86_400_000

const ago = (nowMicros: bigint, milliseconds: number): string =>
  fromMicros(nowMicros - BigInt(milliseconds) * 1000n)

/** Incidents resolved before this are no longer reported to anyone. */
export const keptFrom = (nowMicros: bigint): string => ago(nowMicros, triedMs)

/** Earlier than every stamp. */
const everything = '0001-01-01T00:00:00.000000Z'

/**
 * Compares the current incidents with the stored ones, and stores the changes and what `use` makes of them in one
 * transaction.
 */
export async function updateIncidents<T>(
  warehouse: Writer,
  configured: AlertStateSettings,
  after: After,
  /** Which incidents to store in addition, and what to return to the caller. */
  use: (
    rows: readonly KeptIncident[],
    nowMicros: bigint,
  ) => { readonly changed: readonly KeptIncident[]; readonly result: T },
): Promise<T> {
  const settings = { ...configured, staleAfterMs: await staleAfterNow(warehouse, configured) }
  const { db } = warehouse
  const { run } = after
  const holders = await warehouse.read((reader) => readHolders(reader, settings.clock.nowMicros()))
  const round = { job: run.job, mode: 'whole', shard: null }
  const shards = run.isWhole ? await warehouse.read((reader) => readShardRuns(reader, round, holders)) : []
  const events = await readEventTroubles(warehouse, {
    nowMicros: settings.clock.nowMicros(),
    lateAfterMs: settings.lateAfterMs,
    runAfterMs: settings.staleAfterMs,
  })
  const { targets, tellsBehind } = settings
  const behind =
    targets && tellsBehind ? await behindTargets(warehouse, targets, settings.clock.nowMicros()) : []
  const quiet = settings.tellsQuiet
    ? await warehouse.read((reader) => quietLists(warehouse, reader, settings, settings.clock.nowMicros()))
    : []
  const workers = await workerIncidents(warehouse, settings.clock.nowMicros())
  return onIncidents(warehouse, async (session, before) => {
    const nowMicros = settings.clock.nowMicros()
    const known = await incidentsSince(db, session, keptFrom(nowMicros))
    const { facts, mark, isWanted } = await readFacts(warehouse, session, {
      settings,
      run,
      before,
      holders,
      shards,
      events,
      behind,
      quiet,
      workers,
      nowMicros,
    })
    const { rows, changed } = compareIncidents(known, facts, { ...after, isWanted })
    const used = use(rows, nowMicros)
    const latest = new Map([...changed, ...used.changed].map((row) => [incidentKey(row), row]))
    for (const statement of storeIncidents(db, [...latest.values()])) await session.run(statement)
    await session.run(storeMark(db, mark))
    await session.run(forgetIncidents(db, ago(nowMicros, Math.max(settings.keepMs, triedMs))))
    return used.result
  })
}

interface Reading {
  readonly settings: AlertStateSettings
  readonly run: EndedRun
  readonly before: AlertMark | null
  readonly holders: readonly StatusHolder[]
  /** The last runs of the shards, for the run after them. */
  readonly shards: readonly LastRun[]
  readonly events: EventTroubles | UnreadableInbox | undefined
  readonly behind: readonly BehindTarget[]
  readonly quiet: readonly QuietList[]
  readonly workers: readonly KeptIncident[]
  readonly nowMicros: bigint
}

async function readFacts({ db }: Warehouse, session: Session, reading: Reading) {
  const { settings, run, before, holders, events, behind, quiet, nowMicros } = reading
  const now = fromMicros(nowMicros)
  const { shard } = run
  const { runs, lastStamp } = await newestRuns(db, session, shard && shardName(shard))
  const own = new Set(run.reports.map(({ run_id }) => run_id))
  const begunBefore = run.reports[0]?.started_at ?? run.startedAt
  const place = runs.findLastIndex(({ run_id }) => own.has(run_id))
  // A run that produced no report may be on record, too.
  const earlier =
    place >= 0 ? runs.slice(place + 1) : runs.filter(({ started_at }) => (started_at ?? '') < begunBefore)
  const tenants = tenantStandings((await session.run(tenantRows(db).compile())).rows, settings)
  const walked = new Set(
    tenants.flatMap(({ tenant_id, revoked_at, excepted }) =>
      revoked_at === null && !excepted ? tenant_id : [],
    ),
  )
  const resources = new Set(settings.resources)
  // What the run that ended, or one that is under way, has read itself isn't stale, however long that run took.
  const ended = run.reports[0] ? since(run.reports[0].started_at, nowMicros) : 0
  const rule: HealthRule = {
    nowMicros,
    staleAfterMs: Math.max(settings.staleAfterMs, ended),
    ...{
      deletesUncheckedAfterMs: settings.deletesUncheckedAfterMs,
      runningMs: runningMs(beside(run, holders), nowMicros),
    },
  }
  const states = await cursorsWithin(session, db, healthColumns, {
    where: mayBeTroubled(overdueFor(rule)),
  })
  const read = await resourcesRead(db, session)
  const isWanted = (tenantId: Int64, resource: string): boolean =>
    walked.has(tenantId) && resources.has(resource)
  // If no run has finished in this warehouse yet, nothing is known.
  const isFirst = !earlier.some(({ finished_at }) => finished_at !== null)
  const from = before?.since ?? (isFirst ? everything : begunBefore)
  const through = lastStamp ?? everything
  const mark: AlertMark = {
    since: from,
    ...driftMark(before, run, { from, through }),
    resources: [...read].flatMap(([resource, isRead]) => (isRead ? resource : [])).sort(),
  }
  const drift = await driftBetween(db, session, { after: before?.driftThrough ?? from, through })
  const facts: Facts = {
    rule,
    cursors: states.filter(({ tenant_id, resource }) => isWanted(tenant_id, resource)),
    revoked: tenants.filter(isLostTenant),
    whole: wholeTroubles(run, now, {
      killed: killedTroubles(reading, earlier[0], now),
      failed: failedTroubles(failedWorksOf((await session.run(askFailedWorks(db))).rows)),
    }),
    reports: run.reports,
    quarantine: await quarantineOf(db, session, from),
    events: events && !isUnreadable(events) ? wantedEvents(events, isWanted) : events,
    behind: behind.filter(({ resource, tenant_id: id }) =>
      id === null ? resources.has(resource) : isWanted(id, resource),
    ),
    quiet,
    workers: reading.workers,
    drift:
      before === null
        ? []
        : drift.filter((entry) => isKnown(before, entry.resource, read) && isUntold(before, run, entry)),
  }
  return { facts, mark, isWanted }
}

const isGood = ({ reports, error }: EndedRun): boolean =>
  error === undefined && reports.length > 0 && reports.every(({ status }) => status === 'ok')

const wantedEvents = (
  { notListed, left, ...rest }: EventTroubles,
  isWanted: ComparedHow['isWanted'],
): EventTroubles => {
  const isOfWanted = ({ tenantId, resource }: OddEvents): boolean => isWanted(tenantId, resource)
  return { ...rest, notListed: notListed.filter(isOfWanted), left: left.filter(isOfWanted) }
}

/** Whether a resource was read completely before. Everything its first sync shows is new, but none of it is news. */
const isKnown = ({ resources }: AlertMark, resource: string, read: ReadonlyMap<string, boolean>): boolean =>
  resources.includes(resource) || !read.has(resource)

/** The runs at work on what this one judges. */
const beside = ({ shard }: EndedRun, holders: readonly StatusHolder[]): readonly StatusHolder[] =>
  shard ? holders.filter((holder) => holder.shard === null || holder.shard === shardName(shard)) : holders

/** The run before this one, or, for the run after all shards, the last run of each of them. */
function killedTroubles(
  { run, holders, shards }: Reading,
  previous: Parameters<typeof killedTrouble>[0],
  now: string,
): KeptIncident[] {
  if (!run.isWhole)
    return killedTrouble(previous, holders, isGood(run), now).map((found) => ofShard(run.shard, found))
  return shards.filter((last) => last.ended_without_a_word).map((last) => killedShard(last, now))
}

function wholeTroubles(
  { reports, error, isLook, shard }: EndedRun,
  now: string,
  others: { readonly killed: readonly KeptIncident[]; readonly failed: readonly KeptIncident[] },
): KeptIncident[] {
  if (isLook) return []
  const { killed, failed } = others
  const found = error === undefined ? reportedTroubles(reports, now) : [thrownTrouble(error, now)]
  const own = found.map((incident) => ofShard(shard, incident))
  // A snapshot that failed also ends its run. That is one incident, and it lasts beyond the next run.
  const known = new Set(failed.map(({ message }) => message))
  return [...own.filter(({ message }) => !known.has(message)), ...killed, ...failed]
}
