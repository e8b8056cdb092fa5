/*
 * The days on which shops were open, as the view shop_days defines it: an invoice was closed, or work on an order began.
 * From them follow the day that the page begins with, and what the current month is going to come to.
 */
import { sql } from 'kysely'
import sales from '../../../../schema/figures/sales_cents.js'
import { dayOfMonth } from '../../../engine/base/format.js'
import { groupedBy } from '../../../engine/base/parts.js'
import type { FigureRow } from '../../analytics/figuresql.js'
import { addedAmounts, figureAmount } from '../amounts.js'
import type { DayRange, ReportPeriod, ReportScope } from '../data.js'
import { dayInFull, weekdayName } from '../numberwords.js'
import type { Findings, Part } from './findings.js'
import { figuresOf } from './fold.js'
import type { FigureRows } from './gather.js'
import { daysBetween, daysLater, monthsLater, type Subject, weekdayOf } from './reportdays.js'

/** How far back a shop's weekdays tell which days it is open on. */
const weeksTold = 4
/** With fewer open days than this, one day decides what a month comes to. */
const leastDays = 3

/** The range that `lastOpenDay` and `projectionIn` look at. */
export function rangeOfOpenDays(completeDay: string): DayRange {
  const weeksAgo = daysLater(completeDay, -7 * weeksTold)
  const month = `${completeDay.slice(0, 7)}-01`
  return { from: month < weeksAgo ? month : weeksAgo, to: completeDay }
}

/** By shop key; rows without a shop are under an empty one. */
export async function askOpenDays(
  { db, tenants, day }: Subject,
  { from, to }: DayRange,
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const days = new Map<string, Set<string>>()
  for (const column of ['closed_on', 'started_on'] as const) {
    const rows = await db
      .selectFrom('orders')
      .select(['shop_key', day(column).as('day')])
      .$if(column === 'closed_on', (query) => query.where('state', '=', 'invoice'))
      .where(sql.ref(column), '>=', from)
      .where(sql.ref(column), '<', to)
      .$if(tenants !== null, (query) => query.where('tenant_id', 'in', tenants ?? []))
      .groupBy(['shop_key', column])
      .execute()
    for (const { shop_key, day } of rows) {
      const own = days.get(shop_key ?? '') ?? new Set()
      days.set(shop_key ?? '', own.add(day ?? ''))
    }
  }
  return days
}

/**
 * The last complete day on which a shop was open, compared with the same weekday a week before; null if there was none
 * for weeks.
 */
export function lastOpenDay(
  open: Awaited<ReturnType<typeof askOpenDays>>,
  today: string,
): ReportPeriod | null {
  const [from] = [...open.values()]
    .flatMap((days) => [...days])
    .sort()
    .slice(-1)
  if (from === undefined) return null
  const before = daysLater(from, -7)
  const name = weekdayName(from)
  const isYesterday = from === daysLater(today, -1)
  return {
    id: 'yesterday',
    name: isYesterday ? 'Yesterday' : name,
    question: `How was ${isYesterday ? 'yesterday' : name}?`,
    label: `${name}, ${dayInFull(from)}`,
    from,
    to: daysLater(from, 1),
    compared: [
      {
        from: before,
        to: daysLater(before, 1),
        words: `the ${name} before`,
        label: `${name.slice(0, 3)}, ${dayOfMonth(before)}`,
      },
    ],
  }
}

/** The weekdays on which a shop was open at least every other time since its data began. */
function weekdaysOf(days: ReadonlySet<string>, firstDay: string, completeDay: string): ReadonlySet<number> {
  const from = [firstDay, daysLater(completeDay, -7 * weeksTold)].sort()[1] ?? firstDay
  const told = daysBetween(from, completeDay)
  const on = (weekday: number, list: readonly string[]): number =>
    list.filter((day) => weekdayOf(day) === weekday).length
  const opened = told.filter((day) => days.has(day))
  return new Set(
    [0, 1, 2, 3, 4, 5, 6].filter((weekday) => {
      const times = on(weekday, opened)
      return times > 0 && 2 * times >= on(weekday, told)
    }),
  )
}

/**
 * What the current month comes to: a shop's sales so far, and for each of its open days ahead the average of its open
 * days so far. null while no shop has been open for a few days, or if the month is over.
 */
export function projectionIn(
  rows: FigureRows,
  open: Awaited<ReturnType<typeof askOpenDays>>,
  {
    part,
    shops,
    completeDay,
    isSame = () => true,
  }: {
    readonly part: Part
    readonly shops: Findings['shops']
    readonly completeDay: string
    /** Which rows count; by default, all. */
    readonly isSame?: (row: FigureRow) => boolean
  },
): NonNullable<ReportScope['projection']>['all'] | null {
  const [current] = rows.pace
  if (current === undefined) return null
  const end = `${monthsLater(current.month, 1)}-01`
  const sold = figuresOf(current.days, part).filter(
    (row) => isSame(row) && (row.keys.month ?? '') < completeDay,
  )
  const byShop = groupedBy(sold, ({ keys }) => keys.shop_key ?? '')
  const ahead = daysBetween(completeDay, end)
  let [cents, openDays, daysAhead, most] = [0, 0, 0, 0]
  for (const [key, of] of byShop) {
    const days = open.get(key) ?? new Set<string>()
    const own = figureAmount(addedAmounts(of.map(({ values }) => values)), sales) ?? 0
    const first = shops.find(({ shop_key }) => shop_key === key)?.first_day ?? `${current.month}-01`
    const weekdays = weekdaysOf(days, first, completeDay)
    const sofar = [...days].filter((day) => day >= `${current.month}-01` && day >= first).length
    const coming = ahead.filter((day) => weekdays.has(weekdayOf(day))).length
    cents += own + (sofar === 0 ? 0 : (own / sofar) * coming)
    openDays += sofar
    daysAhead += sofar === 0 ? 0 : coming
    most = Math.max(most, sofar)
  }
  return most < leastDays || ahead.length === 0
    ? null
    : { cents: Math.round(cents), openDays, daysAhead, shops: byShop.size }
}
