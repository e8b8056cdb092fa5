/**
 * The calendar in the warehouse: the days, and how far the clocks of each time zone in use are ahead of UTC. A zone's
 * clocks are stored when it comes into use. All is stored again when a year has passed, when `report.timeZone` changes,
 * and when Node's time zone rules do.
 */
import { type CompiledQuery, sql } from 'kysely'
import { inParts } from '../../engine/base/parts.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import { readMeta, storeMeta } from '../../engine/warehouse/state/meta.js'
import type { Warehouse, Writer } from '../../engine/warehouse/warehouse.js'
import { daysOf, dayText, endDay, evenClocks, firstDay } from './shopday.js'
import { withAnalytics } from './tables.js'

/** Rows per statement: SQLite allows 32,766 parameters. */
const rowsAtOnce = 2000

const instantOf = (seconds: number): string => fromMicros(BigInt(seconds) * 1_000_000n)

/** The UTC month of a day, and the number of the day after it. */
function monthOf(day: number) {
  const utc_month = dayText(day).slice(0, 7)
  const first = new Date(`${utc_month}-01`)
  return { utc_month, next: first.setUTCMonth(first.getUTCMonth() + 1) / 86_400_000 }
}

/** The rows of a zone's clocks up to the day `end`: each time in which they run evenly, month by month. */
function clockRows(zone: string, end: number) {
  const clocks = evenClocks(zone, firstDay, end)
  const rows = clocks.flatMap(({ start, end: until, clock, day }) => {
    const parts = []
    for (let from = start; from < until; ) {
      const { utc_month, next } = monthOf(Math.floor(from / 86_400))
      const to = Math.min(until, next * 86_400)
      const times = { from_at: instantOf(from), to_at: instantOf(to), clock_minutes: clock, day_minutes: day }
      parts.push({ utc_month, ...times, change: from === start ? 1 : null })
      from = to
    }
    return parts
  })
  const last = daysOf(zone).start(end) / 1000
  const { utc_month } = monthOf(Math.floor(last / 86_400))
  const behind = { from_at: instantOf(last), to_at: null, clock_minutes: null, day_minutes: null, change: 1 }
  return [...rows, { utc_month, ...behind }]
}

/** Stores the clocks of a zone, under its name or as those of shops without a row of their own. */
function clockStatements({ db }: Warehouse, name: string, zone: string, end: number): CompiledQuery[] {
  const rows = clockRows(zone, end).map((row) => ({ zone: name, ...row }))
  const statements: CompiledQuery[] = [
    withAnalytics(db).deleteFrom('report_clocks').where('zone', '=', name).compile(),
  ]
  for (const some of inParts(rows, rowsAtOnce))
    statements.push(
      withAnalytics(db)
        .insertInto('report_clocks')
        .values(some)
        .onConflict((c) => c.doNothing())
        .compile(),
    )
  return statements
}

function dayStatements({ dialect, db }: Warehouse, end: number): CompiledQuery[] {
  const rows = sql`select n, day, month, (n + 3) % 7 + 1
    from (${dialect.sql.dayRows(firstDay, end)}) as days where true`
  return [
    withAnalytics(db).deleteFrom('report_calendar').compile(),
    withAnalytics(db)
      .insertInto('report_calendar')
      .columns(['day_number', 'day', 'month', 'weekday'])
      .expression(rows)
      .onConflict((c) => c.doNothing())
      .compile(),
  ]
}

/** The version of the time zone rules, as far as Node reports it, and the form of the rows made from them. */
const rules = `${process.versions.tz ?? 'unknown'}/7`
const memory = 'calendar'

/** Whether days are stored, but another version of the program made them: the views find none in some tables. */
export async function isOutdatedCalendar(warehouse: Warehouse): Promise<boolean> {
  const made = await readMeta(warehouse, memory)
  return made !== null && made.split(' ')[0] !== rules
}

/**
 * Updates the days, and the clocks of these zones. `usual`: the zone of shops without a row of their own. Returns the
 * zones that had to be filled.
 */
export async function refreshCalendar(
  warehouse: Writer,
  zones: Iterable<string>,
  usual: string,
  now: bigint,
): Promise<string[]> {
  const end = endDay(now)
  const wanted = `${rules} ${usual} ${end}`
  const isCurrent = (await readMeta(warehouse, memory)) === wanted
  const stored = await warehouse.read((db) =>
    withAnalytics(db).selectFrom('report_clocks').select('zone').where('change', '=', 1).distinct().execute(),
  )
  const known = new Set(isCurrent ? stored.map(({ zone }) => zone) : [])
  const missing = [...new Set(zones)].filter((zone) => !known.has(zone))
  if (isCurrent && missing.length === 0) return []
  const anew = isCurrent
    ? []
    : [...dayStatements(warehouse, end), ...clockStatements(warehouse, '', usual, end)]
  await warehouse.write([
    ...anew,
    ...missing.flatMap((zone) => clockStatements(warehouse, zone, zone, end)),
    ...warehouse.dialect.views().afterClocks(),
    storeMeta(warehouse.db, memory, wanted),
  ])
  return missing
}
