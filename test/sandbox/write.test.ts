/** What the sandbox answers to writes, and to every operation that docs/sandbox.md lists. */
import { describe, expect, it } from 'vitest'
import { resources } from '../../schema/index.js'
import { type Sandbox, serviceTemplate, template } from '../../src/sandbox/index.js'
import { emptySandbox, type Reply, request, shop } from '../support/harness/requests.js'
import { textOf } from '../support/harness/tree.js'

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
const payment = { amount_cents: 5, repair_order_id: 1, payment_type_details: { type: 'Cash' } }
const visit = { title: 'x', shop_id: 1, start_at: time }
const note = { description: 'x', repair_order_id: 1 }
const sound: Readonly<Record<string, object>> = {
  appointments: visit,
  customers: {},
  integrator_tags: tag,
  notes: note,
  payments: payment,
  recommendations: note,
}

/** A field of a creation, and values with which it is accepted, or refused with the name of the field. */
const creations = `
appointments start_at accepts "2026-01-01T00:00:00.000000Z"
appointments start_at refuses missing | "2026-01-01T00:00:00"
appointments shop_id refuses missing
appointments title refuses missing
integrator_tags value accepts "b" | "constructor" | "__proto__" | "toString"
integrator_tags value refuses missing
integrator_tags taggable_type refuses "Robot" | "constructor" | "__proto__" | "toString"
integrator_tags taggable_id refuses 77
notes description refuses missing
notes repair_order_id refuses missing | 9
payments payment_type_details accepts {"type":"Credit Card","name":"Fleet2"} | {"type":"Credit Card","name":"Überweisung"}
payments payment_type_details accepts {"type":"Credit Card","name":"${'a'.repeat(25)}"} | {"type":"Credit Card","name":""} | {"type":"Credit Card","name":null}
payments payment_type_details refuses {"type":"Credit Card","name":"Fleet 2"} | {"type":"Credit Card","name":"Fleet-2"} | {"type":"Credit Card","name":2}
payments payment_type_details refuses {"type":"Credit Card","name":"${'a'.repeat(26)}"} | {"type":"Other","name":"${'a'.repeat(26)}"}
payments payment_type_details refuses missing | {"type":"Cash","name":"x"} | {"type":"Barter"} | {"type":"constructor"} | {"type":"__proto__"} | {"type":"toString"}
payments amount_cents refuses "five"
recommendations description refuses missing
recommendations repair_order_id refuses missing
customers email accepts missing | "o'neil+cars@example.com" | "ada@localhost" | "\\"ada lovelace\\"@example.com" | "a@[10.0.0.1]"
customers email refuses "ada" | "a..b@example.com" | "a,b@example.com" | "zoë@example.com" | "Ada <ada@example.com>" | "a@b@c"
customers email refuses "ada.1@example.com" | "SAM@example.com"
customers phone refuses "+4915112345678"
customers state refuses "ZZ"
customers phones refuses [{"number":"555"}]
customers marketing_ok refuses "yes"
`

describe('writes', () => {
  // An address is an addr-spec of RFC 822, and nobody else's. Words that JavaScript knows are words like others.
  it('are accepted, or refused with the name of the field', async () => {
    const { sandbox, write } = await furnished()
    for (const line of creations.trim().split('\n')) {
      const [, path = '', field = '', how, values = ''] = /^(\w+) (\w+) (\w+) (.*)$/.exec(line) ?? []
      for (const value of values.split(' | ')) {
        const count = sandbox.store.count(101, path)
        const own = { [field]: value === 'missing' ? undefined : JSON.parse(value) }
        const { status, body } = await write('POST', path, { ...sound[path], ...own })
        expect([line, value, status]).toEqual([line, value, how === 'accepts' ? 201 : 422])
        if (status === 422) expect(Object.keys(body.errors)).toContain(field)
        expect(sandbox.store.count(101, path)).toBe(count + (status === 201 ? 1 : 0))
      }
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
    const email = { email: 'zoe@example.com' }
    for (const body of [email, email])
      expect((await write('PUT', path, body)).body).toMatchObject({ first_name: 'Zoë', ...email })
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
    const recorded = { payment_type: 'Other - Fleet', payment_type_details, amount_cents: 5 }
    const made = await write('POST', 'payments', {
      repair_order_id: 1,
      amount_cents: 5,
      payment_type_details,
    })
    expect(made.body).toMatchObject(recorded)
    expect((await shop(sandbox, 'repair_orders/1')).body.payments).toEqual([{ ...recorded, notes: '' }])
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
  const listed = [...textOf('docs/sandbox.md').matchAll(/^\| (GET|POST|PUT|DELETE) \| ([^|]+) \|/gm)].flatMap(
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
