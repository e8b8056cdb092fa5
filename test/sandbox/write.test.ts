import { describe, expect, it } from 'vitest'
import { serviceTemplate, template } from '../../src/sandbox/index.js'
import { emptySandbox, shop } from '../support/harness/requests.js'

const time = '2026-01-01T00:00:00.000000Z'

/** The records that writes refer to, each with the texts and prices that the tests check. */
const furniture = {
  shops: {},
  staffs: { email: 'sam@example.com' },
  customers: { email: 'ada.1@example.com', integrator_tags: [] },
  repair_orders: {
    state: 'estimate',
    services: [{ ...serviceTemplate(10, time), labor_rate_cents: 12_000 }],
    payments: [],
  },
  canned_jobs: {
    title: 'Front brakes',
    parts: [{ id: 10, created_at: time, updated_at: time, part_inventory_id: 1, taxable: true, quantity: 1 }],
  },
  inventories: { list_price_cents: 1299, cost_cents: 640 },
  integrator_tags: {},
}

async function furnished() {
  const sandbox = await emptySandbox()
  for (const [resource, fields] of Object.entries(furniture))
    sandbox.store.put(101, resource, { ...template(resource, 1, time), ...fields })
  const write = (method: string, path: string, body?: unknown) => shop(sandbox, path, { method, body })
  return { sandbox, write }
}

describe('writes', () => {
  it('return 400 for a body that is not JSON and 422 for one that is not an object', async () => {
    const { write } = await furnished()
    expect((await write('POST', 'notes', '{"repair_order_id":')).status).toBe(400)
    expect((await write('POST', 'notes', '')).status).toBe(400)
    expect((await write('PUT', 'integrator_tags/1', '')).status).toBe(400)
    expect((await write('POST', 'notes', '[]')).status).toBe(422)
  })

  it.each(['constructor', '__proto__', 'toString'])('treat %s as an ordinary word', async (name) => {
    const { sandbox, write } = await furnished()
    const tag = { taggable_type: name, taggable_id: 1, name, value: name }
    expect((await write('POST', 'integrator_tags', tag)).status).toBe(422)
    const details = { payment_type_details: { type: name }, amount_cents: 1, repair_order_id: 1 }
    expect((await write('POST', 'payments', details)).status).toBe(422)
    expect((await write('POST', 'integrator_tags', { ...tag, taggable_type: 'Customer' })).status).toBe(201)
    expect((await shop(sandbox, name)).status).toBe(404)
    expect((await shop(sandbox, `${name}/1`)).status).toBe(404)
    sandbox.store.register(name)
    expect((await shop(sandbox, name)).body).toMatchObject({ results: [], total_count: 0 })
  })

  it('parse e-mail addresses according to RFC 822', async () => {
    const { write } = await furnished()
    const good = ["o'neil+cars@example.com", 'ada@localhost', '"ada lovelace"@example.com', 'a@[10.0.0.1]']
    for (const email of good)
      expect([email, (await write('POST', 'customers', { email })).status]).toEqual([email, 201])
    const bad = [
      'ada',
      'a..b@example.com',
      'a,b@example.com',
      'zoë@example.com',
      'Ada <ada@example.com>',
      'a@b@c',
    ]
    for (const email of bad)
      expect([email, (await write('POST', 'customers', { email })).status]).toEqual([email, 422])
  })

  it('only allow letters and digits in names of payment types, at most 25', async () => {
    const { write } = await furnished()
    const pay = async (name: unknown) => {
      const payment_type_details = { type: 'Credit Card', name }
      return (await write('POST', 'payments', { amount_cents: 5, repair_order_id: 1, payment_type_details }))
        .status
    }
    for (const name of ['Fleet2', 'Überweisung', 'a'.repeat(25), '', null]) expect(await pay(name)).toBe(201)
    for (const name of ['Fleet 2', 'Fleet-2', 'a'.repeat(26), 2]) expect(await pay(name)).toBe(422)
  })

  it.each([
    ['appointments', { title: 'x', shop_id: 1 }, 'start_at'],
    ['appointments', { title: 'x', start_at: time }, 'shop_id'],
    ['appointments', { shop_id: 1, start_at: time }, 'title'],
    ['appointments', { title: 'x', shop_id: 1, start_at: '2026-01-01T00:00:00' }, 'start_at'],
    ['integrator_tags', { taggable_type: 'Robot', taggable_id: 1, name: 'a', value: 'b' }, 'taggable_type'],
    ['integrator_tags', { taggable_type: 'Customer', taggable_id: 1, name: 'a' }, 'value'],
    ['integrator_tags', { taggable_type: 'Customer', taggable_id: 77, name: 'a', value: 'b' }, 'taggable_id'],
    ['notes', { repair_order_id: 1 }, 'description'],
    ['notes', { description: 'x' }, 'repair_order_id'],
    ['notes', { description: 'x', repair_order_id: 9 }, 'repair_order_id'],
    ['payments', { amount_cents: 5, repair_order_id: 1 }, 'payment_type_details'],
    [
      'payments',
      { amount_cents: 5, repair_order_id: 1, payment_type_details: { type: 'Barter' } },
      'payment_type_details',
    ],
    [
      'payments',
      { amount_cents: 5, repair_order_id: 1, payment_type_details: { type: 'Cash', name: 'x' } },
      'payment_type_details',
    ],
    [
      'payments',
      { amount_cents: 5, repair_order_id: 1, payment_type_details: { type: 'Other', name: 'a'.repeat(26) } },
      'payment_type_details',
    ],
    [
      'payments',
      { amount_cents: 'five', repair_order_id: 1, payment_type_details: { type: 'Cash' } },
      'amount_cents',
    ],
    ['recommendations', { repair_order_id: 1 }, 'description'],
    ['recommendations', { description: 'x' }, 'repair_order_id'],
    ['customers', { email: 'ada.1@example.com' }, 'email'],
    ['customers', { email: 'SAM@example.com' }, 'email'],
    ['customers', { email: 'not an address' }, 'email'],
    ['customers', { phone: '+4915112345678' }, 'phone'],
    ['customers', { state: 'ZZ' }, 'state'],
    ['customers', { phones: [{ number: '555' }] }, 'phones'],
    ['customers', { marketing_ok: 'yes' }, 'marketing_ok'],
  ])('reject %s %j with 422 for %s', async (path, body, field) => {
    const { sandbox, write } = await furnished()
    const count = sandbox.store.count(101, path)
    const reply = await write('POST', path, body)
    expect(reply.status).toBe(422)
    expect(Object.keys(reply.body.errors)).toContain(field)
    expect(sandbox.store.count(101, path)).toBe(count)
  })

  it('create, change and delete an appointment', async () => {
    const { sandbox, write } = await furnished()
    const made = await write('POST', 'appointments', {
      title: 'Brakes',
      shop_id: 1,
      start_at: '2026-04-01T10:00:00+02:00',
    })
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({
      title: 'Brakes',
      start_at: '2026-04-01T08:00:00.000000Z',
      staff_id: null,
    })
    const path = `appointments/${made.body.id}`
    const changed = await write('PUT', path, { description: 'noisy' })
    expect([changed.status, changed.body.description]).toEqual([200, 'noisy'])
    expect(changed.body.updated_at > made.body.updated_at).toBe(true)
    expect((await write('PUT', path, { title: '' })).status).toBe(422)
    const gone = await write('DELETE', path)
    expect([gone.status, gone.body]).toEqual([200, {}])
    expect((await shop(sandbox, path)).status).toBe(404)
    expect((await write('DELETE', path)).status).toBe(404)
  })

  it('print a customer’s phones in the formats of responses', async () => {
    const { write } = await furnished()
    const made = await write('POST', 'customers', {
      first_name: 'Zoë',
      phone: '+15125550199',
      phones: [{ number: '+15125550123', preferred: true }],
    })
    expect(made.status).toBe(201)
    expect(made.body.phone).toBe('(512) 555-0199')
    expect(made.body.phones).toEqual([
      {
        number: '+15125550123',
        national: '(512) 555-0123',
        international: '+1 512-555-0123',
        country_code: '1',
        label: null,
        preferred: true,
      },
    ])
    const kept = await write('PUT', `customers/${made.body.id}`, { email: 'zoe@example.com' })
    expect(kept.body).toMatchObject({ first_name: 'Zoë', email: 'zoe@example.com' })
    expect((await write('PUT', `customers/${made.body.id}`, { email: 'zoe@example.com' })).status).toBe(200)
  })

  it('embed a tag in what it tags, and remove it again', async () => {
    const { sandbox, write } = await furnished()
    const made = await write('POST', 'integrator_tags', {
      taggable_type: 'Customer',
      taggable_id: 1,
      name: 'crm',
      value: '7',
    })
    expect(made.status).toBe(201)
    expect(made.headers.get('location')).toBe(`/api/v1/tenants/101/integrator_tags/${made.body.id}`)
    expect(made.body.integrator_tags).toBeUndefined()
    const tags = async () => (await shop(sandbox, 'customers/1')).body.integrator_tags
    expect(await tags()).toEqual([made.body])
    await write('PUT', `integrator_tags/${made.body.id}`, { value: '8' })
    expect(await tags()).toMatchObject([{ value: '8' }])
    await write('DELETE', `integrator_tags/${made.body.id}`)
    expect(await tags()).toEqual([])
  })

  it('add canned jobs to estimates and remove services, only for estimates', async () => {
    const { sandbox, write } = await furnished()
    const added = await write('PUT', 'estimates/1/canned_jobs/1')
    expect(added.status).toBe(200)
    expect(added.body.services).toHaveLength(2)
    expect(added.body.services[1]).toMatchObject({
      title: 'Front brakes',
      canned_job_id: 1,
      labor_rate_cents: 12000,
    })
    expect(added.body.services[1].parts[0]).toMatchObject({
      quoted_price_cents: 1299,
      cost_cents: 640,
      quantity: 1,
    })
    const removed = await write('DELETE', `estimates/1/services/${added.body.services[1].id}`)
    expect(removed.body.services).toHaveLength(1)
    expect((await write('DELETE', 'estimates/1/services/12345')).status).toBe(404)
    expect((await write('PUT', 'estimates/1/canned_jobs/9')).status).toBe(404)
    sandbox.store.put(101, 'repair_orders', { ...template('repair_orders', 1, time), state: 'in_progress' })
    expect((await write('PUT', 'estimates/1/canned_jobs/1')).status).toBe(404)
  })

  it('record payments on the order as well, with custom names joined to the type', async () => {
    const { sandbox, write } = await furnished()
    const details = { type: 'Other', name: 'Fleet' }
    const made = await write('POST', 'payments', {
      amount_cents: 500,
      payment_type_details: details,
      repair_order_id: 1,
    })
    expect(made.status).toBe(201)
    expect(made.body).toMatchObject({
      payment_type: 'Other - Fleet',
      payment_type_details: details,
      amount_cents: 500,
    })
    expect((await shop(sandbox, 'repair_orders/1')).body.payments).toEqual([
      { payment_type: 'Other - Fleet', payment_type_details: details, notes: '', amount_cents: 500 },
    ])
  })

  it('make a recommendation from a canned job or only from text', async () => {
    const { write } = await furnished()
    const quick = await write('POST', 'recommendations', { repair_order_id: 1, description: 'Wash it' })
    expect(quick.body).toMatchObject({ description: 'Wash it', service: {} })
    const full = await write('POST', 'recommendations', {
      repair_order_id: 1,
      description: 'ignored',
      canned_job_id: 1,
    })
    expect(full.body).toMatchObject({ description: 'Front brakes', service: { title: 'Front brakes' } })
    const note = await write('POST', 'notes', { repair_order_id: 1, description: 'a' })
    expect((await write('PUT', `notes/${note.body.id}`, { description: 'b' })).body.description).toBe('b')
  })
})
