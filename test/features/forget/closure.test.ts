/** What leads to a customer: every declared reference, both ways, and where that ends. See docs/warehouse.md. */
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/index.js'
import { Desk } from '../../support/harness/desk.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { sized } from '../../support/harness/size.js'
import { bothWarehouses, type Kind, warehouses } from '../../support/harness/warehouse.js'
import { forgettable, leaks } from '../../support/world/forgotten.js'
import { randomFrom } from '../../support/world/random.js'

const [ann, bob] = [900_001, 900_002]
const [first, second, third] = [910_001, 910_002, 910_003]
/** Ann's, and what isn't. */
const [mark, other] = ['zqmark', 'zqother']

interface Row {
  readonly resource: string
  readonly id: number
  readonly [field: string]: unknown
}

const customer = (id: number): Row => ({
  resource: 'customers',
  id,
  last_name: id === ann ? mark : other,
  phones: [],
})
const order = (id: number, of: number | null, more: object = {}): Row => ({
  resource: 'repair_orders',
  id,
  customer_id: of,
  vehicle_id: null,
  payments: [],
  services: [],
  detail: of === bob ? other : mark,
  label: null,
  integrator_tags: [],
  // Everybody's, so nothing is anybody's for it.
  shop_id: 1,
  advisor_id: 1,
  status_id: 1,
  ...more,
})
const payment = (id: number, of: number | null): Row => ({
  resource: 'payments',
  id,
  repair_order_id: of,
  notes: mark,
  amount_cents: 100,
})
const attempt = (id: number, more: object): Row => ({
  resource: 'payment_transactions',
  id,
  payment_id: null,
  repair_order_id: null,
  name: `${mark} HOLDER`,
  authorization_code: `${mark}1`,
  account: `${mark}2`,
  reference_number: mark,
  ...more,
})
const note = (id: number, of: number | null, description = mark): Row => ({
  resource: 'notes',
  id,
  repair_order_id: of,
  description,
})
const vehicle = (id: number): Row => ({ resource: 'vehicles', id, license_plate: mark })
const recommendation = (id: number, of: number | null, hint = mark): Row => ({
  resource: 'recommendations',
  id,
  repair_order_id: of,
  service: {},
  hint,
})
const past = (id: number, of: number | null, recommended: number | null): Row => ({
  resource: 'past_recommendations',
  id,
  vehicle_id: of,
  recommendation_id: recommended,
  hint: mark,
})
const tag = (id: number, entity: string, of: number): Row => ({
  resource: 'integrator_tags',
  id,
  taggable_type: entity,
  taggable_id: of,
  name: 'external',
  value: mark,
})

const nobodys = ['shops', 'staffs', 'statuses']
const everyList = [...forgettable, ...nobodys]
const forget = `forget --tenant 101 --customer ${ann}`

function put({ store }: Sandbox, ...rows: readonly Row[]): void {
  for (const { resource, ...fields } of rows) {
    const stamps = { created_at: '2026-01-02T00:00:00Z', updated_at: '2026-01-02T00:00:00Z' }
    store.put(101, resource, { ...stamps, ...fields })
    store.change(101, resource, fields.id, {})
  }
}

/** A source with these rows, and with what is nobody's. */
async function begun(kind: Kind, ...rows: readonly Row[]) {
  const sandbox = await sandboxOfFile()
  sandbox.store.addTenant({ id: 101 })
  put(sandbox, ...nobodys.map((resource) => ({ resource, id: 1, name: other, title: other })), ...rows)
  return { sandbox, desk: new Desk(sandbox, await kind.viewed(), everyList) }
}

interface Counted {
  readonly not_looked_at: readonly object[]
  readonly tables: readonly { readonly table: string; readonly rows: number }[]
  readonly kept: Counted['tables']
}
/** Rows of all of them, by table. */
const summed = (all: readonly Counted[]) => {
  const counts: Record<string, number> = {}
  for (const { tables, kept } of all)
    for (const { table, rows } of [...tables, ...kept.map((one) => ({ ...one, table: `kept ${one.table}` }))])
      counts[table] = (counts[table] ?? 0) + rows
  return { counts, missed: all.at(-1)?.not_looked_at }
}

/** Forgets, and counts what a dry run has foreseen. */
async function forgotten(desk: Desk, words: string) {
  const foreseen = await desk.run(`${words} --dry-run --json`)
  const done = await desk.run(`${words} --yes --json`)
  const { receipts } = done.json<{ receipts: Counted[] }>()
  expect([done.code, summed(receipts)]).toEqual([foreseen.code, summed([foreseen.json()])])
  return { code: done.code, receipt: receipts.at(-1) as Counted }
}

const saying = ({ resource, id }: Row): string => `${mark}-${resource}-${id}-`

/** Records that refer to each other at random. Each of them says which one it is. */
function drawn(base: number, random: () => number): Row[] {
  const pick = <T>(list: readonly T[]): T | null => list[Math.floor(random() * (list.length + 1))] ?? null
  const ids = (from: number, n: number) => Array.from({ length: n }, (_, i) => base + from + i)
  const [orders, payments, vehicles, quotes] = [ids(11, 4), ids(21, 3), ids(31, 2), ids(41, 2)]
  const listed = () => payments.filter(() => random() < 0.2).map((id) => ({ id, amount_cents: 1 }))
  const all = [
    ...orders.map((id) =>
      order(id, pick([base + 1, base + 2]), { vehicle_id: pick(vehicles), payments: listed() }),
    ),
    ...payments.map((id) => payment(id, pick(orders))),
    ...ids(51, 2).map((id) => attempt(id, { payment_id: pick(payments), repair_order_id: pick(orders) })),
    ...ids(61, 2).map((id) => note(id, pick(orders))),
    ...quotes.map((id) => recommendation(id, pick(orders))),
    ...ids(71, 2).map((id) => past(id, pick(vehicles), pick(quotes))),
    ...vehicles.map((id) => vehicle(id)),
    tag(base + 81, 'Payment', pick(payments) ?? 1),
    tag(base + 82, 'Payment', pick(payments) ?? 1),
  ]
  // Some aren't at the source any more.
  return all
    .filter(() => random() > 0.15)
    .map((row) => JSON.parse(JSON.stringify(row).replaceAll(mark, saying(row))))
}

/** What is forgotten with these customers, by another way than the program's. */
function expectedOf(rows: readonly Row[], persons: ReadonlySet<unknown>): string[] {
  const references = /"(vehicle|payment|repair_order|recommendation|taggable)_id":(\d+)/g
  const targets = new Map<string, readonly string[]>(
    rows.map((row) => {
      const named = [...JSON.stringify(row).matchAll(references)].map(([, of = '', id]) => [of, id])
      const listed = (row['payments'] ?? []) as readonly { id: number }[]
      const all = [...named, ...listed.map(({ id }) => ['payment', id])]
      const names = all.map(([of, id]) => `${of}s ${id}`.replace('taggable', 'payment'))
      return [`${row.resource} ${row.id}`, names]
    }),
  )
  const customers = new Map<string, unknown>(
    rows.map((row) => [`${row.resource} ${row.id}`, row['customer_id'] ?? null]),
  )
  const isOthers = (name: string): boolean =>
    (customers.get(name) ?? null) !== null && !persons.has(customers.get(name))
  const near = (name: string): string[] => [
    ...(targets.get(name) ?? []),
    ...[...targets].flatMap(([from, to]) => (to.includes(name) ? [from] : [])),
  ]
  const isKept = (name: string): boolean =>
    isOthers(name) ||
    (targets.get(name) ?? []).some(isOthers) ||
    (name.startsWith('vehicles ') && near(name).some(isOthers))
  const found = new Set([...customers].flatMap(([name, id]) => (persons.has(id) ? [name] : [])))
  for (const name of found) for (const next of near(name)) if (!isKept(next)) found.add(next)
  return [...found].filter((name) => targets.has(name)).sort()
}

describe.each(bothWarehouses())('$name', (kind) => {
  const ways = ['stored before', 'that arrive together', 'that arrive list by list']
  // How records come doesn't depend on the database.
  it.each(warehouses().includes(kind) ? ways : ways.slice(0, 1))(
    'of records %s, whatever they refer to, exactly those are emptied that lead to a customer',
    async (how) => {
      const random = randomFrom(how.length)
      const bases = Array.from({ length: sized(8, 60) }, (_, i) => 1_000_000 + 1000 * i)
      const persons = bases.map((base) => base + 1)
      const rows = bases.flatMap((base) => drawn(base, random))
      const { sandbox, desk } = await begun(kind, ...persons.map(customer))
      if (how === 'stored before') put(sandbox, ...rows)
      await desk.done('sync')
      const ofNobody = () => Promise.all(nobodys.map((table) => desk.rows(table)))
      const before = await ofNobody()
      await forgotten(desk, `forget --tenant 101 ${persons.map((id) => `--customer ${id}`).join(' ')}`)
      expect(await ofNobody()).toEqual(before)
      // What arrives is decided in the same way as what is there.
      if (how !== 'stored before') put(sandbox, ...rows)
      for (const name of how === 'that arrive list by list' ? everyList.toSorted(() => random() - 0.5) : []) {
        desk.set({ sync: { resources: [name] } })
        await desk.run('sync')
      }
      desk.set()
      for (const words of ['sync --full', 'sync']) await desk.run(words)
      const left = JSON.stringify(await Promise.all(forgettable.map((name) => desk.rows(name))))
      const gone = rows.filter(
        (row) => JSON.stringify(row).includes(saying(row)) && !left.includes(saying(row)),
      )
      const found = gone.map(({ resource, id }) => `${resource} ${id}`).sort()
      expect(found).toEqual(expectedOf(rows, new Set(persons)))
    },
  )
})

describe.each(warehouses())('$name', (kind) => {
  it('what leads to nobody is in the receipt', async () => {
    const appointment = { resource: 'appointments', id: 5, title: `${mark} Smith`, repair_order_id: null }
    const { desk } = await begun(
      kind,
      ...[customer(ann), customer(bob), order(third, ann)],
      ...[note(5, null), { ...appointment, start_at: '2026-01-02T00:00:00Z' }],
      // Its owner is undocumented.
      { ...vehicle(76), customer_id: ann },
      // These only lead to each other.
      ...[order(first, null, { vehicle_id: 77 }), vehicle(77), note(6, first), note(7, second)],
      tag(8, 'RepairOrder', second),
    )
    await desk.done('sync')
    const counts = { appointments: 1, integrator_tags: 1, notes: 3, repair_orders: 1, vehicles: 2 }
    const missed = Object.entries(counts).map(([table, rows]) => ({ table, reason: 'leads_to_nobody', rows }))
    const { code, receipt } = await forgotten(desk, forget)
    expect([code, receipt.not_looked_at]).toEqual([1, expect.arrayContaining(missed)])
    expect(receipt.not_looked_at).toHaveLength(missed.length)
  })

  it.each(['is not configured', 'is not offered'])(
    'orders that were not read are in the receipt: the list %s',
    async (why) => {
      const { sandbox, desk } = await begun(kind, customer(ann), order(first, ann), note(5, first))
      if (why === 'is not offered') sandbox.store.switchOff('repair_orders')
      else desk.set({ sync: { resources: everyList.filter((name) => name !== 'repair_orders') } })
      await desk.run('sync')
      const { code, receipt } = await forgotten(desk, forget)
      const missed = [
        { table: 'repair_orders', reason: 'not_read', rows: null },
        { table: 'notes', reason: 'leads_to_nobody', rows: 1 },
      ]
      expect([code, receipt.not_looked_at]).toEqual([1, expect.arrayContaining(missed)])
      // When the orders come, what waited for them goes.
      sandbox.store.switchOn('repair_orders')
      desk.set()
      await desk.run('sync')
      expect(await leaks(desk.address)).toEqual([])
    },
  )

  it('what the source gives to another person stays forgotten, and the run says so; what was only taken for theirs is whole again', async () => {
    const { sandbox, desk } = await begun(
      kind,
      ...[customer(ann), customer(bob), order(first, ann, { vehicle_id: 77 }), past(5, 77, 6)],
      // Of an order that isn't there yet.
      ...[recommendation(6, second, other), note(7, second, other), order(third, ann)],
    )
    const told = /The source gives records of forgotten customers to other customers/
    const found = async (table: string, id: number) => (await desk.rows(table)).find((row) => row.id === id)
    const stateOf = async (id: number) =>
      (await desk.rows('sync_forgotten_records')).find(
        (row) => row.resource === 'repair_orders' && Number(row.record_id) === id,
      )?.state
    await desk.done('sync')
    await desk.done(`${forget} --yes`)
    // An order that names another customer when it comes, with all that is its.
    expect(await stateOf(second)).toBe('expected')
    put(sandbox, order(second, bob))
    await desk.run('sync')
    expect(await found('repair_orders', second)).toMatchObject({ detail: other })
    expect(await found('notes', 7)).toMatchObject({ description: other })
    expect(JSON.stringify(await found('recommendations', 6))).toContain(other)
    expect(JSON.stringify(await found('past_recommendations', 5))).not.toContain(mark)
    // An id that another person gets.
    put(sandbox, { ...customer(ann), last_name: `${mark} Married` })
    expect((await desk.run('sync')).stderr).not.toMatch(told)
    sandbox.store.remove(101, 'customers', ann)
    await desk.run('reconcile --full')
    put(sandbox, { ...customer(ann), last_name: other, created_at: '2026-03-04T05:06:07Z' })
    const { stderr } = await desk.run('sync')
    expect(stderr).toMatch(told)
    expect(stderr).toContain(String(ann))
    expect(await found('customers', ann)).toMatchObject({ last_name: null, _deleted_at: null })
    // A record that another customer gets.
    put(sandbox, order(third, bob))
    expect((await desk.run('sync')).stderr).toMatch(told)
    expect(await found('repair_orders', third)).toMatchObject({ customer_id: bob, detail: null })
    expect(await stateOf(third)).toBe('hidden')
  })

  it('what an earlier version left of a forgotten customer is named, with what to type', async () => {
    const { sandbox, desk } = await begun(
      kind,
      ...[customer(ann), customer(bob), order(first, ann), payment(5, first)],
    )
    await desk.done('sync')
    const { receipt } = await forgotten(desk, forget)
    // As that version left it: it knew orders and vehicles, and what refers to an order.
    put(sandbox, attempt(6, { payment_id: 5 }))
    const { not_looked_at: _, ...before } = receipt
    await desk.look(async ({ db }) => {
      await db.deleteFrom('sync_forgotten_records').where('resource', '=', 'payments').execute()
      const stored = { receipt: JSON.stringify(before) }
      await db.updateTable('sync_forgotten_records').set(stored).where('receipt', 'is not', null).execute()
    })
    await desk.run('sync')
    const replay = `forget --replay ${join(dirname(desk.config), 'forgotten.jsonl')}`
    for (const command of ['status', 'check']) {
      const { code, stdout, stderr } = await desk.run(command)
      expect([code, stdout + stderr]).toEqual([1, expect.stringContaining(replay)])
    }
    await desk.run(replay)
    expect(await leaks(desk.address)).toEqual([])
    expect((await desk.run('status')).stdout).not.toContain('--replay')
  })
})
