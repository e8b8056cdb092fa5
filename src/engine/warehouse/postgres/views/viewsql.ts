/**
 * The SQL of views in Postgres. Every column is cast to its kind's type, which costs nothing if it already has that
 * type.
 */
import pg from 'pg'
import type { Kind } from '../../../../../schema/resource.js'
import type { JoinedDay, ViewKind } from '../../../../../schema/view.js'
import { columnTypes } from '../../../model/columntypes.js'
import { isBelow, isNine, mostUnits, type SelectedColumn, type ViewSql } from '../../views/viewsql.js'

/**
 * The type of a column of that kind. Hours are a numeric with nine decimals, so a sum of them is never a binary float.
 */
const typeOf = (kind: Kind | ViewKind): string =>
  isNine(kind) ? 'numeric(18,9)' : columnTypes[kind].postgres

/** As the database prints it. */
export const printedType = (kind: Kind | ViewKind): string =>
  typeOf(kind).replace('timestamptz', 'timestamp with time zone')

function expression({ kind, sql }: SelectedColumn): string {
  // The cast rounds.
  const value = isNine(kind) ? `case when ${isBelow(sql, mostUnits)} then ${sql} end` : sql
  return `cast(${value} as ${typeOf(kind)})`
}

/** Rounding decimals that already have at most nine places would take a third longer. */
const rounded = (units: string): string =>
  `(case when scale(${units}) <= 9 then ${units} else round(${units}, 9) end)`

/** A cast to whole numbers rounds half away from zero. */
function amount(units: string, cents: string, most = mostUnits): string {
  const product = `${rounded(units)} * ${cents}`
  return `(case when ${isBelow(units, most)} and abs(${product}) < 8999999999.5 then cast(${product} as bigint) end)`
}

const nine = (number: string, most = mostUnits): string =>
  `(case when ${isBelow(number, most)} then cast(${number} * 1e9 as bigint) end)`

/** The instant on the clocks of UTC, moved by some minutes. */
const moved = (instant: string, minutes: string): string =>
  `(${instant} at time zone 'UTC') + make_interval(mins => cast(${minutes} as integer))`

/**
 * A subquery per row takes five microseconds: more than half the time of a month's query. Instead, the times at which a
 * zone's clocks change are in a short array with binary search. Only zones are joined for it, so no plan can go wrong
 * while the server has no statistics, and queries without the day drop the join.
 */
function shopDay(alias: string, tenant: string, shop: string, instant: string): JoinedDay {
  const [zone, clocks] = [`${alias}_zone`, `${alias}_clock`]
  const list = (what: string) => `array_agg(${what} order by from_at) as ${what}`
  const changes = `select zone, ${['from_at', 'day_minutes', 'clock_minutes'].map(list).join(', ')}
        from {report_clocks} where change = 1 group by zone`
  const join = `left join {report_zones} ${zone} on ${zone}.tenant_id = ${tenant} and ${zone}.shop_id = ${shop}
      left join (${changes}) ${clocks} on ${clocks}.zone = coalesce(${zone}.zone, '')`
  const ahead = (minutes: string) => `${clocks}.${minutes}[width_bucket(${instant}, ${clocks}.from_at)]`
  return {
    day: `cast(${moved(instant, ahead('day_minutes'))} as date)`,
    local: `to_char(${moved(instant, ahead('clock_minutes'))}, 'YYYY-MM-DD HH24:MI:SS')`,
    join,
  }
}

/** With groups: JIT compiles each window's sum by itself, and each reads all columns before its own. */
function sums(keys: readonly string[], names: readonly string[], query: string): string {
  const columns = names.map((name) => `sum(y.${name}) as ${name}`)
  const by = keys.map((key) => `y.${key}`).join(', ')
  return `select ${by}, ${columns.join(', ')}, 1 as place
  from (${query}) y
  group by ${by}`
}

export const viewSql = (schema: string): ViewSql => ({
  // Whole seconds, like SQLite: minutes until now are the same on both.
  now: "date_trunc('second', current_timestamp)",
  table: (name) => `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(name)}`,
  day: (zone, instant) =>
    `(select cast(${moved(instant, 'clock_.day_minutes')} as date) from {report_clocks} clock_ where clock_.zone = ${zone} and clock_.change = 1 and clock_.from_at <= ${instant} order by clock_.from_at desc limit 1)`,
  // A cast would print it according to the reader's DateStyle.
  dayText: (day) => `to_char(${day}, 'YYYY-MM-DD')`,
  dayNumber: (day) => `(${day} - date '1970-01-01')`,
  minutes: (from, to) => `cast(floor(extract(epoch from ((${to}) - (${from}))) / 60) as bigint)`,
  shopDay,
  nine,
  // Multiplied and divided, it would take longer.
  units: (number, most) => `(case when ${isBelow(number, most)} then ${number} end)`,
  // A sum of whole numbers is a numeric of any size here.
  sumNine: (number, most) => `coalesce(sum(${nine(number, most)}), 0)`,
  summand: (value = 'null') => `cast(${value} as numeric)`,
  sums,
  amount,
  query: ({ with: tables, legs }) => {
    const queries = legs.map(
      ({ columns, from }) =>
        `select ${columns.map((column) => `${expression(column)} as ${pg.escapeIdentifier(column.name)}`).join(',\n  ')}\nfrom ${from}`,
    )
    return `${tables === '' ? '' : `with ${tables}\n`}${queries.join('\nunion all\n')}`
  },
})
