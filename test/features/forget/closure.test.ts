/** What leads to a customer: every declared reference, both ways, and where that ends. See docs/warehouse.md. */
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { Desk } from '../../support/harness/desk.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { sized } from '../../support/harness/size.js'
import { bothWarehouses, type Kind, rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { EventBench } from '../../support/world/events.js'
import { forgettable, leaks } from '../../support/world/forgotten.js'
import { randomFrom } from '../../support/world/random.js'
import { type AtDesk, deskWords, Steps, storyTests, type WordsOf } from '../../support/world/stories.js'

/** What is a forgotten customer's, and what isn't. */
const [mark, other] = ['zqmark', 'zqother']

interface Row {
  readonly resource: string
  readonly id: number
  readonly [field: string]: unknown
}

/** What records of each list have, unless it says something else. */
const usual: Readonly<Record<string, object>> = {
  customers: { last_name: mark, phones: [] },
  repair_orders: {
    ...{ customer_id: null, vehicle_id: null, payments: [], services: [], integrator_tags: [], label: null },
    // Everybody's, so nothing is anybody's for it.
    ...{ detail: mark, shop_id: 1, advisor_id: 1, status_id: 1 },
  },
  payments: { repair_order_id: null, notes: mark, amount_cents: 100 },
  payment_transactions: {
    ...{ payment_id: null, repair_order_id: null, name: `${mark} HOLDER`, reference_number: mark },
    ...{ authorization_code: `${mark}1`, account: `${mark}2` },
  },
  notes: { repair_order_id: null, description: mark },
  vehicles: { license_plate: mark },
  recommendations: { repair_order_id: null, service: {}, hint: mark },
  past_recommendations: { vehicle_id: null, recommendation_id: null, hint: mark },
  integrator_tags: { name: 'external', value: mark },
  appointments: { title: `${mark} Smith`, repair_order_id: null, start_at: '2026-01-02T00:00:00Z' },
}
const row = (resource: string, id: number, more: object = {}): Row => ({
  resource,
  id,
  ...usual[resource],
  ...more,
})
const tag = (id: number, entity: string, of: number): Row =>
  row('integrator_tags', id, { taggable_type: entity, taggable_id: of })

const nobodys = ['shops', 'staffs', 'statuses']
const everyList = [...forgettable, ...nobodys]

const sandbox = await sandboxOfFile()

function put(...rows: readonly Row[]): void {
  for (const { resource, ...fields } of rows) {
    const stamps = { created_at: '2026-01-02T00:00:00Z', updated_at: '2026-01-02T00:00:00Z' }
    sandbox.store.put(101, resource, { ...stamps, ...fields })
    sandbox.store.change(101, resource, fields.id, {})
  }
}

/** A source with what is nobody's. */
async function begun(kind: Kind): Promise<Desk> {
  sandbox.reset()
  sandbox.store.addTenant({ id: 101 })
  put(...nobodys.map((resource) => row(resource, 1, { name: other, title: other })))
  return new Desk(sandbox, await kind.viewed(), everyList)
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
      row('repair_orders', id, {
        customer_id: pick([base + 1, base + 2]),
        vehicle_id: pick(vehicles),
        payments: listed(),
      }),
    ),
    ...payments.map((id) => row('payments', id, { repair_order_id: pick(orders) })),
    ...ids(51, 2).map((id) =>
      row('payment_transactions', id, { payment_id: pick(payments), repair_order_id: pick(orders) }),
    ),
    ...ids(61, 2).map((id) => row('notes', id, { repair_order_id: pick(orders) })),
    ...quotes.map((id) => row('recommendations', id, { repair_order_id: pick(orders) })),
    ...ids(71, 2).map((id) =>
      row('past_recommendations', id, { vehicle_id: pick(vehicles), recommendation_id: pick(quotes) }),
    ),
    ...vehicles.map((id) => row('vehicles', id)),
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
      const desk = await begun(kind)
      put(...persons.map((id) => row('customers', id)))
      if (how === 'stored before') put(...rows)
      await desk.done('sync')
      const ofNobody = () => Promise.all(nobodys.map((table) => desk.rows(table)))
      const before = await ofNobody()
      await forgotten(desk, `forget --tenant 101 ${persons.map((id) => `--customer ${id}`).join(' ')}`)
      expect(await ofNobody()).toEqual(before)
      // What arrives is decided in the same way as what is there.
      if (how !== 'stored before') put(...rows)
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

const forget = 'forget --tenant 101 --customer 1'

interface Closing extends AtDesk {
  /** All records, when somebody looked. */
  remembered?: unknown
}

const words: WordsOf<Closing> = {
  ...deskWords,
  // Far behind the watermark, once something else has come: an increment doesn't show them.
  'all are of long ago': () => {
    const { store } = sandbox
    const longAgo = BigInt(Date.parse('2026-02-03T04:05:06Z')) * 1000n
    for (const list of everyList)
      for (const id of store.ids(101, list)) store.change(101, list, id, {}, longAgo)
  },
  'what is stored is (remembered|the same|another)': async (story, what) => {
    const now = await story.desk.look(async (warehouse) => {
      const tables = warehouse.model.tables.map(({ name }) => rowsOf(warehouse, name))
      return (await Promise.all(tables)).map((rows) => rows.map(({ _synced_at, ...row }) => row))
    })
    if (what === 'remembered') story.remembered = now
    else if (what === 'the same') expect(now).toEqual(story.remembered)
    else expect(now).not.toEqual(story.remembered)
  },
  'put WORD N[ (\\{.*)]': (_, resource, id, fields = '{}') =>
    put(row(resource!, Number(id), JSON.parse(fields.replaceAll('OTHER', other).replaceAll('MARK', mark)))),
  'remove WORD N': (_, resource, id) => void sandbox.store.remove(101, resource!, Number(id)),
  "(\\w+) are(n't)? offered": (_, list, not) =>
    not ? sandbox.store.switchOff(list!) : sandbox.store.switchOn(list!),
  "(\\w+) are(n't)? configured": ({ desk }, list, not) =>
    desk.set(not ? { sync: { resources: everyList.filter((name) => name !== list) } } : {}),
  forget: async ({ desk }) => {
    const { code, receipt } = await forgotten(desk, forget)
    const missed = receipt.not_looked_at.map((one) => Object.values(one).join(' ')).toSorted()
    return `exit ${code}, not looked at: ${missed.join(', ') || 'nothing'}`
  },
  'WORD N REST': async ({ desk }, table, id, names) => {
    const found = (await desk.rows(table!)).find((one) => one.id === Number(id))!
    return names!
      .split(' ')
      .map((name) => `${name} ${JSON.stringify(found[name])}`)
      .join(', ')
  },
  'events of REST': async ({ desk }, records) =>
    desk.look(async (warehouse) => {
      const events = await EventBench.open(sandbox, warehouse)
      for (const [resource = '', id] of records!.split(', ').map((one) => one.split(' ')))
        await events.put({ tenant: 101, resource, id: Number(id) })
      const { by } = await events.turn()
      return `${by}: ${(await events.states()).join(' ')}`
    }),
  'state of order N': async ({ desk }, id) => {
    const all = await desk.rows('sync_forgotten_records')
    const entry = all.find((one) => one.resource === 'repair_orders' && Number(one.record_id) === Number(id))
    return String(entry?.state)
  },
  replay: async ({ desk }) => {
    await desk.run('forget --replay', join(dirname(desk.config), 'forgotten.jsonl'))
  },
  leaks: async ({ desk }) => (await leaks(desk.address)).join(' ') || 'none',
  // It knew orders and vehicles, and what refers to an order.
  'as an earlier version left it': ({ desk }) =>
    desk.look(async ({ db }) => {
      await db.deleteFrom('sync_forgotten_records').where('resource', '=', 'payments').execute()
      const [entry] = await db
        .selectFrom('sync_forgotten_records')
        .selectAll()
        .where('receipt', 'is not', null)
        .execute()
      const { receipt } = entry!
      const { not_looked_at: _, ...before } =
        typeof receipt === 'string' ? JSON.parse(receipt) : (receipt as object)
      const stored = { receipt: JSON.stringify(before) }
      await db.updateTable('sync_forgotten_records').set(stored).where('receipt', 'is not', null).execute()
    }),
}

storyTests('test/features/forget/closure.txt', new Steps(words), (kind) => async () => ({
  desk: await begun(kind),
  said: '',
}))
