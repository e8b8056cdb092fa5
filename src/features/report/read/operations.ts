/* How the data came: runs, the rate limit, quarantine and drift, from the product's own tables. */
import type { Int64 } from '../../../../schema/resource.js'
import { fromMicros, toMicros } from '../../../engine/base/timestamp.js'
import type { Db } from '../../../engine/warehouse/database.js'
import type { OperationsAnswer, RunDay, RunLine } from '../data.js'
import { askDrift, askQuarantine, askRuns, countDrift, type FreshnessRow, type RunRow } from './asktrust.js'
import { groupedBy, numberFrom } from './reportdays.js'
import { byResource } from './trust.js'

const daysShown = 30
const runsShown = 8
const dayMicros = 86_400_000_000n

/** The day so many days after the one of an instant, in UTC. */
const dayAfter = (micros: bigint, days: number): string =>
  fromMicros(micros + BigInt(days) * dayMicros).slice(0, 10)

function runDays(runs: readonly RunRow[], nowMicros: bigint): RunDay[] {
  const byDay = groupedBy(runs, ({ started_at }) => started_at?.slice(0, 10) ?? '')
  return Array.from({ length: daysShown }, (_, i) => {
    const day = dayAfter(nowMicros, i + 1 - daysShown)
    const rows: readonly RunRow[] = byDay.get(day) ?? []
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

function runLine(run: RunRow): RunLine {
  const { started_at, finished_at, job, mode, status, error } = run
  const took =
    started_at === null || finished_at === null ? null : toMicros(finished_at) - toMicros(started_at)
  return {
    startedAt: started_at ?? '',
    what: job ?? mode ?? '',
    status: status ?? '',
    seconds: took === null ? null : Number(took) / 1e6,
    requests: numberFrom(run.requests),
    rows: numberFrom(run.rows_upserted) + numberFrom(run.rows_deleted),
    rateLimited: numberFrom(run.rate_limited),
    error,
  }
}

/** Words that fit a line of a table. */
const shortened = (text: string): string => (text.length > 120 ? `${text.slice(0, 119)}…` : text)

export async function operationsOf(
  db: Db,
  freshness: readonly FreshnessRow[],
  { tenants, nowMicros }: { readonly tenants: readonly Int64[] | null; readonly nowMicros: bigint },
): Promise<OperationsAnswer> {
  const runs = await askRuns(db, `${dayAfter(nowMicros, 1 - daysShown)}T00:00:00.000000Z`)
  const quarantine = await askQuarantine(db, tenants)
  const drift = await askDrift(db)
  return {
    days: runDays(runs, nowMicros),
    runs: runs.slice(0, runsShown).map(runLine),
    resources: byResource(freshness),
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
  }
}
