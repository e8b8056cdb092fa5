/** Records that the sandbox generates, changes and lets partners write contain what `schema/` declares, and no more. */
import { expect, it } from 'vitest'
import { resources } from '../../schema/index.js'
import type { Field, Member, Shape } from '../../schema/resource.js'
import { parseInstant } from '../../src/sandbox/index.js'
import { isFields } from '../../src/sandbox/records/json.js'
import { emptySandbox, noon, shop } from '../support/harness/requests.js'
import { HandClock } from '../support/world/clocks.js'

/** Null although the document does not call them nullable (docs/sandbox.md says when). */
const emptied = [
  'appointments.repair_order_id',
  'repair_orders.services[].sublets[].vendor_id',
  'repair_orders.services[].sublets[].invoice_date',
  'recommendations.service.sublets[].vendor_id',
  'recommendations.service.sublets[].invoice_date',
  'repair_orders.services[].parts[].quoted_price_cents',
  'repair_orders.services[].parts[].cost_cents',
  'recommendations.service.parts[].quoted_price_cents',
  'recommendations.service.parts[].cost_cents',
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

/** The paths in an object that aren't as declared. */
function* wrongIn(shape: Shape, found: Record<string, unknown>, at: string): Generator<string> {
  const invented = resources[at]?.source.includes('Other resources') === true
  for (const name of Object.keys(found))
    if (!invented && !(name in shape) && name !== 'integrator_tags') yield `${at}.${name} is not declared`
  for (const [name, member] of Object.entries(shape)) yield* wrongAt(member, found[name], `${at}.${name}`)
}

function* wrongAt(member: Member, value: unknown, at: string): Generator<string> {
  if (value === undefined) yield `${at} is missing`
  else if (member.type === 'field') {
    if (value === null) {
      if (!member.nullable && !emptied.includes(at)) yield `${at} is null`
    } else if (!fits[member.kind](value)) yield `${at} is no ${member.kind}`
    else if (![undefined, '', ...(member.values ?? [])].includes(value as string) && member.values)
      yield `${at} has no value ${value}`
  } else if (member.type === 'scalars' || member.type === 'many') {
    if (!Array.isArray(value)) yield `${at} is no array`
    else
      for (const item of value)
        yield* member.type === 'scalars'
          ? wrongAt(member.of, item, `${at}[]`)
          : wrongIn(member.fields, item, `${at}[]`)
  } else if (value === null) {
    if (member.type !== 'object' || !member.nullable) yield `${at} is null`
  } else if (!isFields(value)) yield `${at} is no object`
  else if (member.type === 'object' || Object.keys(value).length > 0) yield* wrongIn(member.fields, value, at)
}

it('generates, changes and accepts records as they are declared', async () => {
  const sandbox = await emptySandbox({ data: 'generated', repairOrders: 300, clock: new HandClock(noon) })
  sandbox.work(300)
  const [estimate] = sandbox.store.all(101, 'repair_orders').filter(({ state }) => state === 'estimate')
  const [sublet] = sandbox.store
    .all(101, 'canned_jobs')
    .filter(({ sublets }) => JSON.stringify(sublets) !== '[]')
  const writes: readonly (readonly [method: string, path: string, body: object])[] = [
    ['POST', 'appointments', { title: 'Oil', shop_id: 1, start_at: noon }],
    ['POST', 'customers', { phones: [{ number: '+4915112345678' }] }],
    ['POST', 'integrator_tags', { taggable_type: 'Vendor', taggable_id: 1, name: 'a', value: '' }],
    ['POST', 'notes', { repair_order_id: 1, description: 'Called back' }],
    ['POST', 'payments', { repair_order_id: 1, amount_cents: 1, payment_type_details: { type: 'Cash' } }],
    ['POST', 'recommendations', { repair_order_id: 1, description: 'Wash it' }],
    ['POST', 'recommendations', { repair_order_id: 1, canned_job_id: sublet!.id }],
    ['PUT', `estimates/${estimate!.id}/canned_jobs/${sublet!.id}`, {}],
  ]
  for (const [method, path, body] of writes)
    expect([path, (await shop(sandbox, path, { method, body })).status]).toEqual([
      path,
      method === 'PUT' ? 200 : 201,
    ])
  const wrong = sandbox.store.resources.flatMap((resource) =>
    sandbox.store
      .all(101, resource)
      .flatMap((record) => [...wrongIn(resources[resource]!.fields, record, resource)]),
  )
  expect([...new Set(wrong)]).toEqual([])
})

it('lets every shop buy from its own vendors', async () => {
  const sandbox = await emptySandbox({ data: 'generated', repairOrders: 60 })
  const shopOf = new Map(sandbox.store.all(101, 'vendors').map(({ id, shop_id }) => [id, shop_id]))
  expect(new Set(shopOf.values())).toEqual(new Set(sandbox.store.ids(101, 'shops')))
  for (const { vendor_id, shop_id } of sandbox.store.all(101, 'purchase_records'))
    expect(shopOf.get(vendor_id as number)).toBe(shop_id)
})
