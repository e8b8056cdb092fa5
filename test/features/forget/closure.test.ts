/** What leads to a customer: every declared reference, both ways, and where that ends. See docs/warehouse.md. */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { type Address, configure } from '../../support/harness/place.js'
import { sized } from '../../support/harness/size.js'
import { bothWarehouses, reopen, rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { forgettable, leaks, nobodysTo, whereIs } from '../../support/world/forgotten.js'
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

const both: readonly Row[] = [ann, bob].map((id) => ({
  resource: 'customers',
  id,
  last_name: id === ann ? mark : other,
  phones: [],
}))
const order = (id: number, customer: number | null, more: object = {}): Row => ({
  resource: 'repair_orders',
  id,
  customer_id: customer,
  vehicle_id: null,
  payments: [],
  services: [],
  detail: customer === bob ? other : mark,
  label: null,
  integrator_tags: [],
  ...more,
})
const payment = (id: number, more: object = {}): Row => ({
  resource: 'payments',
  id,
  repair_order_id: null,
  notes: mark,
  amount_cents: 100,
  ...more,
})
const attempt = (id: number, more: object = {}): Row => ({
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
const vehicle = (id: number, text = mark): Row => ({ resource: 'vehicles', id, license_plate: text })
const recommendation = (id: number, of: number | null, text = mark): Row => ({
  resource: 'recommendations',
  id,
  repair_order_id: of,
  service: {},
  hint: text,
})
const past = (id: number, more: object): Row => ({
  resource: 'past_recommendations',
  id,
  vehicle_id: null,
  recommendation_id: null,
  hint: mark,
  ...more,
})
const tag = (id: number, entity: string, of: number): Row => ({
  resource: 'integrator_tags',
  id,
  taggable_type: entity,
  taggable_id: of,
  name: 'external',
  value: mark,
})

/** What the source has, by what leads from it to Ann. Each says something about her. */
const led: readonly (readonly [string, readonly Row[]])[] = [
  [
    'a payment that only the nested list of an order names',
    [
      order(first, ann, { payments: [{ id: 5, notes: mark, amount_cents: 100 }] }),
      payment(5),
      attempt(6, { payment_id: 5 }),
      tag(7, 'Payment', 5),
    ],
  ],
  [
    'what belongs to an order that is not there any more',
    [
      order(first, ann, { vehicle_id: 77 }),
      past(5, { vehicle_id: 77, recommendation_id: 6 }),
      recommendation(6, second),
      note(7, second),
      payment(8, { repair_order_id: second }),
      attempt(9, { payment_id: 8 }),
    ],
  ],
  [
    'a ring of references',
    [
      order(first, ann, { payments: [{ id: 5, amount_cents: 1 }] }),
      payment(5, { repair_order_id: second }),
      order(second, null, { payments: [{ id: 6, amount_cents: 1 }] }),
      payment(6, { repair_order_id: third }),
      order(third, null, { payments: [{ id: 5, amount_cents: 1 }] }),
      note(7, third),
    ],
  ],
  [
    'a payment that the orders of two customers list',
    [
      order(first, ann, { payments: [{ id: 5, amount_cents: 1 }] }),
      order(second, bob, { payments: [{ id: 5, amount_cents: 1 }] }),
      payment(5),
      note(6, second, other),
    ],
  ],
  [
    'through shops, staff and statuses it leads to nobody',
    [
      order(first, ann, { shop_id: 1, advisor_id: 1, status_id: 1 }),
      order(second, bob, { shop_id: 1, advisor_id: 1, status_id: 1 }),
      note(5, second, other),
    ],
  ],
]

const everyList = [...forgettable, 'shops', 'staffs', 'statuses']

interface Here {
  readonly sandbox: Sandbox
  readonly address: Address
  /** That of the configuration. */
  readonly folder: string
  put(rows: readonly Row[]): void
  /** What is configured from now on. */
  lists(names: readonly string[]): void
  run(...words: string[]): Promise<{ code: number | null; stdout: string; stderr: string }>
}

async function inside(address: Address, rows: readonly Row[], work: (here: Here) => Promise<void>) {
  const sandbox = await createSandbox({ tenants: 1, repairOrders: 3, seed: 3 })
  const { store } = sandbox
  nobodysTo(sandbox, 101)
  const put = (all: readonly Row[]): void => {
    for (const { resource, ...fields } of all) {
      const stamps = { created_at: '2026-01-02T00:00:00Z', updated_at: '2026-01-02T00:00:00Z' }
      store.put(101, resource, { ...stamps, ...fields })
      store.change(101, resource, fields.id, {})
    }
  }
  put(rows)
  const config = configure(sandbox, address, everyList)
  const document = JSON.parse(readFileSync(config, 'utf8')) as Record<string, unknown>
  const run = async (...words: string[]) => shopsync([...words, '--config', config])
  const lists = (resources: readonly string[]): void =>
    writeFileSync(config, JSON.stringify({ ...document, sync: { resources } }))
  try {
    await work({ sandbox, address, folder: dirname(config), put, lists, run })
  } finally {
    await sandbox.close()
  }
}

const forget = ['forget', '--tenant', '101', '--customer', String(ann), '--yes', '--json'] as const
const dryRun = [...forget.slice(0, 5), '--dry-run', '--json'] as const

interface Answer {
  readonly not_looked_at: readonly {
    readonly table: string
    readonly reason: string
    readonly rows: number | null
  }[]
}
type Counted = Answer &
  Record<'tables' | 'kept', readonly { readonly table: string; readonly rows: number }[]>
/** Rows of all of them, by table. */
const summed = (all: readonly Counted[]) => {
  const counts: Record<string, number> = {}
  for (const { tables, kept } of all)
    for (const { table, rows } of [...tables, ...kept.map((one) => ({ ...one, table: `kept ${one.table}` }))])
      counts[table] = (counts[table] ?? 0) + rows
  return { counts, missed: all.at(-1)?.not_looked_at }
}
const receiptOf = (stdout: string): Answer =>
  (JSON.parse(stdout) as { receipts: Answer[] }).receipts[0] as Answer

const states = async (address: Address): Promise<Map<string, string>> => {
  const warehouse = await reopen(address)
  const rows = await rowsOf(warehouse, 'sync_forgotten_records').finally(() => warehouse.close())
  return new Map(rows.map((row) => [`${row['resource']} ${row['record_id']}`, String(row['state'])]))
}

/** All of them in one source, each about customers of its own. */
const cases = led.map(([name, rows], i) => {
  const [theirs, others] = [`${mark}${i}x`, `${other}${i}x`]
  const shifted = /^((customer|vehicle|payment|repair_order|recommendation|taggable)_)?id$/
  const text = JSON.stringify([...both, ...rows], (key, value: unknown) =>
    shifted.test(key) && typeof value === 'number' ? value + 1000 * i : value,
  )
  const all = JSON.parse(text.replaceAll(mark, theirs).replaceAll(other, others)) as Row[]
  return { name, rows: all, ann: ann + 1000 * i, theirs, others }
})
const allRows = cases.flatMap(({ rows }) => rows)
const everyAnn = cases.flatMap((one) => ['--customer', String(one.ann)])

/** Of whom anything is left, by case, and the rows of others that still say something. */
async function found(address: Address): Promise<{ readonly theirs: string[]; readonly others: string[] }> {
  const theirs = await leaks(address, mark)
  const warehouse = await reopen(address)
  const others: string[] = []
  for (const table of ['customers', 'repair_orders', 'notes'])
    for (const row of await rowsOf(warehouse, table))
      if (JSON.stringify(row).includes(other)) others.push(`${table} ${row['id']}`)
  await warehouse.close()
  return {
    theirs: cases.flatMap((one) => (theirs.some((text) => text.startsWith(one.theirs)) ? [one.name] : [])),
    others: others.sort(),
  }
}

async function rowsOfNobody(address: Address): Promise<unknown> {
  const warehouse = await reopen(address)
  const rows = ['shops', 'staffs', 'statuses'].map((table) => rowsOf(warehouse, table))
  return Promise.all(rows).finally(() => warehouse.close())
}

const whole = {
  theirs: cases.map(({ name }) => name),
  others: allRows
    .flatMap((row) => (JSON.stringify(row).includes(other) ? [`${row.resource} ${row.id}`] : []))
    .sort(),
}

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
    ...payments.map((id) => payment(id, { repair_order_id: pick(orders) })),
    ...ids(51, 2).map((id) => attempt(id, { payment_id: pick(payments), repair_order_id: pick(orders) })),
    ...ids(61, 2).map((id) => note(id, pick(orders))),
    ...quotes.map((id) => recommendation(id, pick(orders))),
    ...ids(71, 2).map((id) => past(id, { vehicle_id: pick(vehicles), recommendation_id: pick(quotes) })),
    ...vehicles.map((id) => vehicle(id)),
    tag(base + 81, 'Payment', pick(payments) ?? 1),
    tag(base + 82, 'Payment', pick(payments) ?? 1),
  ]
  // Some aren't at the source any more.
  return all
    .filter(() => random() > 0.15)
    .map((row) => JSON.parse(JSON.stringify(row).replaceAll(mark, saying(row))))
}
const saying = ({ resource, id }: Pick<Row, 'resource' | 'id'>): string => `${mark}-${resource}-${id}-`

/** What is forgotten with these customers, by another way than the program's. */
function forgottenWith(rows: readonly Row[], persons: ReadonlySet<unknown>): string[] {
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
  it('every declared reference leads to a customer, by any number of steps, and stops at others', async () => {
    await inside(await kind.viewed(), allRows, async ({ address, run, put }) => {
      await run('sync')
      expect(await found(address)).toEqual(whole)
      const nobodys = await rowsOfNobody(address)
      const { code, stdout, stderr } = await run('forget', '--tenant', '101', ...everyAnn, '--yes', '--json')
      expect([code, receiptOf(stdout).not_looked_at], stderr).toEqual([0, []])
      expect(await found(address)).toEqual({ ...whole, theirs: [] })
      expect(await rowsOfNobody(address)).toEqual(nobodys)
      // What arrives later is decided the same way.
      put(allRows)
      await run('sync', '--full')
      expect(await found(address)).toEqual({ ...whole, theirs: [] })
    })
  })
})

describe.each(warehouses())('$name', (kind) => {
  it.each(['stored before', 'that arrive together', 'that arrive list by list'])(
    'of records %s, whatever they refer to, exactly those are emptied that lead to a customer',
    async (how) => {
      const random = randomFrom(how.length)
      const bases = Array.from({ length: sized(8, 60) }, (_, i) => 1_000_000 + 1000 * i)
      const rows = [...bases.flatMap((base) => drawn(base, random)), ...allRows]
      const persons = bases.map((base) => base + 1)
      const customers = persons.map((id) => ({ resource: 'customers', id, phones: [] }))
      await inside(await kind.viewed(), customers, async ({ address, run, put, lists }) => {
        const words = ['forget', '--tenant', '101', ...persons.flatMap((id) => ['--customer', String(id)])]
        if (how === 'stored before') put(rows)
        await run('sync')
        const before = JSON.parse((await run(...words, '--dry-run', '--json')).stdout) as Counted
        const { stdout } = await run(...words, '--yes', '--json')
        expect(summed((JSON.parse(stdout) as { receipts: Counted[] }).receipts)).toEqual(summed([before]))
        if (how !== 'stored before') put(rows)
        for (const name of how === 'that arrive list by list'
          ? everyList.toSorted(() => random() - 0.5)
          : []) {
          lists([name])
          await run('sync')
        }
        lists(everyList)
        await run('sync', '--full')
        await run('sync')
        const warehouse = await reopen(address)
        const left = JSON.stringify(await Promise.all(forgettable.map((name) => rowsOf(warehouse, name))))
        await warehouse.close()
        const gone = rows.filter(
          (row) => JSON.stringify(row).includes(saying(row)) && !left.includes(saying(row)),
        )
        const found = gone.map(({ resource, id }) => `${resource} ${id}`).sort()
        expect(found).toEqual(forgottenWith(rows, new Set(persons)))
      })
    },
  )

  it('what leads to nobody is in the receipt', async () => {
    const appointment = { resource: 'appointments', id: 5, title: `${mark} Smith`, repair_order_id: null }
    const rows = [
      note(5, null),
      { ...appointment, start_at: '2026-01-02T00:00:00Z' },
      // Its owner is undocumented.
      { ...vehicle(76), customer_id: ann },
      // These only lead to each other.
      order(first, null, { vehicle_id: 77 }),
      vehicle(77),
      note(6, first),
      note(7, second),
      tag(8, 'RepairOrder', second),
    ]
    const counts = { appointments: 1, integrator_tags: 1, notes: 3, repair_orders: 1, vehicles: 2 }
    await inside(await kind.viewed(), [...both, order(third, ann), ...rows], async ({ run }) => {
      await run('sync')
      const missed = Object.entries(counts).map(([table, n]) => ({
        table,
        reason: 'leads_to_nobody',
        rows: n,
      }))
      const before = await run(...dryRun)
      const foreseen = (JSON.parse(before.stdout) as Answer).not_looked_at
      expect([before.code, foreseen]).toEqual([1, expect.arrayContaining(missed)])
      const { code, stdout } = await run(...forget)
      expect([code, receiptOf(stdout).not_looked_at]).toEqual([1, expect.arrayContaining(missed)])
      expect(receiptOf(stdout).not_looked_at).toHaveLength(missed.length)
    })
  })

  it.each(['is not configured', 'is not offered'])(
    'orders that were not read are in the receipt: the list %s',
    async (why) => {
      await inside(
        await kind.viewed(),
        [...both, order(first, ann), note(5, first)],
        async ({ sandbox, lists, run, address }) => {
          if (why === 'is not offered') sandbox.store.switchOff('repair_orders')
          else lists(everyList.filter((name) => name !== 'repair_orders'))
          await run('sync')
          const wanted = [
            { table: 'repair_orders', reason: 'not_read', rows: null },
            { table: 'notes', reason: 'leads_to_nobody', rows: expect.any(Number) },
          ]
          const before = await run(...dryRun)
          expect([before.code, (JSON.parse(before.stdout) as Answer).not_looked_at]).toEqual([
            1,
            expect.arrayContaining(wanted),
          ])
          const { code, stdout } = await run(...forget)
          expect([code, receiptOf(stdout).not_looked_at]).toEqual([1, expect.arrayContaining(wanted)])
          expect((await run(...forget.slice(0, -1))).stdout).toContain(
            'repair_orders: its list has never been read',
          )
          // When the orders come, what waited for them goes.
          sandbox.store.switchOn('repair_orders')
          lists(everyList)
          await run('sync')
          expect(await whereIs(address)).toEqual([])
        },
      )
    },
  )

  it('what the source gives to another person stays forgotten, and the run says so; what was only taken for theirs is whole again', async () => {
    const rows = [
      order(first, ann, { vehicle_id: 77 }),
      past(5, { vehicle_id: 77, recommendation_id: 6 }),
      // Of an order that isn't there yet.
      recommendation(6, second, other),
      note(7, second, other),
      order(third, ann),
    ]
    await inside(await kind.viewed(), [...both, ...rows], async ({ sandbox, run, put, address }) => {
      const told = /The source gives records of forgotten customers to other customers/
      const found = async (table: string, id: number) => {
        const warehouse = await reopen(address)
        const all = await rowsOf(warehouse, table).finally(() => warehouse.close())
        return all.find((row) => row['id'] === id)
      }
      await run('sync')
      await run(...forget)
      // An order that names another customer when it comes, with all that is its.
      expect((await states(address)).get(`repair_orders ${second}`)).toBe('expected')
      put([order(second, bob)])
      await run('sync')
      expect(await found('repair_orders', second)).toMatchObject({ detail: other })
      expect(await found('notes', 7)).toMatchObject({ description: other })
      expect(JSON.stringify(await found('recommendations', 6))).toContain(other)
      expect(JSON.stringify(await found('past_recommendations', 5))).not.toContain(mark)
      // An id that another person gets.
      const again = { resource: 'customers', id: ann, last_name: other, phones: [] }
      put([{ ...again, last_name: `${mark} Married` }])
      expect((await run('sync')).stderr).not.toMatch(told)
      sandbox.store.remove(101, 'customers', ann)
      await run('reconcile', '--full')
      put([{ ...again, created_at: '2026-03-04T05:06:07Z' }])
      const { stderr } = await run('sync')
      expect(stderr).toMatch(told)
      expect(stderr).toContain(String(ann))
      expect(await found('customers', ann)).toMatchObject({ last_name: null, _deleted_at: null })
      // A record that another customer gets.
      put([order(third, bob)])
      expect((await run('sync')).stderr).toMatch(told)
      expect(await found('repair_orders', third)).toMatchObject({ customer_id: bob, detail: null })
      expect((await states(address)).get(`repair_orders ${third}`)).toBe('hidden')
    })
  })

  it('what an earlier version left of a forgotten customer is named, with what to type', async () => {
    const rows = [...both, order(first, ann), payment(5, { repair_order_id: first })]
    await inside(await kind.viewed(), rows, async ({ run, put, address, folder }) => {
      await run('sync')
      const { stdout } = await run(...forget)
      // As that version left it: it knew orders and vehicles, and what refers to an order.
      put([attempt(6, { payment_id: 5 })])
      const { not_looked_at: _, ...receipt } = receiptOf(stdout)
      const warehouse = await reopen(address)
      const entries = 'sync_forgotten_records'
      await warehouse.db.deleteFrom(entries).where('resource', '=', 'payments').execute()
      const stored = { receipt: JSON.stringify(receipt) }
      await warehouse.db.updateTable(entries).set(stored).where('receipt', 'is not', null).execute()
      await warehouse.close()
      await run('sync')
      const file = join(folder, 'forgotten.jsonl')
      for (const command of ['status', 'check']) {
        const { code, stdout, stderr } = await run(command)
        expect([code, stdout + stderr]).toEqual([1, expect.stringContaining(`forget --replay ${file}`)])
      }
      await run('forget', '--replay', file)
      expect(await leaks(address, mark)).toEqual([])
      expect((await run('status')).stdout).not.toContain('--replay')
    })
  })
})
