/**
 * Records that the sandbox generates, changes and lets partners write contain what `schema/` declares, and no more, and
 * refer to records that exist, however long its shops have worked.
 */
import { expect, it } from 'vitest'
import { resources } from '../../schema/index.js'
import type { Field, Member, Shape } from '../../schema/resource.js'
import { EVENT_NAMES, parseInstant } from '../../src/sandbox/index.js'
import { noon, shop } from '../support/harness/requests.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { sized } from '../support/harness/size.js'
import { HandClock } from '../support/world/clocks.js'

/** Null although the document does not call them nullable (docs/sandbox.md says when). */
const emptied = [
  'appointments.repair_order_id',
  ...['repair_orders.services[]', 'recommendations.service'].flatMap((at) => [
    ...[`${at}.sublets[].vendor_id`, `${at}.sublets[].invoice_date`],
    ...[`${at}.parts[].quoted_price_cents`, `${at}.parts[].cost_cents`],
  ]),
]

const fits: Readonly<Record<Field['kind'], (value: unknown) => boolean>> = {
  id: Number.isSafeInteger,
  integer: Number.isSafeInteger,
  cents: Number.isSafeInteger,
  number: Number.isFinite,
  boolean: (value) => typeof value === 'boolean',
  text: (value) => typeof value === 'string',
  timestamp: (value) => typeof value === 'string' && parseInstant(value) !== undefined,
  json: () => true,
  day: (value) => typeof value === 'string' && /^\d{4}-\d\d-\d\d$/.test(value),
}

type Fields = Readonly<Record<string, unknown>>
const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Whether a record is known; counts what was asked. */
type Known = (resource: string, id: number) => boolean

/** The paths in an object that aren't as declared, or lead nowhere. */
function* wrongIn(shape: Shape, found: Fields, at: string, known: Known): Generator<string> {
  const invented = resources[at]?.source.includes('Other resources') === true
  for (const name of Object.keys(found))
    if (!invented && !(name in shape) && name !== 'integrator_tags') yield `${at}.${name} is not declared`
  for (const [name, member] of Object.entries(shape))
    yield* wrongAt(member, found[name], `${at}.${name}`, known)
}

function* wrongAt(member: Member, value: unknown, at: string, known: Known): Generator<string> {
  if (value === undefined) yield `${at} is missing`
  else if (member.type === 'field') yield* wrongField(member, value, at, known)
  else if (member.type === 'scalars' || member.type === 'many') {
    if (!Array.isArray(value)) yield `${at} is no array`
    else
      for (const item of value)
        yield* member.type === 'scalars'
          ? wrongField(member.of, item, `${at}[]`, known)
          : wrongIn(member.fields, item, `${at}[]`, known)
  } else if (value === null) {
    if (member.type !== 'object' || !member.nullable) yield `${at} is null`
  } else if (!isFields(value)) yield `${at} is no object`
  else if (member.type === 'object' || Object.keys(value).length > 0)
    yield* wrongIn(member.fields, value, at, known)
}

function* wrongField(field: Field, value: unknown, at: string, known: Known): Generator<string> {
  const { references, values } = field
  if (value === null) {
    if (!field.nullable && !emptied.includes(at)) yield `${at} is null`
  } else if (!fits[field.kind](value)) yield `${at} is no ${field.kind}`
  else if (values && value !== '' && !values.includes(value as string)) yield `${at} has no value ${value}`
  else if (
    references !== undefined &&
    resources[references]?.list === 'records' &&
    !known(references, Number(value))
  )
    yield `${at} leads to no record`
}

const ofTag = (type: unknown): string =>
  Object.values(resources).find(({ entity }) => entity === type)?.name ?? 'none'

/** What was founded with a business stays. */
const foundedLists = ['shops', 'staffs', 'statuses', 'categories', 'inventories']

const clock = new HandClock(noon, 1_000_000n)
const sandbox = await sandboxOfFile({ tenants: 1, repairOrders: 60, clock })
const founded = foundedLists.map((name) => [name, sandbox.store.ids(101, name)] as const)
const changes = sandbox.work(sized(3000, 5000))

it('shops at work cause each of the 36 kinds of events', () => {
  const kinds = new Set(changes.map(({ resource, action }) => `${resources[resource]?.singular}.${action}`))
  expect(EVENT_NAMES.length).toBe(36)
  expect(EVENT_NAMES.filter((name) => !kinds.has(name))).toEqual([])
})

it('shops at work keep the shops, staff, stock and categories that their business was founded with', () => {
  const { store } = sandbox
  for (const [name, ids] of founded) expect(store.ids(101, name)).toEqual(expect.arrayContaining([...ids]))
  const used = new Set(store.all(101, 'repair_orders').map(({ shop_id }) => shop_id))
  expect(founded[0]?.[1]).toEqual(expect.arrayContaining([...used]))
})

it('what is generated, changed and written is as declared, and refers to records that exist', async () => {
  const { store } = sandbox
  const [estimate] = store.all(101, 'repair_orders').filter(({ state }) => state === 'estimate')
  const [job] = store.all(101, 'canned_jobs').filter(({ sublets }) => JSON.stringify(sublets) !== '[]')
  const order = Number(estimate?.id)
  const writes: readonly (readonly [method: string, path: string, body: object])[] = [
    ['POST', 'appointments', { title: 'Oil', shop_id: 1, start_at: noon }],
    ['POST', 'customers', { phones: [{ number: '+4915112345678' }] }],
    ['POST', 'integrator_tags', { taggable_type: 'Shop', taggable_id: 1, name: 'a', value: '' }],
    ['POST', 'notes', { repair_order_id: order, description: 'Called back' }],
    ['POST', 'payments', { repair_order_id: order, amount_cents: 1, payment_type_details: { type: 'Cash' } }],
    ['POST', 'recommendations', { repair_order_id: order, description: 'Wash it' }],
    ['POST', 'recommendations', { repair_order_id: order, canned_job_id: job?.id }],
    ['PUT', `estimates/${order}/canned_jobs/${job?.id}`, {}],
  ]
  for (const [method, path, body] of writes)
    expect([path, (await shop(sandbox, path, { method, body })).status]).toEqual([
      path,
      method === 'PUT' ? 200 : 201,
    ])
  const ids = new Map(store.resources.map((name) => [name, new Set(store.ids(101, name))]))
  let asked = 0
  const known: Known = (resource, id) => {
    asked += 1
    return ids.get(resource)?.has(id) === true
  }
  const wrong = store.resources.flatMap((resource) =>
    store
      .all(101, resource)
      .flatMap((record) => [...wrongIn(resources[resource]?.fields ?? {}, record, resource, known)]),
  )
  for (const { id, taggable_type, taggable_id } of store.all(101, 'integrator_tags'))
    if (!known(ofTag(taggable_type), Number(taggable_id)))
      wrong.push(`tag ${id}: ${taggable_type} ${taggable_id}`)
  expect([...new Set(wrong)]).toEqual([])
  expect(asked).toBeGreaterThan(1000)
})

it('shops at work leave to partners what these wrote', async () => {
  const { body } = await shop(sandbox, 'customers', { method: 'POST', body: { last_name: 'Ours' } })
  sandbox.work(100)
  expect(sandbox.store.get(101, 'customers', body.id)).toMatchObject({ last_name: 'Ours' })
})

it('every shop buys from its own vendors', async () => {
  const { store } = await sandboxOfFile({ tenants: 1, repairOrders: 60, until: noon })
  const shopOf = new Map(store.all(101, 'vendors').map(({ id, shop_id }) => [id, shop_id]))
  expect(new Set(shopOf.values())).toEqual(new Set(store.ids(101, 'shops')))
  for (const { vendor_id, shop_id } of store.all(101, 'purchase_records'))
    expect(shopOf.get(vendor_id as number)).toBe(shop_id)
})
