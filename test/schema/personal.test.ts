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

/** What the preset hides, by table: what is hashed, and what is dropped. */
const inspections = ['repair_order_inspections', 'recommendation_inspections']
const services = ['repair_order_services', 'recommendation_services']
const hidden: Readonly<Record<string, { readonly hash?: string; readonly drop?: string }>> = {
  customers: { hash: 'first_name last_name email phone address city zip', drop: 'detail _extra' },
  customer_phones: { hash: 'number national international', drop: 'label' },
  staffs: { hash: 'first_name last_name email', drop: '_extra' },
  payment_transactions: {
    hash: 'name account reference_number authorization_code',
    drop: 'response_text _extra',
  },
  payments: { drop: 'notes _extra' },
  repair_order_payments: { drop: 'notes' },
  repair_orders: { hash: 'label_text', drop: 'detail _extra' },
  ...Object.fromEntries(services.map((table) => [table, { drop: 'comment' }])),
  ...Object.fromEntries(inspections.map((table) => [table, { drop: 'detail' }])),
  notes: { drop: 'description _extra' },
  appointments: { drop: 'title description _extra' },
  assignments: { drop: 'message _extra' },
  integrator_tags: { hash: 'value' },
  vehicles: { drop: '_extra' },
  recommendations: { drop: '_extra' },
  past_recommendations: { drop: '_extra' },
}

/** What says something about a person and stays: few values, which a pseudonym's frequency would give away. */
const kept: Readonly<Record<string, string>> = {
  customers: 'state marketing_ok',
  customer_phones: 'country_code',
  repair_orders: 'customer_source preferred_contact_type',
}

const marked = (preset: string): Record<string, string[]> =>
  Object.fromEntries(
    tables.flatMap(({ name, columns }) => {
      const found = columns.filter(({ personal }) => personal?.preset === preset).map((column) => column.name)
      return found.length > 0 ? [[name, found.sort()]] : []
    }),
  )

const sorted = (lists: Readonly<Record<string, string | undefined>>): Record<string, string[]> =>
  Object.fromEntries(
    Object.entries(lists).flatMap(([table, names]) => (names ? [[table, names.split(' ').sort()]] : [])),
  )

test('the preset hides what was decided on, and nothing else', () => {
  for (const preset of ['hash', 'drop'] as const) {
    const lists = Object.entries(hidden).map(([table, of]) => [table, of[preset]] as const)
    expect(marked(preset)).toEqual(sorted(Object.fromEntries(lists)))
  }
  expect(marked('keep')).toEqual(sorted(kept))
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
    const isNamed = (hidden[resource.name]?.drop ?? '').includes('_extra')
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

/** Words of ours, too: they are only recognized next to their table. */
const ours = new Set([
  'zip',
  'name',
  'number',
  'title',
  'detail',
  'label',
  'value',
  'message',
  'description',
  'address',
])

test('no other file names a personal column', () => {
  const all = ['hash', 'drop'].flatMap((preset) => Object.values(marked(preset)).flat())
  const names = new Set(all.filter((name) => name !== '_extra'))
  const telling = [...names].filter((name) => !ours.has(name))
  expect(telling.length).toBeGreaterThan(10)
  const named = new RegExp(`(['"\`.])(?:${telling.join('|')})\\1|\\b\\w+\\.(?:${telling.join('|')})\\b`)
  const byTable = new RegExp(`\\b(?:${Object.keys(hidden).join('|')})\\.(?:${[...names].join('|')})\\b`)
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
