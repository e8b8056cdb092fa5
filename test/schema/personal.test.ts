/**
 * Whose data columns are (`personal` in schema/resource.ts): the marks are those of the table that was decided on, every
 * view shows what they mark as personal, and only the declarations name such columns.
 */
import { expect, test } from 'vitest'
import { derivedTables, resources } from '../../schema/index.js'
import { shownFields } from '../../schema/naming.js'
import { isWithheld } from '../../schema/resource.js'
import { columnsRead } from '../../schema/viewreads.js'
import dimCustomers, { contactColumns } from '../../schema/views/dim_customers.js'
import dimVehicles from '../../schema/views/dim_vehicles.js'
import { views } from '../../schema/views/index.js'
import { withColumns } from '../../src/engine/model/registry.js'
import { derivedTable, tablesOf } from '../../src/engine/model/table.js'
import { dictionary } from '../support/harness/dictionary.js'
import { filesIn, textOf, withoutComments } from '../support/harness/tree.js'

const tables = Object.values(resources).flatMap((resource) => tablesOf(resource))

/** What the preset does; it keeps few values, which a pseudonym's frequency would give away. */
const preset = `
appointments: drop _extra description title
assignments: drop _extra message
customer_phones: hash international national number, drop label, keep country_code
customers: hash address city email first_name last_name phone zip, drop _extra detail, keep marketing_ok state
integrator_tags: hash value
notes: drop _extra description
past_recommendations: drop _extra
payment_transactions: hash account authorization_code name reference_number, drop _extra response_text
payments: drop _extra notes
recommendation_inspections: drop detail
recommendation_services: drop comment
recommendations: drop _extra
repair_order_inspections: drop detail
repair_order_payments: drop notes
repair_order_services: drop comment
repair_orders: hash label_text, drop _extra detail, keep customer_source preferred_contact_type
staffs: hash email first_name last_name, drop _extra
vehicles: drop _extra
`

/** The columns of a table to which the preset does something. */
const marked = ({ columns }: (typeof tables)[number], what: string): string[] =>
  columns.flatMap(({ name, personal }) => (personal?.preset === what ? [name] : [])).sort()

test('the preset hides what was decided on, and nothing else', () => {
  const lines = tables.flatMap((table) => {
    const parts = ['hash', 'drop', 'keep'].map((what) => [what, ...marked(table, what)])
    const some = parts.filter(({ length }) => length > 1).map((part) => part.join(' '))
    return some.length > 0 ? [`${table.name}: ${some.join(', ')}`] : []
  })
  expect(lines.sort()).toEqual(preset.trim().split('\n'))
})

test('each mark says whose data it is', () => {
  const whose = (name: string): Record<string, string[]> => {
    const found: Record<string, string[]> = {}
    for (const { name: column, personal } of tables.find((table) => table.name === name)?.columns ?? [])
      if (personal) found[personal.who] = [...(found[personal.who] ?? []), column]
    return found
  }
  expect(Object.keys(whose('staffs'))).toEqual(['staff'])
  expect(Object.keys(whose('payment_transactions'))).toEqual(['card'])
  expect(whose('customers').text).toEqual(['detail'])
  expect(whose('vehicles')).toEqual({ customer: ['_extra'] })
})

test('a promoted column of a table with personal data is hashed if it is text, otherwise dropped', () => {
  const columns = { one: 'text', other: 'integer' } as const
  for (const resource of Object.values(resources)) {
    const [root] = tablesOf(withColumns(resource, columns))
    const presets = Object.keys(columns).map(
      (name) => root?.columns.find((column) => column.name === name)?.personal?.preset,
    )
    const isNamed = marked(tablesOf(resource)[0]!, 'drop').includes('_extra')
    expect([resource.name, presets]).toEqual([
      resource.name,
      isNamed ? ['hash', 'drop'] : [undefined, undefined],
    ])
  }
})

test('what many vehicles share is kept, as a column of its own and in a view', () => {
  const vehicles = resources.vehicles!
  const shared = ['year', 'make', 'model', 'trim', 'engine']
  expect(vehicles.impersonal).toEqual(shared)
  const columns = Object.fromEntries([...shared, 'vin', 'plate'].map((name) => [name, 'text'] as const))
  const [root] = tablesOf(withColumns(vehicles, columns))
  const kept = root?.columns.filter(({ name, personal }) => name in columns && !isWithheld(personal))
  expect(kept?.map(({ name }) => name)).toEqual(shared)
  for (const name of Object.keys(shownFields.vehicles ?? {}))
    expect([name, shared.includes(name), dimVehicles.columns]).toEqual([
      name,
      true,
      expect.objectContaining({ [name]: expect.not.objectContaining({ personal: true }) }),
    ])
})

test('no other file names a personal column', () => {
  const hidden = tables.filter((table) => ['hash', 'drop'].some((what) => marked(table, what).length > 0))
  const all = hidden.flatMap((table) => [...marked(table, 'hash'), ...marked(table, 'drop')])
  const names = new Set(all.filter((name) => name !== '_extra'))
  // These are words of ours, too: they are only recognized next to their table.
  const ours = /^(zip|name|number|title|detail|label|value|message|description|address)$/
  const telling = [...names].filter((name) => !ours.test(name))
  expect(telling.length).toBeGreaterThan(10)
  const named = new RegExp(`(['"\`.])(?:${telling.join('|')})\\1|\\b\\w+\\.(?:${telling.join('|')})\\b`)
  const byTable = new RegExp(
    `\\b(?:${hidden.map(({ name }) => name).join('|')})\\.(?:${[...names].join('|')})\\b`,
  )
  const files = filesIn('src', '.ts').filter((file) => !file.startsWith('src/sandbox/'))
  const naming = files.filter((file) => {
    // The message that shows what to type names one as an example.
    const text = withoutComments(textOf(file)).replace('{"email": "keep"}', '')
    return named.test(text) || byTable.test(text)
  })
  expect(naming).toEqual([])
})

test('derived tables, views and the dictionary have the marks of the fields that they show', async () => {
  const derived = Object.values(derivedTables).map(derivedTable)
  const all = [...tables, ...derived]
  const markOf = (table: string, name: string) =>
    all.find((one) => one.name === table)?.columns.find((one) => one.name === name)?.personal
  for (const { name, of, reads, fields } of Object.values(derivedTables))
    for (const column of Object.keys(fields))
      if (reads[of]?.includes(column))
        expect([name, column, markOf(name, column)]).toEqual([name, column, markOf(of, column)])
  const { tables: shown } = await dictionary()
  for (const { name, columns } of shown.filter(({ part }) => part !== 'view' && part !== 'state'))
    for (const column of columns)
      expect([name, column.name, column.personal ?? false]).toEqual([
        name,
        column.name,
        isWithheld(markOf(name, column.name)),
      ])
  for (const view of views)
    for (const [table, names] of columnsRead(view))
      for (const [name, { personal = false }] of Object.entries<{ personal?: true }>(view.columns))
        if (names.has(name))
          expect([view.name, name, personal]).toEqual([view.name, name, isWithheld(markOf(table, name))])
})

const people = /^(customer|vehicle|staff|technician|advisor|from_staff|to_staff)_name$/

test('whatever is a name of somebody is personal in every view', () => {
  for (const { name, columns } of views)
    for (const [column, { personal }] of Object.entries(columns))
      if (people.test(column)) expect([name, column, personal]).toEqual([name, column, true])
})

test('what else tells of a person is personal in every view, among it how a customer is reached', () => {
  const found = views.flatMap(({ name, columns }) => {
    const own = Object.entries(columns).filter(
      ([column, { personal }]: [string, { personal?: true }]) => personal && !people.test(column),
    )
    return own.map(([column]) => `${name}.${column}`)
  })
  expect(found).toEqual([
    'appointment_load.title',
    ...['full_name', 'first_name', 'last_name', 'city', 'zip', 'phone', 'email'].map(
      (column) => `dim_customers.${column}`,
    ),
    ...['handovers.message', 'inspections.detail', 'orders.label', 'payments_ledger.notes'],
  ])
  expect(contactColumns.map((column) => dimCustomers.columns[column].personal)).toEqual([true, true])
})
