import { sql } from 'kysely'
import type { ExampleQuery } from '../../../schema/views/demo.js'
import { count, dollars, table } from '../../format.js'
import type { Warehouse } from '../../warehouse/warehouse.js'

export type ExampleRow = Readonly<Record<string, unknown>>

export async function ask(warehouse: Warehouse, query: ExampleQuery): Promise<ExampleRow[]> {
  const { rows } = await warehouse.read((db) => sql.raw<ExampleRow>(query.sql).execute(db))
  return rows
}

type ColumnFormat = ExampleQuery['columns'][number]['kind']

function cell(value: unknown, kind: ColumnFormat): string {
  if (value === null || value === undefined) return '-'
  const number = Number(value)
  switch (kind) {
    case 'text':
      return String(value)
    case 'count':
      return count(Math.round(number))
    case 'money':
      return dollars(number)
    case 'hours':
      return number.toFixed(1)
    case 'percent':
      return `${number.toFixed(1)} %`
    default:
      return kind satisfies never
  }
}

export function answerText({ columns }: ExampleQuery, rows: readonly ExampleRow[]): string {
  const headings = columns.map(({ title, kind }) => ({
    title,
    align: kind === 'text' ? ('left' as const) : ('right' as const),
  }))
  return table(
    headings,
    rows.map((row) => columns.map(({ name, kind }) => cell(row[name], kind))),
  )
}
