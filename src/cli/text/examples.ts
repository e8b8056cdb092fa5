import type { ExampleQuery } from '../../../schema/views/demo.js'
import { count, dollars, right, table } from '../../format.js'

export type ExampleRow = Readonly<Record<string, unknown>>

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
  return table(
    columns.map(({ title, kind }) => (kind === 'text' ? title : right(title))),
    rows.map((row) => columns.map(({ name, kind }) => cell(row[name], kind))),
  )
}
