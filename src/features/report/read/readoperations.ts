/* What the operator's page shows: how the data arrived, from the product's own tables. */

import { groupedBy } from '../../../engine/base/parts.js'
import { fromMicros } from '../../../engine/base/timestamp.js'
import { absenceText } from '../../../engine/warehouse/layout/migrate.js'
import type { Warehouse } from '../../../engine/warehouse/warehouse.js'
import { readEventsStatus } from '../../events/eventview.js'
import { lateWords } from '../../health/cursorhealth.js'
import { heardText } from '../../health/heardwords.js'
import { openIncidents } from '../../health/openincidents.js'
import { readRuns } from '../../runs/work.js'
import { readFreshness } from '../../targets/freshnessplan.js'
import { stretchedBound } from '../../targets/stretchedbound.js'
import { stretchedText } from '../../targets/words.js'
import type { OperationsData } from '../operationsdata.js'
import { askDrift, askQuarantine, askRuns, countDrift, countLaterDrift } from './asktrust.js'
import { type OpenedWarehouse, type ReportOptions, withData } from './opening.js'
import { numberFrom } from './reportdays.js'
import { byResource, oldestRead, troubledTenants } from './trust.js'

const daysShown = 30
const runsShown = 8
const dayMicros = 86_400_000_000n

const nothingYet = {
  isEmpty: true,
  belongsTo: null,
  incidents: [],
  late: '',
  oldestRead: null,
  events: [],
  days: [],
  runs: [],
  resources: [],
  targets: [],
  stretched: '',
  quarantine: [],
  drift: [],
  driftSeen: 0,
  driftSince: 0,
  nextRun: null,
  troubled: { all: 0, worst: [] },
} as const

/** The day this many days after an instant's day, in UTC. */
const dayAfter = (micros: bigint, days: number): string =>
  fromMicros(micros + BigInt(days) * dayMicros).slice(0, 10)

function runDays(runs: Awaited<ReturnType<typeof askRuns>>, nowMicros: bigint): OperationsData['days'] {
  const byDay = groupedBy(runs, ({ started_at }) => started_at?.slice(0, 10) ?? '')
  return Array.from({ length: daysShown }, (_, i) => {
    const day = dayAfter(nowMicros, i + 1 - daysShown)
    const rows = byDay.get(day) ?? []
    const withStatus = (...of: readonly string[]): number =>
      rows.filter(({ status }) => of.includes(status ?? '')).length
    return {
      day,
      ok: withStatus('ok'),
      partial: withStatus('partial'),
      failed: withStatus('failed', 'interrupted'),
      requests: rows.reduce((sum, row) => sum + numberFrom(row.requests), 0),
      rateLimited: rows.reduce((sum, row) => sum + numberFrom(row.rate_limited), 0),
    }
  })
}

/** Text that fits on a table line. */
const shortened = (text: string): string => (text.length > 120 ? `${text.slice(0, 119)}…` : text)

export async function readOperations(options: ReportOptions): Promise<OperationsData> {
  const { warehouse, label, nowMicros } = options
  const found = await withData(options, ['dim_tenants'], (opened) => stateOf(opened, options))
  const head = { madeAt: fromMicros(nowMicros), warehouse: label }
  if (found === undefined) return { ...head, ...nothingYet, absent: await absenceText(warehouse) }
  return { ...head, isEmpty: false, ...found, ...(await runsAndEvents(warehouse, options)) }
}

async function stateOf(
  { held: { db }, belongsTo, found }: OpenedWarehouse,
  { warehouse, tenants, nowMicros }: ReportOptions,
): Promise<
  Omit<
    OperationsData,
    'madeAt' | 'warehouse' | 'isEmpty' | 'runs' | 'events' | 'targets' | 'stretched' | 'nextRun'
  >
> {
  const runs = await askRuns(db, `${dayAfter(nowMicros, 1 - daysShown)}T00:00:00.000000Z`)
  const quarantine = await askQuarantine(db, tenants)
  const drift = (await askDrift(db)).flatMap((row) => {
    const resource = warehouse.model.byName.get(row.resource)
    return resource ? (resource.places.drift(row) ?? []) : [row]
  })
  return {
    belongsTo,
    incidents: await openIncidents(warehouse, db, { tenants, resources: null }),
    late: lateWords(found.lists),
    oldestRead: oldestRead(found.lists),
    days: runDays(runs, nowMicros),
    resources: byResource(found.lists),
    troubled: troubledTenants(found.lists),
    quarantine: quarantine.map((row) => ({
      resource: row.resource,
      reason: row.reason ?? '',
      values: numberFrom(row.values),
      lastSeenAt: row.last_seen_at,
    })),
    drift: drift.map((row) => ({
      resource: row.resource,
      path: row.path,
      kind:
        row.detail === '' ? row.kind.replaceAll('_', ' ') : `${row.kind.replaceAll('_', ' ')} ${row.detail}`,
      example: shortened(row.example ?? ''),
      firstSeenAt: row.first_seen_at ?? '',
    })),
    driftSeen: numberFrom((await countDrift(db))?.all),
    driftSince: numberFrom((await countLaterDrift(db))?.all),
  }
}

/** When the scheduler's next job is due; its table is another feature's, and missing in an older warehouse. */
async function askNextRun(warehouse: Warehouse, nowMicros: bigint): Promise<string | null> {
  if (!(await warehouse.has('sync_jobs'))) return null
  const row = await warehouse.read((db) =>
    db
      .withTables<{ sync_jobs: { planned_at: string | null } }>()
      .selectFrom('sync_jobs')
      .select((eb) => eb.fn.min('planned_at').as('next'))
      .where('planned_at', '>', fromMicros(nowMicros))
      .executeTakeFirst(),
  )
  return row?.next ?? null
}

async function runsAndEvents(
  warehouse: Warehouse,
  { tenants, exceptTenants = [], targets, synced = [], nowMicros }: ReportOptions,
): Promise<Pick<OperationsData, 'runs' | 'events' | 'targets' | 'stretched' | 'nextRun'>> {
  const chosen = { tenants, resources: null }
  const runs = await readRuns({ warehouse, last: runsShown, onlyFailed: false, ...chosen, nowMicros })
  const events = heardText(await readEventsStatus(warehouse, nowMicros, chosen), nowMicros)
  const stretched = await stretchedBound(warehouse, targets)
  return {
    runs,
    nextRun: await askNextRun(warehouse, nowMicros),
    events: events === '' ? [] : events.split('\n').map((line) => line.trim()),
    targets:
      targets && (await warehouse.has('sync_delays'))
        ? await readFreshness(warehouse, targets, { resources: synced, tenants, exceptTenants, nowMicros })
        : [],
    stretched: stretched ? stretchedText(stretched) : '',
  }
}
