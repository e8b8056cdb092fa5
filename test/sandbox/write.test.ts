/** What the sandbox answers to writes, and to every operation that docs/sandbox.md lists. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { resources } from '../../schema/index.js'
import { type Sandbox, serviceTemplate, template } from '../../src/sandbox/index.js'
import { emptySandbox, type Reply, request, shop } from '../support/harness/requests.js'

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
  integrator_tags: { taggable_type: 'Customer' },
}

type Write = (method: string, path: string, body?: unknown) => Promise<Reply>

async function furnished(): Promise<{ sandbox: Sandbox; write: Write }> {
  const sandbox = await emptySandbox()
  for (const [resource, fields] of Object.entries(furniture))
    sandbox.store.put(101, resource, { ...template(resource, 1, time), ...fields })
  return { sandbox, write: (method, path, body) => shop(sandbox, path, { method, body }) }
}

const tag = { taggable_type: 'Customer', taggable_id: 1, name: 'a', value: 'b' }
const pay = (details: object, more: object = {}): object => ({
  amount_cents: 5,
  repair_order_id: 1,
  payment_type_details: details,
  ...more,
})
const card = (name: unknown): object => pay({ type: 'Credit Card', name })
const visit = { title: 'x', shop_id: 1, start_at: time }
const ok = 201

/** The resource, the body of a creation, and its answer: 201, or the field that is named with 422. */
const creations: readonly [path: string, body: object, answer: 201 | string][] = [
  ['appointments', visit, ok],
  ['appointments', { title: 'x', shop_id: 1 }, 'start_at'],
  ['appointments', { title: 'x', start_at: time }, 'shop_id'],
  ['appointments', { shop_id: 1, start_at: time }, 'title'],
  ['appointments', { ...visit, start_at: '2026-01-01T00:00:00' }, 'start_at'],
  ['integrator_tags', tag, ok],
  ['integrator_tags', { ...tag, taggable_type: 'Robot' }, 'taggable_type'],
  ['integrator_tags', { ...tag, value: undefined }, 'value'],
  ['integrator_tags', { ...tag, taggable_id: 77 }, 'taggable_id'],
  ['notes', { repair_order_id: 1 }, 'description'],
  ['notes', { description: 'x' }, 'repair_order_id'],
  ['notes', { description: 'x', repair_order_id: 9 }, 'repair_order_id'],
  ['payments', { amount_cents: 5, repair_order_id: 1 }, 'payment_type_details'],
  ['payments', pay({ type: 'Barter' }), 'payment_type_details'],
  ['payments', pay({ type: 'Cash', name: 'x' }), 'payment_type_details'],
  ['payments', pay({ type: 'Other', name: 'a'.repeat(26) }), 'payment_type_details'],
  ['payments', pay({ type: 'Cash' }, { amount_cents: 'five' }), 'amount_cents'],
  ...['Fleet2', 'Überweisung', 'a'.repeat(25), '', null].map(
    (name) => ['payments', card(name), ok] as [string, object, 201],
  ),
  ...['Fleet 2', 'Fleet-2', 'a'.repeat(26), 2].map(
    (name) => ['payments', card(name), 'payment_type_details'] as [string, object, string],
  ),
  ['recommendations', { repair_order_id: 1 }, 'description'],
  ['recommendations', { description: 'x' }, 'repair_order_id'],
  ['customers', {}, ok],
  // RFC 822: an addr-spec, of quoted words and addresses in brackets, too.
  ...["o'neil+cars@example.com", 'ada@localhost', '"ada lovelace"@example.com', 'a@[10.0.0.1]'].map(
    (email) => ['customers', { email }, ok] as [string, object, 201],
  ),
  ...['ada', 'a..b@example.com', 'a,b@example.com', 'zoë@example.com', 'Ada <ada@example.com>', 'a@b@c'].map(
    (email) => ['customers', { email }, 'email'] as [string, object, string],
  ),
  ['customers', { email: 'ada.1@example.com' }, 'email'],
  ['customers', { email: 'SAM@example.com' }, 'email'],
  ['customers', { phone: '+4915112345678' }, 'phone'],
  ['customers', { state: 'ZZ' }, 'state'],
  ['customers', { phones: [{ number: '555' }] }, 'phones'],
  ['customers', { marketing_ok: 'yes' }, 'marketing_ok'],
  // Words that JavaScript knows are words like others.
  ...['constructor', '__proto__', 'toString'].flatMap((name): [string, object, 201 | string][] => [
    ['integrator_tags', { ...tag, taggable_type: name }, 'taggable_type'],
    ['integrator_tags', { ...tag, name, value: name }, ok],
    ['payments', pay({ type: name }), 'payment_type_details'],
  ]),
]

describe('writes', () => {
  it('are accepted, or refused with the name of the field', async () => {
    const { sandbox, write } = await furnished()
    for (const [path, body, answer] of creations) {
      const count = sandbox.store.count(101, path)
      const reply = await write('POST', path, body)
      const refused = reply.status === 422 ? Object.keys(reply.body.errors) : [reply.status]
      expect([path, body, refused]).toEqual([path, body, expect.arrayContaining([answer])])
      expect(sandbox.store.count(101, path)).toBe(count + (answer === ok ? 1 : 0))
    }
  })

  it.each([
    ['POST', 'notes', '{"repair_order_id":', 400],
    ['POST', 'notes', '', 400],
    ['PUT', 'integrator_tags/1', '', 400],
    ['POST', 'notes', '[]', 422],
    ['GET', 'constructor', undefined, 404],
    ['GET', '__proto__/1', undefined, 404],
  ])('%s %s with the body %j is answered with %i', async (method, path, body, status) => {
    const { write } = await furnished()
    expect((await write(method, path, body)).status).toBe(status)
  })

  it('create, change and delete an appointment', async () => {
    const { write } = await furnished()
    const made = await write('POST', 'appointments', { ...visit, start_at: '2026-04-01T10:00:00+02:00' })
    expect(made.body).toMatchObject({ title: 'x', start_at: '2026-04-01T08:00:00.000000Z', staff_id: null })
    const path = `appointments/${made.body.id}`
    const changed = await write('PUT', path, { description: 'noisy' })
    expect([changed.status, changed.body.description]).toEqual([200, 'noisy'])
    expect(changed.body.updated_at > made.body.updated_at).toBe(true)
    expect((await write('PUT', path, { title: '' })).status).toBe(422)
    expect(await write('DELETE', path)).toMatchObject({ status: 200, body: {} })
    expect([(await write('GET', path)).status, (await write('DELETE', path)).status]).toEqual([404, 404])
  })

  it('print a customer’s phones in the formats of responses, and keep what is not changed', async () => {
    const { write } = await furnished()
    const phones = [{ number: '+15125550123', preferred: true }]
    const made = await write('POST', 'customers', { first_name: 'Zoë', phone: '+15125550199', phones })
    expect(made.body.phone).toBe('(512) 555-0199')
    const formats = { national: '(512) 555-0123', international: '+1 512-555-0123', country_code: '1' }
    expect(made.body.phones).toEqual([{ number: '+15125550123', ...formats, label: null, preferred: true }])
    const path = `customers/${made.body.id}`
    // Its own address isn't taken.
    for (const body of [{ email: 'zoe@example.com' }, { email: 'zoe@example.com' }])
      expect((await write('PUT', path, body)).body).toMatchObject({
        first_name: 'Zoë',
        email: 'zoe@example.com',
      })
  })

  it('embed a tag in what it tags, and remove it again', async () => {
    const { sandbox, write } = await furnished()
    const { body, headers } = await write('POST', 'integrator_tags', tag)
    expect(headers.get('location')).toBe(`/api/v1/tenants/101/integrator_tags/${body.id}`)
    expect(body.integrator_tags).toBeUndefined()
    const tags = async () => (await shop(sandbox, 'customers/1')).body.integrator_tags
    expect(await tags()).toEqual([body])
    await write('PUT', `integrator_tags/${body.id}`, { value: '8' })
    expect(await tags()).toMatchObject([{ value: '8' }])
    await write('DELETE', `integrator_tags/${body.id}`)
    expect(await tags()).toEqual([])
  })

  it('add canned jobs to estimates and remove services, only for estimates', async () => {
    const { sandbox, write } = await furnished()
    const { body } = await write('PUT', 'estimates/1/canned_jobs/1')
    const [, added] = body.services
    expect(added).toMatchObject({ title: 'Front brakes', canned_job_id: 1, labor_rate_cents: 12_000 })
    expect(added.parts).toMatchObject([{ quoted_price_cents: 1299, cost_cents: 640, quantity: 1 }])
    const removed = await write('DELETE', `estimates/1/services/${added.id}`)
    expect(removed.body.services).toHaveLength(1)
    expect((await write('DELETE', 'estimates/1/services/12345')).status).toBe(404)
    expect((await write('PUT', 'estimates/1/canned_jobs/9')).status).toBe(404)
    sandbox.store.change(101, 'repair_orders', 1, { state: 'in_progress' })
    expect((await write('PUT', 'estimates/1/canned_jobs/1')).status).toBe(404)
  })

  it('record payments on the order as well, with custom names joined to the type', async () => {
    const { sandbox, write } = await furnished()
    const payment_type_details = { type: 'Other', name: 'Fleet' }
    const payment = { payment_type: 'Other - Fleet', payment_type_details, amount_cents: 5 }
    expect((await write('POST', 'payments', pay(payment_type_details))).body).toMatchObject(payment)
    expect((await shop(sandbox, 'repair_orders/1')).body.payments).toEqual([{ ...payment, notes: '' }])
  })

  it('make a recommendation from a canned job or only from text, and change a note', async () => {
    const { write } = await furnished()
    const made = async (more: object) =>
      (await write('POST', 'recommendations', { repair_order_id: 1, ...more })).body
    expect(await made({ description: 'Wash it' })).toMatchObject({ description: 'Wash it', service: {} })
    const full = await made({ description: 'ignored', canned_job_id: 1 })
    expect(full).toMatchObject({ description: 'Front brakes', service: { title: 'Front brakes' } })
    const note = await write('POST', 'notes', { repair_order_id: 1, description: 'a' })
    expect((await write('PUT', `notes/${note.body.id}`, { description: 'b' })).body.description).toBe('b')
  })
})

describe('the operations of docs/sandbox.md', () => {
  const text = readFileSync(new URL('../../docs/sandbox.md', import.meta.url), 'utf8')
  const listed = [...text.matchAll(/^\| (GET|POST|PUT|DELETE) \| ([^|]+) \|/gm)].flatMap(
    ([, method = '', cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, path = '']) => `${method} ${path}`),
  )
  const operations = listed.filter((one) => one !== 'GET /:id')
  const paths = Object.values(resources).map(({ path, name }) => path ?? name)

  async function full(): Promise<Sandbox> {
    const { sandbox } = await furnished()
    for (const resource of sandbox.store.resources)
      if (sandbox.store.count(101, resource) === 0)
        sandbox.store.put(101, resource, template(resource, 1, time))
    return sandbox
  }
  const answer = async (sandbox: Sandbox, method: string, path: string): Promise<number> => {
    const filled = path.replace(':partner_id', '42').replace(':service_id', '10').replaceAll(/:\w+/g, '1')
    const whole = path.startsWith('/') ? filled : `/api/v1/tenants/101/${filled}`
    return (await request(sandbox, whole, method === 'GET' ? {} : { method, body: {} })).status
  }

  it('are answered, with one record too', async () => {
    const sandbox = await full()
    for (const operation of operations) {
      const [method = '', path = ''] = operation.split(' ')
      // A creation is rejected without the fields of a body, unless all are optional.
      const expected = method === 'POST' ? (path === 'customers' ? 201 : 422) : 200
      expect([operation, await answer(sandbox, method, path)]).toEqual([operation, expected])
      if (method === 'GET' && /^\w+$/.test(path))
        expect([path, await answer(sandbox, method, `${path}/1`)]).toEqual([path, 200])
    }
  })

  it('are all: each list, and whatever else can be written', async () => {
    const sandbox = await full()
    const unlisted: string[] = []
    for (const path of paths)
      for (const operation of [`GET ${path}`, `POST ${path}`, `PUT ${path}/:id`, `DELETE ${path}/:id`]) {
        const [method = '', at = ''] = operation.split(' ')
        const isKnown = (await answer(sandbox, method, at)) !== 404
        if (isKnown !== operations.includes(operation)) unlisted.push(operation)
      }
    expect(unlisted).toEqual([])
  })
})
