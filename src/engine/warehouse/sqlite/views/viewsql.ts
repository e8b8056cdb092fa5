/**
 * The SQL of views in SQLite. Two readers shape it. SQLite gives a view's column a type only if it is a plain column,
 * so every view begins with an empty leg of typed columns, and every expression in the other legs is cast. DuckDB reads
 * the text as its own SQL: no date functions, `bigint` and `double precision` instead of types that are 32 bits wide
 * there, and whole-number division without a remainder.
 */
import type { JoinedDay, ViewKind } from '../../../../../schema/view.js'
import {
  calendarYears,
  isBelow,
  isNine,
  mostUnits,
  type SelectedColumn,
  type ViewSql,
} from '../../views/viewsql.js'

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
const hours = (sql: string): string =>
  `case when abs(${sql}) < 1000000 then cast(round(${sql} * 1e9) as bigint) / 1e9 when abs(${sql}) < 1000000000 then round(${sql}, 9) end`

const fromNine = (whole: string): string =>
  `case when abs(${whole} / 1e9) < 1000000000 then ${whole} / 1e9 end`

function expression({ kind, sql, nine, isPlain, isStored }: SelectedColumn): string {
  // A cast would turn a day into a number.
  if (kind === 'day') return sql
  if (kind === 'timestamp') return isStored ? `cast(${sql} as text)` : shownInstant(sql)
  if (isNine(kind)) return `cast(${nine === undefined ? hours(sql) : fromNine(nine)} as double precision)`
  return isPlain ? sql : `cast(${sql} as ${casts[kind]})`
}

/**
 * A whole number divided by another, rounded down. DuckDB's `/` returns fractions, and a function that rounds down is not in
 * every SQLite: half of the divisor less one, the nearest whole number is the same.
 */
const floored = (dividend: string, divisor: number): string =>
  `round((${dividend} - ${((divisor - 1) / 2).toFixed(1)}) / ${divisor})`

const part = (text: string, at: number, digits = 2): string =>
  `cast(substr(${text}, ${at}, ${digits}) as bigint)`

/** The days from 0000-03-01 to the day that a text begins with, in the civil calendar. */
function dayOf(text: string): string {
  const months = `(${part(text, 1, 4)} * 12 + ${part(text, 6)} - 3)`
  const leaps = `${floored(months, 48)} - ${floored(months, 1200)} + ${floored(months, 4800)}`
  const years = `${floored(months, 12)} * 365 + ${leaps}`
  return `cast(${years} + ${floored(`153 * (${months} % 12) + 2`, 5)} + ${part(text, 9)} as bigint)`
}

/** The minutes from 0000-03-01 to an instant. */
const minuteOf = (instant: string): string =>
  `${dayOf(instant)} * 1440 + ${part(instant, 12)} * 60 + ${part(instant, 15)}`

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
  const sum = (value: string): string => `sum(case when ${isBelow(number, most)} then ${value} else 0 end)`
  const whole = sum(units)
  const rest = sum(`${wholeNine(number)} - ${units} * 1000000000`)
  return `(case when abs(${whole}) < ${mostUnits} then ${whole} * 1000000000 + ${rest} end)`
}

/** Whole minutes, less one if the second one's seconds don't fill it. They compare as the texts of fixed width that they are. */
const minutes = (from: string, to: string): string =>
  `(${minuteOf(to)} - (${minuteOf(from)}) - case when substr(${to}, 18) < substr(${from}, 18) then 1 else 0 end)`

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
const shiftOf = (minutes: string): string => floored(minutes, 1440)

/** Exactly one row is joined (viewstore.ts). */
const joinDay = (alias: string, clock: string, instant: string): string =>
  `join "report_shifted_days" ${alias} on ${alias}.utc_day = ${utcDay(instant)} and ${alias}.shift = coalesce(${shiftOf(minutesOf(instant, `${clock}.day_minutes`))}, 9)`

const day = (zone: string, instant: string): string =>
  `(select day_.day from (select ${instant} as at) i_ join {report_clocks} clock_ on ${isClockOf('clock_', zone, 'i_.at')} ${joinDay('day_', 'clock_', 'i_.at')})`

/** Where clocks have gone back over midnight they show the day before the one that has begun. */
const shownDate = (alias: string, clock: string): string =>
  `(select cast(shown_.day as text) from "report_shifted_days" shown_ where shown_.utc_day = cast(${alias}.day as text) and shown_.shift = case when ${clock}.clock_minutes = ${clock}.day_minutes then 0 else -1 end)`

/** A day chosen among several texts or columns wouldn't be a typed column. */
function shopDay(alias: string, tenant: string, shop: string, instant: string): JoinedDay {
  const [zone, clock] = [`${alias}_zone`, `${alias}_clock`]
  const join = `left join {report_zones} ${zone} on ${zone}.tenant_id = ${tenant} and ${zone}.shop_id = ${shop}
      left join {report_clocks} ${clock} on ${isClockOf(clock, `coalesce(${zone}.zone, '')`, instant)}
      ${joinDay(alias, clock, instant)}`
  const minutes = minutesOf(instant, `${clock}.clock_minutes`)
  const ofDay = `(${minutes} + 1440) % 1440`
  return {
    day: `${alias}.day`,
    local: `${shownDate(alias, clock)} || ' ' || printf('%02d:%02d', cast(${floored(ofDay, 60)} as bigint), ${ofDay} % 60) || substr(${instant}, 17, 3)`,
    join,
  }
}

/** With windows instead of groups: SQLite pushes a condition down into a window, but not into a group. */
function sums(keys: readonly string[], names: readonly string[], query: string): string {
  const columns = names.map((name) => `sum(${name}) over one as ${name}`)
  return `select ${keys.join(', ')}, ${columns.join(', ')}, row_number() over one as place
  from (${query}) y
  window one as (partition by ${keys.join(', ')})`
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
  units: (number, most) => `(${nine(number, most)} / 1e9)`,
  sumNine,
  summand: (value = 'null') => value,
  sums,
  amount,
  query: ({ with: tables, legs }) => {
    const [first] = legs
    const types = (first?.columns ?? []).map(({ name, kind }) => `${typed[kind]} as "${name}"`).join(', ')
    const queries = legs.map(
      ({ columns, from }) =>
        // The empty leg names the columns. Every client of the file parses the texts of all views when it opens it.
        `select ${columns.map(expression).join(',\n  ')}\nfrom ${from}`,
    )
    const empty = `select ${types} from "report_types" where false`
    return `${tables === '' ? '' : `with ${tables}\n`}${[empty, ...queries].join('\nunion all\n')}`
  },
}
