/**
 * The calendar in the warehouse: when each day begins in each zone in use. It is filled when a zone comes into use, longer by
 * a year when a year has passed, and filled again when the rules of zones that come with Node have changed. The rows with
 * which a stretch of days begins say the same in short: by them, a view finds the day of each of many rows.
 */
import { type CompiledQuery, sql } from 'kysely'
import { fromMicros } from '../../engine/base/timestamp.js'
import type { DialectWriter } from '../../engine/warehouse/leasedwarehouse.js'
import { daysOf, endDay, firstDay } from './shopday.js'
import { formerStretches, withAnalytics } from './tables.js'

/** The zone whose days are all days. */
const allDays = 'UTC'

/**
 * Makes the rows of a zone's days from one to another, and the row that ends the last day. The database counts the days
 * of each run: to write seventeen thousand rows down as text takes longer than to store them.
 */
function filling({ dialect, db }: DialectWriter, zone: string, from: number, end: number): CompiledQuery[] {
  const days = daysOf(zone)
  const rows = sql`select ${sql.lit(zone)}, from_at, day, month, n, (n + 3) % 7 + 1, stretch
    from (${dialect.dayRows(days.runs(from, end))}) as days where true`
  const filled = withAnalytics(db)
    .insertInto('report_days')
    .columns(['zone', 'from_at', 'day', 'month', 'day_number', 'weekday', 'stretch'])
    .expression(rows)
  const last = withAnalytics(db)
    .insertInto('report_days')
    .values({ zone, from_at: fromMicros(BigInt(days.start(end)) * 1000n), stretch: 1 })
  return [filled, last].map((statement) => statement.onConflict((c) => c.doNothing()).compile())
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
const rules = `${process.versions.tz ?? 'unknown'}/3`
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
  await warehouse.write([stale.compile(), ...filling(warehouse, zone, from, end)])
}

/** Called when no view of ours reads it. Views of somebody's own may stand on the table, and the role may not own it: then it stays, and nobody reads it. */
export async function dropFormer(warehouse: DialectWriter): Promise<void> {
  if (!(await warehouse.has(formerStretches))) return
  try {
    await warehouse.write([warehouse.db.schema.dropTable(formerStretches).ifExists().compile()])
  } catch (error) {
    if (!warehouse.dialect.views().troubleOf(error)) throw error
  }
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
    await dropFormer(warehouse)
    const row = { name: memory, value: rules }
    const keeping = warehouse.db.insertInto('sync_meta').values(row)
    await warehouse.write([
      keeping.onConflict((c) => c.column('name').doUpdateSet({ value: rules })).compile(),
    ])
  }
  return filled
}
