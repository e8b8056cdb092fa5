/**
 * Whose data columns are (`personal` in schema/resource.ts): the marks are those of the table that was decided on, every
 * view shows what they mark as personal, and only the declarations name such columns.
 */
import { expect, test } from 'vitest'
import { resources } from '../../schema/index.js'
import { views } from '../../schema/views/index.js'
import { withColumns } from '../../src/engine/model/registry.js'
import { tablesOf } from '../../src/engine/model/table.js'
import { filesIn, textOf, withoutComments } from '../support/tree.js'

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

test('whatever is a name of somebody is personal in every view', () => {
  const people = /^(customer|vehicle|staff|technician|advisor|from_staff|to_staff)_name$/
  for (const { name, columns } of views)
    for (const [column, { personal }] of Object.entries(columns))
      if (people.test(column)) expect([name, column, personal]).toEqual([name, column, true])
})
