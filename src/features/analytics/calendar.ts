/**
 * The calendar in the warehouse: when each day begins in each zone in use, day by day in `report_days`, and in short in
 * `report_stretches`, by which a view finds the day of each of many rows. It is filled when a zone comes into use, longer by a year when a year has passed, and anew when the rules of zones that come with Node have changed.
 */
import { type CompiledQuery, sql } from 'kysely'
import { fromMicros } from '../../engine/base/timestamp.js'
import type { DialectWriter } from '../../engine/warehouse/leasedwarehouse.js'
import { daySeconds, daysOf, dayText, endDay, firstDay } from './shopday.js'
import { withAnalytics } from './tables.js'

/** The zone whose days are all days. */
const allDays = 'UTC'

/**
 * Makes the rows of a zone's days from one to another, and the row that ends the last day. The database counts the days
 * of each run: to write seventeen thousand rows down as text takes longer than to store them.
 */
function filling({ dialect, db }: DialectWriter, zone: string, from: number, end: number): CompiledQuery[] {
  const days = daysOf(zone)
  const rows = sql`select ${sql.lit(zone)}, from_at, day, month, n, (n + 3) % 7 + 1
    from (${dialect.dayRows(days.runs(from, end))}) as days where true`
  const filled = withAnalytics(db)
    .insertInto('report_days')
    .columns(['zone', 'from_at', 'day', 'month', 'day_number', 'weekday'])
    .expression(rows)
  const last = withAnalytics(db)
    .insertInto('report_days')
    .values({ zone, from_at: fromMicros(BigInt(days.start(end)) * 1000n) })
  return [filled, last].map((statement) => statement.onConflict((c) => c.doNothing()).compile())
}

/** The same days as stretches, all of them: there are two or three a year. */
function stretching({ db }: DialectWriter, zone: string, end: number): CompiledQuery[] {
  const days = daysOf(zone)
  const endsAt = days.start(end) / 1000
  const row = (start: number, day: string | null) => ({
    zone,
    from_at: fromMicros(BigInt(start) * 1_000_000n),
    first_day: day,
  })
  const runs = days.runs(firstDay, end)
  const rows = runs.flatMap((run, i) => {
    const behind = run.start + run.days * daySeconds
    const isLonger = behind < (runs[i + 1]?.start ?? endsAt)
    // The hour by which the last day is longer is no day of its own.
    const rest = isLonger ? [row(behind, dayText(run.first + run.days - 1))] : []
    return [row(run.start, dayText(run.first)), ...rest]
  })
  const all = withAnalytics(db)
    .insertInto('report_stretches')
    .values([...rows, row(endsAt, null)])
  return [withAnalytics(db).deleteFrom('report_stretches').where('zone', '=', zone).compile(), all.compile()]
}

/** The number of the first day behind the calendar of a zone in the warehouse; undefined where it has none. */
async function storedEnd(warehouse: DialectWriter, zone: string): Promise<number | undefined> {
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

/** The version of the rules of time zones, as far as Node tells, and that of the rows that are made of them. */
const rules = `${process.versions.tz ?? 'unknown'}/2`
const memory = 'calendar'

async function knowsRules(warehouse: DialectWriter): Promise<boolean> {
  const row = await warehouse.read((db) =>
    db.selectFrom('sync_meta').select('value').where('name', '=', memory).executeTakeFirst(),
  )
  return row?.value === rules
}

async function fill(
  warehouse: DialectWriter,
  zone: string,
  { from, end }: { readonly from: number; readonly end: number },
): Promise<void> {
  const stale = withAnalytics(warehouse.db)
    .deleteFrom('report_days')
    .where('zone', '=', zone)
    .where((eb) => eb.or([eb('day_number', '>=', from), eb('day', 'is', null)]))
  const days = [stale.compile(), ...filling(warehouse, zone, from, end)]
  await warehouse.write([...days, ...stretching(warehouse, zone, end)])
}

/** Brings the days of these zones up to date. Returns the zones that had to be filled. */
export async function refreshCalendar(
  warehouse: DialectWriter,
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
  if (!isCurrent) {
    const row = { name: memory, value: rules }
    const keeping = warehouse.db.insertInto('sync_meta').values(row)
    await warehouse.write([
      keeping.onConflict((c) => c.column('name').doUpdateSet({ value: rules })).compile(),
    ])
  }
  return filled
}
