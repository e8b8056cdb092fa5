/**
 * The SQL of views in Postgres. Every column is cast to its kind's type, which costs nothing if it already has that
 * type.
 */
import pg from 'pg'
import type { Kind } from '../../../../schema/resource.js'
import type { JoinedDay, ViewKind } from '../../../../schema/view.js'
import { columnTypes } from '../../model/columntypes.js'
import {
  isBelow,
  isNine,
  mostShare,
  mostUnits,
  type SelectedColumn,
  type ShopInstant,
  usualZone,
  type ViewSql,
} from '../viewsql.js'

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

/**
 * A subquery per row takes five microseconds: more than half the time of a month's query. Instead, a zone's stretches
 * are in a short array with binary search. On the shifted clock of its stretch, an instant's day is the date. The last
 * day of a stretch may have 25 hours: the next clock begins with the 25th, in which it still shows that day. Only zones
 * are joined for it, so no plan can go wrong while the server has no statistics, and queries without the day drop the
 * join.
 */
function computedDay(alias: string, { tenant, shop, instant }: ShopInstant): JoinedDay {
  const [zone, place, shown, clock] = [
    `${alias}_zone`,
    `${alias}_place`,
    `${alias}_clock`,
    (at: string) => `(${at} at time zone 'UTC')`,
  ]
  const list = (what: string) => `array_agg(${what} order by from_at) filter (where day is not null)`
  const shift = `cast(day as timestamp) - ${clock('from_at')}`
  const rows = `select zone, from_at, day, ${shift} as shift, lag(${shift}) over (partition by zone order by from_at) as before
          from {report_days} where stretch = 1`
  const start = `least(from_at, (cast(day as timestamp) - before) at time zone 'UTC')`
  const stretches = `select zone, max(from_at) as behind, ${list(start)} as starts, ${list('shift')} as shifts
        from (${rows}) as stretch_ group by zone`
  const clocks = `select zone, max(to_at) as behind, array_agg(from_at order by from_at) as starts,
          array_agg(cast(local_at as timestamp) - ${clock('from_at')} order by from_at) as shifts
        from {report_utc_days} group by zone`
  const shifted = `cast(${clock(instant)} + ${place}.shifts[width_bucket(${instant}, ${place}.starts)] as date)`
  const join = `left join {report_zones} ${zone} on ${zone}.tenant_id = ${tenant} and ${zone}.shop_id = ${shop}
      left join (${stretches}) ${place} on ${place}.zone = coalesce(${zone}.zone, ${usualZone})
      left join (${clocks}) ${shown} on ${shown}.zone = coalesce(${zone}.zone, ${usualZone})`
  const ahead = `${shown}.shifts[width_bucket(${instant}, ${shown}.starts)]`
  const local = `to_char(${clock(instant)} + ${ahead}, 'YYYY-MM-DD HH24:MI:SS')`
  return {
    day: `(case when ${instant} < ${place}.behind then ${shifted} end)`,
    local: `(case when ${instant} < ${shown}.behind then ${local} end)`,
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
    `(select day_.day from {report_days} day_ where day_.zone = ${zone} and day_.from_at <= ${instant} order by day_.from_at desc limit 1)`,
  // A cast would print it according to the reader's DateStyle.
  dayText: (day) => `to_char(${day}, 'YYYY-MM-DD')`,
  minutes: (from, to) => `cast(floor(extract(epoch from ((${to}) - (${from}))) / 60) as bigint)`,
  shopDay: computedDay,
  computedDay,
  nine,
  // A sum of whole numbers is a numeric of any size here.
  sumNine: (number, most) => `coalesce(sum(${nine(number, most)}), 0)`,
  summand: (value = 'null') => `cast(${value} as numeric)`,
  sums,
  amount,
  prorate: (cents, part, whole) =>
    `(case when ${whole} = 0 then 0 else cast(greatest(least(round(cast(${cents} as numeric) * ${part} / ${whole}), ${mostShare}), -${mostShare}) as bigint) end)`,
  query: ({ with: tables, legs }) => {
    const queries = legs.map(
      ({ columns, from }) =>
        `select ${columns.map((column) => `${expression(column)} as ${pg.escapeIdentifier(column.name)}`).join(',\n  ')}\nfrom ${from}`,
    )
    return `${tables === '' ? '' : `with ${tables}\n`}${queries.join('\nunion all\n')}`
  },
})
