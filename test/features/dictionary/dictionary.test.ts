import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { expect, test } from 'vitest'
import { figures } from '../../../schema/figures/index.js'
import { derivedTables, resources } from '../../../schema/index.js'
import { views } from '../../../schema/views/index.js'
import { prose } from '../../../src/engine/base/escape.js'
import { configSchema } from '../../../src/engine/config/schema.js'
import { derivedTable, tablesOf } from '../../../src/engine/model/table.js'
import { describeModel } from '../../../src/features/dictionary/describe.js'
import { dataTables, figureFacts } from '../../../src/features/dictionary/dictionary.js'
import { toMarkdown, toMarkdownPages } from '../../../src/features/dictionary/markdown.js'
import { toHtml } from '../../../src/features/dictionary/page/dictionarypage.js'
import { checks } from '../../support/harness/checks.js'
import { known } from '../../support/harness/runs.js'

const list = Object.values(resources)
const whole = describeModel(list, known.state)
const page = toHtml(whole)

test('schema/dictionary is current, one page per relation, each of a readable length', () => {
  const folder = new URL('../../../schema/dictionary/', import.meta.url)
  const committed = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => [name, readFileSync(new URL(name, folder), 'utf8')])
  const pages = toMarkdownPages(whole)
  expect(Object.fromEntries(committed), 'stale: run `npm run build`').toEqual(pages)
  expect(Object.keys(pages)).toEqual([
    'README.md',
    ...whole.tables.map(({ name }) => `${name}.md`),
    ...whole.figures.map(({ name }) => `figures/${name}.md`),
  ])
  for (const [name, text] of Object.entries(pages)) expect(text.split('\n').length, name).toBeLessThan(400)
})

test('links between the pages, and within the single document, lead somewhere', () => {
  const pages = toMarkdownPages(whole)
  const between = Object.entries(pages).flatMap(([name, text]) =>
    [...text.matchAll(/\]\(([^)#]+)\)/g)].map(([, target = '']) => posix.join(posix.dirname(name), target)),
  )
  expect(between.length).toBeGreaterThan(700)
  for (const target of between) expect(Object.keys(pages)).toContain(target)
  const document = toMarkdown(whole)
  const heads = [...document.matchAll(/^### ([\w ]+)$/gm)].map(([, name = '']) =>
    name.toLowerCase().replaceAll(' ', '-'),
  )
  expect(new Set(heads).size).toBe(heads.length)
  for (const [, target] of document.matchAll(/\]\(#([^)]+)\)/g)) expect(heads).toContain(target)
  expect(pages['orders.md']).toContain('Refers to [dim_shops](dim_shops.md).')
  expect(document).toContain('Refers to [dim_shops](#dim_shops).')
  expect(pages['orders.md']).toContain('[Gross margin](figures/gross_margin.md)')
  expect(pages['figures/gross_margin.md']).toContain('- Relation: [orders](../orders.md)')
})

test('whatever groups by a name also groups by its key: two shops may have the same name', () => {
  const grouped = whole.tables.flatMap(({ examples }) =>
    examples.flatMap(({ sql }) => [...sql.matchAll(/group by ([\w., ]+?)(?: order| limit| nulls|$|\n)/g)]),
  )
  const lists = grouped.map(([, list = '']) => list.split(/, */))
  expect(lists.filter((list) => list.some((name) => name.endsWith('_name'))).length).toBeGreaterThan(5)
  for (const list of lists)
    for (const name of list.filter((each) => each.endsWith('_name') && each !== 'type_name'))
      expect(list).toContain(name.replace(/_name$/, '_key'))
})

test('it has every table, view and column, with a description', () => {
  const derived = Object.values(derivedTables).map(derivedTable)
  const stored = [...derived, ...list.flatMap((resource) => tablesOf(resource)), ...known.state]
  const expected = [
    ...views.map(({ name, columns }) => [name, Object.keys(columns)]),
    ...stored.map(({ name, columns }) => [name, columns.map((column) => column.name)]),
  ]
  expect(whole.tables.map(({ name, columns }) => [name, columns.map((column) => column.name)])).toEqual(
    expected,
  )
  for (const table of whole.tables) {
    for (const text of [table.grain, table.description]) expect(text).not.toBe('')
    for (const column of table.columns)
      expect(column.description, `${table.name}.${column.name}`).not.toBe('')
  }
})

test("the product's own tables are separate, and the tenants are among the data", () => {
  const data = dataTables(whole).map(({ name }) => name)
  expect(data).toContain('tenants')
  expect(data.filter((name) => name.startsWith('sync_'))).toEqual([])
  expect(whole.tables.filter(({ part }) => part === 'state').length).toBeGreaterThan(10)
})

test('the open questions only name columns and settings that exist', () => {
  const columns = new Set(whole.tables.flatMap((table) => table.columns.map(({ name }) => name)))
  const { properties } = configSchema(checks) as { properties: { report: { properties: object } } }
  const settings = Object.keys(properties.report.properties).map((name) => `report.${name}`)
  const named = whole.questions.flatMap(({ question, answer, setting }) => [
    ...[...`${question} ${answer}`.matchAll(/`([a-z_.A-Z]+)`/g)].map(([, word = '']) => word),
    ...(setting === undefined ? [] : [setting]),
  ])
  // Values of a setting, and what only a future API would send.
  const others = ['fraction', 'fixed_price_cents', 'time_zone']
  expect(named.filter((name) => ![...columns, ...settings, ...others].includes(name))).toEqual([])
  for (const { question } of whole.questions) {
    expect(toMarkdown(whole)).toContain(`| ${question} `)
    expect(page).toContain(`<th role="rowheader" scope="row">${prose(question)}</th>`)
  }
})

test('every number in the data has a unit, except those that count nothing', () => {
  const numbers = dataTables(whole).flatMap((table) =>
    table.columns.filter(({ kind }) => kind === 'number').map(({ name, unit }) => [name, unit] as const),
  )
  expect(numbers.filter(([, unit]) => unit === '').map(([name]) => name)).toEqual(['frequency'])
  expect(Object.fromEntries(numbers)).toMatchObject({
    hours: 'hours',
    labor_tax_rate: 'percent',
    part_discount_percentage: 'percent',
    quantity_on_hand: 'units',
  })
})

test('a reference leads to the row of its own tenant, and an item to the item that contains it', () => {
  const joins = (name: string) => whole.tables.find((table) => table.name === name)?.joins
  expect(joins('notes')).toEqual([
    { table: 'repair_orders', columns: ['tenant_id', 'repair_order_id'], to: ['tenant_id', 'id'] },
  ])
  expect(joins('repair_order_parts')).toContainEqual({
    table: 'repair_order_services',
    columns: ['tenant_id', 'repair_order_id', 'service_id'],
    to: ['tenant_id', 'repair_order_id', 'id'],
  })
  expect(joins('repair_order_totals')).toContainEqual({
    table: 'repair_orders',
    columns: ['tenant_id', 'repair_order_id'],
    to: ['tenant_id', 'id'],
  })
})

test('the page loads nothing from elsewhere, and its policy only allows its own style and script', () => {
  const [, policy = ''] = /Content-Security-Policy" content="([^"]+)"/.exec(page) ?? []
  expect(policy).toMatch(/^default-src 'none'; /)
  for (const tag of ['style', 'script']) {
    const [, text = ''] = new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`).exec(page) ?? []
    expect(text.length).toBeGreaterThan(1000)
    expect(policy).toContain(`${tag}-src 'sha256-${createHash('sha256').update(text).digest('base64')}'`)
  }
  expect(page).not.toMatch(/<link|<img|<iframe|<object|https?:|@import|url\(| src=| style=| on\w+=/)
})

test('every link on the page leads somewhere, and no two places share a name', () => {
  const ids = [...page.matchAll(/ id="([^"]+)"/g)].map((found) => found[1])
  expect(ids.filter((id, i) => ids.indexOf(id) !== i)).toEqual([])
  const targets = new Set(ids)
  for (const [, target] of page.matchAll(/href="#([^"]+)"/g)) expect(targets).toContain(target)
  for (const [, target] of page.matchAll(/aria-(?:controls|labelledby)="([^"]+)"/g))
    expect(targets).toContain(target)
  for (const { name } of whole.tables) expect(targets).toContain(name)
})

test('the page shows joins in both directions, and the diagram of Markdown one line per reference', () => {
  expect(page).toContain('→ <a href="#staffs"><code>staffs</code></a>')
  expect(page).toContain('<a href="#notes"><code>notes.repair_order_id</code></a>')
  const drawn = [...toMarkdown(whole).matchAll(/^ {2}(\w+) \|\|--o\{ (\w+) : \w+$/gm)].map(
    ([, from, to]) => `${from} ${to}`,
  )
  const references = dataTables(whole).flatMap((table) =>
    table.joins.map((join) => `${join.table} ${table.name}`),
  )
  expect(references.length).toBeGreaterThan(20)
  expect(drawn.sort()).toEqual(references.sort())
})

test('each figure has a complete page of its own, and its relation links to it', () => {
  const names = whole.figures.map(({ name }) => name)
  expect([...names].sort()).toEqual(figures.map(({ name }) => name))
  // In the order in which people look for them, with every figure in its place; questions come last.
  expect(names.slice(0, 3)).toEqual(['sales_cents', 'gross_profit_cents', 'gross_margin'])
  expect(names.at(-1)).toBe('purchases_cents')
  const places = ['figure-sales_cents', 'figure-purchases_cents', 'orders', 'open_questions'].map((id) =>
    page.indexOf(`id="${id}"`),
  )
  expect(places).toEqual([...places].sort((a, b) => a - b))
  expect(places[0]).toBeGreaterThan(0)
  for (const { name, label, relation, instead, left_out } of whole.figures) {
    const [, section = ''] = new RegExp(`id="figure-${name}" ([\\s\\S]*?)</section>`).exec(page) ?? []
    for (const text of [label, left_out?.what ?? '', ...instead.map(({ why }) => why)])
      expect(section).toContain(prose(text))
    const [, facts = ''] = new RegExp(`id="${relation}-head"([\\s\\S]*?)</dl>`).exec(page) ?? []
    expect(facts).toContain(`<a href="#figure-${name}">`)
  }
})

test('the parts of a ratio by a distinct count are not offered for adding up', () => {
  const told = whole.figures.flatMap((figure) =>
    figureFacts(figure).flatMap(([name, content]) =>
      name === 'Sums' && /divide/.test(content) ? [figure] : [],
    ),
  )
  expect(told.length).toBeGreaterThan(10)
  expect(told.filter(({ denominator }) => denominator?.includes('distinct'))).toEqual([])
  expect(whole.figures.some(({ denominator }) => denominator?.includes('distinct'))).toBe(true)
})

test('headings of the page are in order, and its tables have captions and named columns', () => {
  const levels = [...page.matchAll(/<h(\d)/g)].map((found) => Number(found[1]))
  expect(levels.filter((level) => level === 1)).toHaveLength(1)
  const main = levels.slice(levels.indexOf(1))
  for (const [i, level] of main.entries()) if (i > 0) expect(level - (main[i - 1] ?? 0)).toBeLessThan(2)
  expect(page.match(/<table /g)).toHaveLength(page.match(/<caption/g)?.length ?? 0)
  for (const landmark of ['<header>', '<nav id="tables" aria-label=', '<main id="content"', 'role="search"'])
    expect(page).toContain(landmark)
})

test("descriptions can't break out of a cell or of the page", () => {
  const [first] = list
  const fields = { id: { ...first!.fields.id!, doc: 'x | y <i>' }, '"><b>': { ...first!.fields.id! } }
  const nasty = { ...first!, doc: '<b>a|b</b></script>', fields }
  const own = describeModel([nasty as typeof first & object], known.state)
  expect(toHtml(own)).toContain('&lt;b&gt;a|b&lt;/b&gt;&lt;/script&gt;')
  expect(toHtml(own)).not.toContain('"><b>')
  expect(toMarkdown(own)).toContain('x \\| y')
})
