/**
 * The SQL of views in SQLite. Two readers shape it. SQLite gives a view's column a type only if it is a plain column,
 * so every view begins with an empty leg of typed columns, and every expression in the other legs is cast. DuckDB reads
 * the text as its own SQL: no date functions, `bigint` and `double precision` instead of types that are 32 bits wide
 * there, and whole-number division without a remainder.
 */
import type { JoinedDay, ViewKind } from '../../../../schema/view.js'
import {
  calendarYears,
  isBelow,
  isNine,
  mostShare,
  mostUnits,
  type SelectedColumn,
  type ShopInstant,
  type ViewSql,
} from '../viewsql.js'

/**
 * The column of that table for each kind. An instant is a text: in newer versions, a DATETIME expression ends up as
 * BLOB.
 */
const typed: Readonly<Record<ViewKind, string>> = {
  id: 'n',
  integer: 'n',
  cents: 'n',
  hours: 'r',
  quantity: 'r',
  number: 'r',
  boolean: 'b',
  text: 't',
  timestamp: 't',
  day: 'd',
}

const casts: Readonly<Record<Exclude<ViewKind, 'day' | 'timestamp'>, string>> = {
  id: 'bigint',
  integer: 'bigint',
  cents: 'bigint',
  hours: 'double precision',
  quantity: 'double precision',
  number: 'double precision',
  boolean: 'boolean',
  text: 'text',
}

/** `YYYY-MM-DD HH:MM:SS.ffffff`: with `T` and `Z`, a tool that filters a range of hours finds nothing. */
const shownInstant = (sql: string): string => `cast(replace(replace(${sql}, 'T', ' '), 'Z', '') as text)`

/**
 * Anything beyond the ninth decimal is binary float noise. SQLite rounds to decimals by way of text; rounding whole
 * billionths takes a quarter of the time, and is exact below a million.
 */
function hours(sql: string): string {
  const [short, rounded] = [`cast(round(${sql} * 1e9) as bigint) / 1e9`, `round(${sql}, 9)`]
  return `cast(case when abs(${sql}) < 1000000 then ${short} when abs(${rounded}) < 1000000000 then ${rounded} end as double precision)`
}

function expression({ kind, sql, isPlain, isStored }: SelectedColumn): string {
  // A cast would turn a day into a number.
  if (kind === 'day') return sql
  if (kind === 'timestamp') return isStored ? `cast(${sql} as text)` : shownInstant(sql)
  if (isNine(kind)) return hours(sql)
  return isPlain ? sql : `cast(${sql} as ${casts[kind]})`
}

/** Whole-number division without a remainder: DuckDB's `/` returns fractions. */
const over = (dividend: string, divisor: number): string =>
  `((${dividend} - (${dividend}) % ${divisor}) / ${divisor})`

/** The days from 0000-03-01 to the day that a text begins with, in the civil calendar. */
function dayOf(text: string): string {
  const month = `cast(substr(${text}, 6, 2) as bigint)`
  const year = `(cast(substr(${text}, 1, 4) as bigint) - case when ${month} < 3 then 1 else 0 end)`
  const months = `((${month} + 9) % 12)`
  const leaps = `${over(year, 4)} - ${over(year, 100)} + ${over(year, 400)}`
  return `(${year} * 365 + ${leaps} + ${over(`(153 * ${months} + 2)`, 5)} + cast(substr(${text}, 9, 2) as bigint))`
}

const part = (text: string, at: number, digits = 2): string =>
  `cast(substr(${text}, ${at}, ${digits}) as bigint)`

/** Microseconds of an instant's fixed-width text. */
const micros = (text: string): string =>
  `((${dayOf(text)} * 86400 + ${part(text, 12)} * 3600 + ${part(text, 15)} * 60 + ${part(text, 18)}) * 1000000 + ${part(text, 21, 6)})`

/**
 * With whole numbers: 0.35 h at 102.50 is exactly 35.875, while a binary float is slightly less. Only the part beyond
 * whole cents is divided as a float, which has room for its nine digits.
 */
function amount(units: string, cents: string, most = mostUnits): string {
  const exact = `round(${units} * 1e9)`
  const product = `(cast(${exact} as bigint) * ${cents})`
  const rest = `${product} % 1000000000`
  const isSane = `${isBelow(units, most)} and abs(${exact} * ${cents}) < 8999999999500000000`
  return `(case when ${isSane} then cast((${product} - ${rest}) / 1000000000 + round((${rest}) / 1e9) as bigint) end)`
}

const wholeNine = (number: string): string => `cast(round(${number} * 1e9) as bigint)`

const nine = (number: string, most = mostUnits): string =>
  `(case when ${isBelow(number, most)} then ${wholeNine(number)} end)`

/**
 * Whole units and billionths are summed separately: ten lines of 10^9 hours have more billionths than 63 bits hold, and
 * SQLite's sum would fail. A cast truncates here and rounds in DuckDB; the two parts add up to the same either way.
 */
function sumNine(number: string, most = mostUnits): string {
  const units = `cast(${number} as bigint)`
  const sum = (value: string): string =>
    `coalesce(sum(case when ${isBelow(number, most)} then ${value} end), 0)`
  const whole = sum(units)
  const rest = sum(`${wholeNine(number)} - ${units} * 1000000000`)
  return `(case when abs(${whole}) < ${mostUnits} then ${whole} * 1000000000 + ${rest} end)`
}

const minute = 60_000_000

/** Rounded down below zero too, where `%` leaves a negative remainder. */
const minutes = (from: string, to: string): string => {
  const between = `(${micros(to)} - ${micros(from)})`
  const rest = `((${between} % ${minute} + ${minute}) % ${minute})`
  return `cast((${between} - ${rest}) / ${minute} as bigint)`
}

/** Beyond 63 bits, the product would silently become a binary float. Then a single share is computed, if it fits. */
function prorate(cents: string, share: string, whole: string): string {
  const product = `(${cents} * ${share})`
  const half = `(abs(${whole}) - abs(${whole}) % 2) / 2`
  const up = `(abs(${product}) + ${half})`
  const exact = `cast((${up} - ${up} % abs(${whole})) / abs(${whole}) as bigint)`
  const sign = `case when (${product} < 0) = (${whole} < 0) then 1 else -1 end`
  const isSmall = `abs(1.0 * ${cents} * ${share}) < 9000000000000000000.0`
  const rough = `1.0 * ${cents} * ${share} / ${whole}`
  const most = `when ${rough} >= ${mostShare} then ${mostShare} when ${rough} <= -${mostShare} then -${mostShare}`
  return `(case when ${whole} = 0 then 0 ${most} when ${isSmall} then ${sign} * ${exact} else cast(round(${rough}) as bigint) end)`
}

/** The first UTC day, and the first one after the last. A local day begins and ends less than a day apart from UTC's. */
export const utcDays = { first: `${calendarYears.first - 1}-12-30`, end: `${calendarYears.end}-01-03` }

/**
 * An instant's UTC day as a text; empty for no instant, and for those of years that no calendar has. A function has no
 * affinity, and without the cast an index of it would not serve the comparison with a column.
 */
export const utcDay = (instant: string): string =>
  `cast(case when ${instant} >= '${utcDays.first}' and ${instant} < '${utcDays.end}' then substr(${instant}, 1, 10) else '' end as text)`

/**
 * The condition that a row of `report_clocks` is of an instant in a zone. It compares for equality first: DuckDB would
 * compare every instant with every row of the zone otherwise.
 */
const isClockOf = (alias: string, zone: string, instant: string): string =>
  `${alias}.zone = ${zone} and ${alias}.utc_month = substr(${instant}, 1, 7) and ${alias}.from_at <= ${instant} and ${alias}.to_at > ${instant}`

/** Minutes since midnight of the UTC day. */
const minutesOf = (instant: string, ahead: string): string =>
  `(${part(instant, 12)} * 60 + ${part(instant, 15)} + ${ahead})`

/** Which day they are in: 0 for the same, -1, 1; null if nobody knows how far clocks are ahead. */
const shiftOf = (minutes: string): string =>
  `case when ${minutes} < 0 then -1 when ${minutes} >= 1440 then 1 when ${minutes} >= 0 then 0 end`

/** DuckDB divides whole numbers to a double, and would print it as one. */
const twoDigits = (number: string): string => `substr(cast(100 + cast(${number} as bigint) as text), 2)`

/** The date of minutes since midnight of an instant's UTC day, as text. `clock`: the row of `report_clocks`. */
function dateOf(minutes: string, instant: string, clock: string): string {
  const [date, other] = [
    `substr(${instant}, 1, 10)`,
    (by: string) => `substr(${instant}, 1, 8) || ${twoDigits(`${part(instant, 9)} ${by}`)}`,
  ]
  const before = `case when substr(${instant}, 9, 2) = '01' then ${clock}.day_before else ${other('- 1')} end`
  const after = `case when ${date} = ${clock}.last_day then ${clock}.day_after else ${other('+ 1')} end`
  return `case when ${minutes} < 0 then ${before} when ${minutes} >= 1440 then ${after} when ${minutes} >= 0 then ${date} end`
}

/** Exactly one row is joined (viewstore.ts). */
const joinDay = (alias: string, clock: string, instant: string): string =>
  `join "report_shifted_days" ${alias} on ${alias}.utc_day = ${utcDay(instant)} and ${alias}.shift = coalesce(${shiftOf(minutesOf(instant, `${clock}.day_minutes`))}, 9)`

const day = (zone: string, instant: string): string =>
  `(select day_.day from {report_clocks} clock_ ${joinDay('day_', 'clock_', instant)} where ${isClockOf('clock_', zone, instant)})`

/** A day chosen among several texts or columns wouldn't be a typed column. */
function shopDay(alias: string, { tenant, shop, instant }: ShopInstant): JoinedDay {
  const [zone, clock] = [`${alias}_zone`, `${alias}_clock`]
  const join = `left join {report_zones} ${zone} on ${zone}.tenant_id = ${tenant} and ${zone}.shop_id = ${shop}
      left join {report_clocks} ${clock} on ${isClockOf(clock, `coalesce(${zone}.zone, '')`, instant)}
      ${joinDay(alias, clock, instant)}`
  const minutes = minutesOf(instant, `${clock}.clock_minutes`)
  const ofDay = `((${minutes} + 1440) % 1440)`
  const time = `${twoDigits(over(ofDay, 60))} || ':' || ${twoDigits(`${ofDay} % 60`)}`
  return {
    day: `${alias}.day`,
    local: `(${dateOf(minutes, instant, clock)}) || ' ' || ${time} || substr(${instant}, 17, 3)`,
    join,
  }
}

/** With windows instead of groups: SQLite pushes a condition down into a window, but not into a group. */
function sums(keys: readonly string[], names: readonly string[], query: string): string {
  const columns = names.map((name) => `sum(y.${name}) over one as ${name}`)
  const by = keys.map((key) => `y.${key}`).join(', ')
  return `select ${by}, ${columns.join(', ')}, row_number() over one as place
  from (${query}) y
  window one as (partition by ${by})`
}

export const viewSql: ViewSql = {
  // SQLite prints whole seconds, DuckDB more: cutting to the fixed width of the tables' instants makes them the same.
  now: `(substr(replace(cast(current_timestamp as text), ' ', 'T'), 1, 19) || '.000000Z')`,
  table: (name) => `"${name}"`,
  day,
  dayText: (day) => `cast(${day} as text)`,
  // 1970-01-01 is the 719,469th of them.
  dayNumber: (day) => `(${dayOf(`cast(${day} as text)`)} - 719469)`,
  shopDay,
  minutes,
  nine,
  sumNine,
  summand: (value = 'null') => value,
  sums,
  amount,
  prorate,
  query: ({ with: tables, legs }) => {
    const [first] = legs
    const types = (first?.columns ?? []).map(({ name, kind }) => `${typed[kind]} as "${name}"`).join(', ')
    const queries = legs.map(
      ({ columns, from }) =>
        `select ${columns.map((column) => `${expression(column)} as "${column.name}"`).join(',\n  ')}\nfrom ${from}`,
    )
    const empty = `select ${types} from "report_types" where false`
    return `${tables === '' ? '' : `with ${tables}\n`}${[empty, ...queries].join('\nunion all\n')}`
  },
}
