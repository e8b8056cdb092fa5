/** The questions of docs/questions.md: each query runs in both warehouses, and returns the rows on the page. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { views } from '../../../schema/views/index.js'
import { query } from '../../support/harness/views.js'
import { bothWarehouses, type Warehouse } from '../../support/harness/warehouse.js'
import { businessIn } from '../../support/world/business.js'

interface Question {
  readonly title: string
  readonly sql: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
}

const cells = (line: string): string[] =>
  line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim())

function questionsIn(page: string): Question[] {
  return page
    .split(/^## (?=\d+\. )/m)
    .slice(1)
    .map((part) => {
      const [title = ''] = part.split('\n')
      const [, sql = ''] = /```sql\n([\s\S]*?)```/.exec(part) ?? []
      const [head = '', , ...rows] = part.split('\n').filter((line) => line.startsWith('|'))
      return { title, sql, columns: cells(head), rows: rows.map(cells) }
    })
}

const questions = questionsIn(readFileSync(new URL('../../../docs/questions.md', import.meta.url), 'utf8'))
const flags = new Set(
  views.flatMap(({ columns }) =>
    Object.entries(columns).flatMap(([name, { kind }]) => (kind === 'boolean' ? [name] : [])),
  ),
)

/** Tests write views in braces. */
const inBraces = (sql: string): string =>
  views.reduce(
    (text, { name }) => text.replaceAll(new RegExp(`\\b(from|join) ${name}\\b`, 'g'), `$1 {${name}}`),
    sql,
  )

/** A value as the page shows it: numbers with the digits that matter. */
function shown(name: string, value: unknown): string {
  if (value === null) return ''
  if (flags.has(name)) return String(value === true || value === 1)
  if (typeof value === 'number') return String(Number(value.toPrecision(12)))
  return String(value)
}

describe.each(bothWarehouses())('$name', (kind) => {
  let warehouse: Warehouse
  beforeAll(async () => {
    warehouse = (await businessIn(kind)).warehouse
  })
  afterAll(() => warehouse.close())

  it.each(questions)('$title', async ({ sql, columns, rows }) => {
    const found = await query(warehouse, inBraces(sql))
    expect(found.map((row) => Object.keys(row))).toEqual(rows.map(() => columns))
    expect(found.map((row) => Object.entries(row).map(([name, value]) => shown(name, value)))).toEqual(rows)
  })
})

it('are sixteen', () => {
  expect(questions).toHaveLength(16)
  expect(questions.every(({ rows }) => rows.length > 0)).toBe(true)
})
