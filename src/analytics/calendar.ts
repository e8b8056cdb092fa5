/**
 * The calendar in the warehouse, `report_days`: when each day begins in each zone in use. It is filled when a zone comes
 * into use, longer by a year when a year has passed, and anew when the rules of zones that come with Node have changed.
 */
import { type CompiledQuery, sql } from 'kysely'
import type { Int64 } from '../../schema/resource.js'
import type { Db } from '../warehouse/database.js'
import type { Warehouse } from '../warehouse/warehouse.js'
import { daysOf, dayText, endDay, firstDay } from './shopday.js'

/** The zone whose days are all days. */
const allDays = 'UTC'
/** So many rows a statement. */
const rowsAtOnce = 4000

/** Milliseconds since 1970 as canonical text. */
const instantOf = (ms: number): string => `${new Date(ms).toISOString().slice(0, 23)}000Z`

/** The rows of a zone's days from one to another, then the row that ends the last day, as SQL. */
function rowsOf(zone: string, from: number, end: number): string[] {
  const rows: string[] = []
  const days = daysOf(zone)
  let start = days.start(from)
  for (let day = from; day < end; day++) {
    const next = days.start(day + 1)
    // A zone that crosses the date line has no such day.
    if (start !== next) {
      const text = dayText(day)
      const weekday = ((((day + 3) % 7) + 7) % 7) + 1
      rows.push(`('${zone}','${instantOf(start)}','${text}','${text.slice(0, 8)}01',${day},${weekday})`)
    }
    start = next
  }
  return [...rows, `('${zone}','${instantOf(start)}',null,null,null,null)`]
}

function filling(db: Db, rows: readonly string[]): CompiledQuery[] {
  const statements: CompiledQuery[] = []
  for (let i = 0; i < rows.length; i += rowsAtOnce)
    statements.push(
      db
        .insertInto('report_days')
        .columns(['zone', 'from_at', 'day', 'month', 'day_number', 'weekday'])
        .expression(sql.raw(`values ${rows.slice(i, i + rowsAtOnce).join(',')}`))
        .onConflict((c) => c.doNothing())
        .compile(),
    )
  return statements
}

/** The number of the first day behind the calendar of a zone in the warehouse; undefined where it has none. */
async function storedEnd(warehouse: Warehouse, zone: string): Promise<number | undefined> {
  const last = await warehouse.read((db) =>
    db
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

/** The version of the rules of time zones, as far as Node tells. */
const rules = process.versions.tz ?? 'unknown'
const memory = 'calendar'

async function knowsRules(warehouse: Warehouse): Promise<boolean> {
  const row = await warehouse.read((db) =>
    db.selectFrom('sync_meta').select('value').where('name', '=', memory).executeTakeFirst(),
  )
  return row?.value === rules
}

async function fill(
  warehouse: Warehouse,
  zone: string,
  { from, end }: { readonly from: number; readonly end: number },
  fence?: Int64,
): Promise<void> {
  const { db } = warehouse
  const stale = db
    .deleteFrom('report_days')
    .where('zone', '=', zone)
    .where((eb) => eb.or([eb('day_number', '>=', from), eb('day', 'is', null)]))
  await warehouse.write([stale.compile(), ...filling(db, rowsOf(zone, from, end))], fence)
}

/** Brings the days of these zones up to date. Returns the zones that had to be filled. */
export async function refreshCalendar(
  warehouse: Warehouse,
  zones: Iterable<string>,
  now: bigint,
  fence?: Int64,
): Promise<string[]> {
  const end = endDay(now)
  const isCurrent = await knowsRules(warehouse)
  const filled: string[] = []
  for (const zone of new Set([allDays, ...zones])) {
    const stored = await storedEnd(warehouse, zone)
    if (isCurrent && stored !== undefined && stored >= end) continue
    await fill(warehouse, zone, { from: isCurrent ? (stored ?? firstDay) : firstDay, end }, fence)
    filled.push(zone)
  }
  if (!isCurrent) {
    const row = { name: memory, value: rules }
    const keeping = warehouse.db.insertInto('sync_meta').values(row)
    await warehouse.write(
      [keeping.onConflict((c) => c.column('name').doUpdateSet({ value: rules })).compile()],
      fence,
    )
  }
  return filled
}
