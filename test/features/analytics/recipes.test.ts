/**
 * What readers copy from docs/analytics.md: the versions are those that `npm run test:apart -- clients` tries, the keys
 * those of the views.
 */
import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { views } from '../../../schema/views/index.js'

const text = (path: string): string => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8')
const page = text('docs/analytics.md')
const [keys = ''] = /<!-- keys: [\s\S]*<!-- end of keys/.exec(page) ?? []
const rows = [...keys.matchAll(/^\| `(.*) \|$/gm)].map(([, row = '']) =>
  `\`${row}`.split('|').map((cell) => cell.replaceAll('`', '').trim()),
)

it('versions are those that are tested', () => {
  const files = [
    'test/clients/requirements.txt',
    'test/clients/requirements-superset.txt',
    'test/clients/requirements-mcp.txt',
  ]
  const tried = new Set(files.flatMap((file) => text(file).split('\n')))
  const named = [...page.matchAll(/[\w-]+==[\d.]+/g)].map(([pin]) => pin)
  expect(named.length).toBeGreaterThan(6)
  expect(named.filter((pin) => !tried.has(pin))).toEqual([])
  const told = [...page.matchAll(/(pandas|SQLAlchemy|psycopg|DuckDB) (\d+\.\d+\.\d+)/g)]
  expect(told.length).toBeGreaterThan(3)
  for (const [, name = '', version] of told) {
    const pin = [...tried].find((line) => line.toLowerCase().startsWith(`${name.toLowerCase()}==`))
    expect(pin).toBe(`${pin?.split('==')[0]}==${version}`)
  }
})

it('keys are all those that the views declare', () => {
  const unique = views.flatMap(({ name, columns }) =>
    Object.entries(columns).flatMap(([column, { isUnique }]) => (isUnique ? [[name, column]] : [])),
  )
  expect(rows.filter((row) => row.length === 2)).toEqual(unique)
  const referring = views.flatMap(({ name, columns }) =>
    Object.entries(columns).flatMap(([column, { references }]) => {
      const target = views.find((view) => view.name === references)
      if (!target) return []
      const names = Object.keys(target.columns)
      const to = names.includes(column) ? column : names.find((one) => one.endsWith('_key'))
      return [`${name}.${column} ${references}.${to}`]
    }),
  )
  const listed = rows
    .filter((row) => row.length === 3)
    .flatMap(([column, to, within = '']) => within.split(', ').map((name) => `${name}.${column} ${to}`))
  expect(listed.sort()).toEqual(referring.sort())
})
