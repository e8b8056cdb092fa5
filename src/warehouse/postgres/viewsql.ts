/** The SQL of views in Postgres: every column is cast to its kind's type, which costs nothing where it has that type. */
import pg from 'pg'
import type { ViewKind } from '../../../schema/view.js'
import type { SelectedColumn, ViewSql } from '../viewsql.js'

const types: Readonly<Record<ViewKind, string>> = {
  id: 'bigint',
  integer: 'bigint',
  cents: 'bigint',
  hours: 'numeric(18,9)',
  number: 'numeric',
  boolean: 'boolean',
  text: 'text',
  timestamp: 'timestamptz',
  day: 'date',
}

function expression({ kind, sql }: SelectedColumn): string {
  const value = kind === 'hours' ? `case when abs(${sql}) < 1000000000 then ${sql} end` : sql
  return `cast(${value} as ${types[kind]})`
}

export const viewSql = (schema: string): ViewSql => ({
  now: 'current_timestamp',
  table: (name) => `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(name)}`,
  // A cast to text would follow the session's DateStyle.
  month: (day) => `to_char(${day}, 'YYYY-MM')`,
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
