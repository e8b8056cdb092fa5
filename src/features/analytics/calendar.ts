/**
 * The calendar in the warehouse: when each day begins in each time zone in use. It is filled when a zone comes into
 * use, extended by a year when a year has passed, and refilled when Node's time zone rules change. The rows that begin
 * a stretch of days are a short form of it, which the views of Postgres use; those of SQLite use a long form,
 * `report_utc_days`. That also has what clocks show, on Postgres where it begins to be something else.
 */
import { type CompiledQuery, sql } from 'kysely'
import { fromMicros } from '../../engine/base/timestamp.js'
import { readMeta, storeMeta } from '../../engine/warehouse/meta.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { daysOf, endDay, firstDay } from './shopday.js'
import { withAnalytics } from './tables.js'

/** The zone in which every day exists. */
const allDays = 'UTC'

/**
 * Makes the rows of a zone's days in a range, and the row that ends the last day. The database counts the days of each
 * run: writing seventeen thousand rows as text takes longer than storing them.
 */
function filling(
  { dialect, db }: Warehouse,
  zone: string,
  { from, end }: { readonly from: number; readonly end: number },
): CompiledQuery[] {
  const days = daysOf(zone)
  const runs = days.runs(from, end)
  const rows = sql`select ${sql.lit(zone)}, from_at, day, month, n, (n + 3) % 7 + 1, stretch
    from (${dialect.sql.calendar.dayRows(runs)}) as days where true`
  const filled = withAnalytics(db)
    .insertInto('report_days')
    .columns(['zone', 'from_at', 'day', 'month', 'day_number', 'weekday', 'stretch'])
    .expression(rows)
  const last = withAnalytics(db)
    .insertInto('report_days')
    .values({ zone, from_at: fromMicros(BigInt(days.start(end)) * 1000n), stretch: 1 })
  const utcDays = dialect.sql.calendar.utcDayRows(days.clockRuns(runs))
  const byUtcDay = withAnalytics(db)
    .insertInto('report_utc_days')
    .columns(['zone', 'utc_day', 'from_at', 'to_at', 'day', 'local_at'])
    .expression(
      sql`select ${sql.lit(zone)}, utc_day, from_at, to_at, day, local_at from (${utcDays}) as days where true`,
    )
  return [filled, last, byUtcDay].map((statement) => statement.onConflict((c) => c.doNothing()).compile())
}

/** The number of the first day after a zone's calendar in the warehouse; undefined if it has none. */
async function storedEnd(warehouse: Warehouse, zone: string): Promise<number | undefined> {
  const last = await warehouse.read((db) =>
    withAnalytics(db)
      .selectFrom('report_days')
      .select('day_number')
      .where('zone', '=', zone)
      .where('day', 'is not', null)
      .orderBy('from_at', 'desc')
      .limit(1)
      .executeTakeFirst(),
  )
  return last?.day_number == null ? undefined : Number(last.day_number) + 1
}

/**
 * The version of the time zone rules, as far as Node reports it, and the version and form of the rows made from them: a
 * copy in another kind of database needs others.
 */
const rulesOf = ({ dialect }: Pick<Warehouse, 'dialect'>): string =>
  `${process.versions.tz ?? 'unknown'}/5${dialect.sql.calendar.utcDay ? '' : ' short'}`
const memory = 'calendar'

async function knowsRules(warehouse: Warehouse): Promise<boolean> {
  return (await readMeta(warehouse, memory)) === rulesOf(warehouse)
}

/** Whether days are stored, but another version of the program made them: the views find none in some tables. */
export async function isOutdatedCalendar(warehouse: Warehouse): Promise<boolean> {
  const made = await readMeta(warehouse, memory)
  return made !== null && made !== rulesOf(warehouse)
}

async function fill(
  warehouse: Warehouse,
  zone: string,
  { from, end }: { readonly from: number; readonly end: number },
): Promise<void> {
  const stale = withAnalytics(warehouse.db)
    .deleteFrom('report_days')
    .where('zone', '=', zone)
    .where((eb) => eb.or([eb('day_number', '>=', from), eb('day', 'is', null)]))
  const staleByUtcDay = withAnalytics(warehouse.db)
    .deleteFrom('report_utc_days')
    .where('zone', '=', zone)
    .where('to_at', '>', fromMicros(BigInt(daysOf(zone).start(from)) * 1000n))
  await warehouse.write([
    stale.compile(),
    staleByUtcDay.compile(),
    ...filling(warehouse, zone, { from, end }),
  ])
}

/** Updates the days of these zones. Returns the zones that had to be filled. */
export async function refreshCalendar(
  warehouse: Warehouse,
  zones: Iterable<string>,
  now: bigint,
): Promise<string[]> {
  const end = endDay(now)
  const isCurrent = await knowsRules(warehouse)
  const filled: string[] = []
  for (const zone of new Set([allDays, ...zones])) {
    const stored = await storedEnd(warehouse, zone)
    if (isCurrent && stored !== undefined && stored >= end) continue
    await fill(warehouse, zone, { from: isCurrent ? (stored ?? firstDay) : firstDay, end })
    filled.push(zone)
  }
  if (!isCurrent) await warehouse.write([storeMeta(warehouse.db, memory, rulesOf(warehouse))])
  return filled
}
