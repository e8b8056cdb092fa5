/** The SQL of views in Postgres: every column is cast to its kind's type, which costs nothing where it has that type. */
import pg from 'pg'
import type { Kind } from '../../../schema/resource.js'
import type { ViewKind } from '../../../schema/view.js'
import { columnTypes } from '../../model/dictionary.js'
import type { SelectedColumn, ViewSql } from '../viewsql.js'

/** The type of a column of that kind. Hours are a numeric of nine decimals: a sum of them is no binary float anywhere. */
const typeOf = (kind: Kind | ViewKind): string =>
  kind === 'hours' ? 'numeric(18,9)' : columnTypes[kind].postgres

/** As the database prints it. */
export const printedType = (kind: Kind | ViewKind): string =>
  typeOf(kind).replace('timestamptz', 'timestamp with time zone')

function expression({ kind, sql }: SelectedColumn): string {
  // What rounds up to 10^9 has a digit more than the type.
  const rounded = `round(cast(${sql} as numeric), 9)`
  const value = kind === 'hours' ? `case when abs(${rounded}) < 1000000000 then ${rounded} end` : sql
  return `cast(${value} as ${typeOf(kind)})`
}

export const viewSql = (schema: string): ViewSql => ({
  now: 'current_timestamp',
  table: (name) => `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(name)}`,
  // A cast would print it as the reader's DateStyle says.
  dayText: (day) => `to_char(${day}, 'YYYY-MM-DD')`,
  minutes: (from, to) => `cast(floor(extract(epoch from ((${to}) - (${from}))) / 60) as bigint)`,
  // Postgres rounds numerics half away from zero.
  amount: (units, cents) =>
    `(case when abs(${units}) < 1000000000 and abs(${units} * ${cents}) < 9000000000 then cast(round(round(${units}, 9) * ${cents}) as bigint) end)`,
  prorate: (cents, part, whole) =>
    `(case when ${whole} = 0 then 0 else cast(round(cast(${cents} as numeric) * ${part} / ${whole}) as bigint) end)`,
  query: ({ with: tables, legs }) => {
    const queries = legs.map(
      ({ columns, from }) =>
        `select ${columns.map((column) => `${expression(column)} as ${pg.escapeIdentifier(column.name)}`).join(',\n  ')}\nfrom ${from}`,
    )
    return `${tables === '' ? '' : `with ${tables}\n`}${queries.join('\nunion all\n')}`
  },
})
