/** The dictionary as its readers have it: as JSON, as pages of Markdown, in one document, and as a page for a browser. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import { expect, test } from 'vitest'
import { prose } from '../../../src/engine/base/escape.js'
import { configSchema } from '../../../src/engine/config/schema.js'
import { shopsync } from '../../support/harness/call.js'
import { checks } from '../../support/harness/declared.js'
import { dictionary, dictionaryAs } from '../../support/harness/dictionary.js'
import { scratch } from '../../support/harness/scratch.js'

const whole = await dictionary()
const page = await dictionaryAs('html')
const markdown = await dictionaryAs('md')

/** The pages of a folder by their names. */
const pagesIn = (folder: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.md'))
      .map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
  )

const folder = scratch()
await shopsync(['dictionary', '--out', 'pages'], { cwd: folder })
const pages = pagesIn(join(folder, 'pages'))

/** What the source sends, and what is derived from it. */
const data = whole.tables.filter(({ part }) => part !== 'state' && part !== 'view')
const matches = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, found = '']) => found)

test('schema/dictionary is current, one page per relation, each of a readable length', () => {
  const committed = pagesIn(new URL('../../../schema/dictionary', import.meta.url).pathname)
  expect(committed, 'stale: run `npm run build`').toEqual(pages)
  expect(Object.keys(pages).sort()).toEqual(
    [
      'README.md',
      ...whole.tables.map(({ name }) => `${name}.md`),
      ...whole.figures.map(({ name }) => `figures/${name}.md`),
    ].sort(),
  )
  for (const [name, text] of Object.entries(pages)) expect(text.split('\n').length, name).toBeLessThan(400)
})

test('links between the pages, and within the single document and the page, lead somewhere', () => {
  const between = Object.entries(pages).flatMap(([name, text]) =>
    matches(text, /\]\(([^)#]+)\)/g).map((target) => posix.join(posix.dirname(name), target)),
  )
  expect(between.length).toBeGreaterThan(700)
  expect(between.filter((target) => !(target in pages))).toEqual([])
  const heads = matches(markdown, /^### ([\w ]+)$/gm).map((name) => name.toLowerCase().replaceAll(' ', '-'))
  expect(new Set(heads).size).toBe(heads.length)
  expect(matches(markdown, /\]\(#([^)]+)\)/g).filter((target) => !heads.includes(target))).toEqual([])
  expect(markdown).toContain('Refers to [dim_shops](#dim_shops).')
  const ids = new Set(matches(page, / id="([^"]+)"/g))
  expect(ids.size).toBe(matches(page, / id="([^"]+)"/g).length)
  const targets = [
    ...matches(page, /href="#([^"]+)"/g),
    ...matches(page, /aria-(?:controls|labelledby)="([^"]+)"/g),
  ]
  expect([...targets, ...whole.tables.map(({ name }) => name)].filter((target) => !ids.has(target))).toEqual(
    [],
  )
})

test('whatever groups by a name also groups by its key: two shops may have the same name', () => {
  const texts = whole.tables.flatMap(({ examples }) => examples.map(({ sql }) => sql))
  const grouped = texts.flatMap((sql) => matches(sql, /group by ([\w., ]+?)(?: order| limit| nulls|$|\n)/g))
  const lists = grouped.map((list) => list.split(/, */))
  expect(lists.filter((list) => list.some((name) => name.endsWith('_name'))).length).toBeGreaterThan(5)
  for (const list of lists)
    for (const name of list.filter((each) => each.endsWith('_name') && each !== 'type_name'))
      expect(list).toContain(name.replace(/_name$/, '_key'))
})

test('it describes whatever has a name, and each description is on the page as text', () => {
  for (const { name, grain, description, columns } of whole.tables) {
    const texts = [grain, description, ...columns.map((column) => column.description)]
    expect([name, texts.filter((text) => text === '')]).toEqual([name, []])
    const lost = columns.filter((column) => !page.includes(prose(column.description)))
    expect([name, lost]).toEqual([name, []])
  }
  // The product's own tables are separate, and the tenants are among the data.
  expect(data.map(({ name }) => name)).toContain('tenants')
  expect(data.filter(({ name }) => name.startsWith('sync_'))).toEqual([])
})

test('the open questions only name columns and settings that exist', () => {
  const columns = whole.tables.flatMap((table) => table.columns.map(({ name }) => name))
  const { properties } = configSchema(checks) as { properties: { report: { properties: object } } }
  const settings = Object.keys(properties.report.properties).map((name) => `report.${name}`)
  // Values of a setting, and what only a future API would send.
  const allowed = new Set([...columns, ...settings, 'fraction', 'fixed_price_cents', 'time_zone'])
  const named = whole.questions.flatMap(({ question, answer, setting }) => [
    ...matches(`${question} ${answer}`, /`([a-z_.A-Z]+)`/g),
    ...(setting === undefined ? [] : [setting]),
  ])
  expect(named.filter((name) => !allowed.has(name))).toEqual([])
  for (const { question } of whole.questions) {
    expect(markdown).toContain(`| ${question} `)
    expect(page).toContain(`<th role="rowheader" scope="row">${prose(question)}</th>`)
  }
})

test('a reference is on the page in both directions, and in the diagram once', () => {
  expect(page).toContain('→ <a href="#staffs"><code>staffs</code></a>')
  expect(page).toContain('<a href="#notes"><code>notes.repair_order_id</code></a>')
  const drawn = [...markdown.matchAll(/^ {2}(\w+) \|\|--o\{ (\w+) : \w+$/gm)].map(
    ([, from, to]) => `${from} ${to}`,
  )
  const references = data.flatMap((table) => table.joins.map((join) => `${join.table} ${table.name}`))
  expect(references.length).toBeGreaterThan(20)
  expect(drawn.sort()).toEqual(references.sort())
})

test('the page loads nothing from elsewhere, and its policy only allows its own style and script', () => {
  const [policy = ''] = matches(page, /Content-Security-Policy" content="([^"]+)"/g)
  expect(policy).toMatch(/^default-src 'none'; /)
  for (const tag of ['style', 'script']) {
    const [text = ''] = matches(page, new RegExp(`<${tag}>([\\s\\S]*?)</${tag}>`, 'g'))
    expect(text.length).toBeGreaterThan(1000)
    expect(policy).toContain(`${tag}-src 'sha256-${createHash('sha256').update(text).digest('base64')}'`)
  }
  expect(page).not.toMatch(/<link|<img|<iframe|<object|https?:|@import|url\(| src=| style=| on\w+=/)
})

test('each figure has a complete page of its own, and its relation links to it', () => {
  // In the order in which people look for them; questions come last.
  const places = ['figure-sales_cents', 'figure-purchases_cents', 'orders', 'open_questions'].map((id) =>
    page.indexOf(`id="${id}"`),
  )
  expect(places).toEqual([...places].sort((a, b) => a - b))
  for (const { name, label, relation, instead, left_out } of whole.figures) {
    const [section = ''] = matches(page, new RegExp(`id="figure-${name}" ([\\s\\S]*?)</section>`, 'g'))
    for (const text of [label, left_out?.what ?? '', ...instead.map(({ why }) => why)])
      expect(section).toContain(prose(text))
    expect(matches(page, new RegExp(`id="${relation}-head"([\\s\\S]*?)</dl>`, 'g'))[0]).toContain(
      `<a href="#figure-${name}">`,
    )
  }
})

test('the parts of a ratio by a distinct count are not offered for adding up', () => {
  const offered = whole.figures.filter(({ name }) =>
    /^- Sums: .*divide/m.test(pages[`figures/${name}.md`] ?? ''),
  )
  const isDistinct = ({ denominator }: { readonly denominator: string | null }) =>
    denominator?.includes('distinct') === true
  expect([offered.length > 10, offered.filter(isDistinct), whole.figures.some(isDistinct)]).toEqual([
    true,
    [],
    true,
  ])
})

test('headings of the page are in order, and its tables have captions and named columns', () => {
  const levels = matches(page, /<h(\d)/g).map(Number)
  expect(levels.filter((level) => level === 1)).toHaveLength(1)
  const main = levels.slice(levels.indexOf(1))
  expect(main.filter((level, i) => i > 0 && level - (main[i - 1] ?? 0) > 1)).toEqual([])
  expect(page.match(/<table /g)).toHaveLength(page.match(/<caption/g)?.length ?? 0)
  for (const landmark of ['<header>', '<nav id="tables" aria-label=', '<main id="content"', 'role="search"'])
    expect(page).toContain(landmark)
})
