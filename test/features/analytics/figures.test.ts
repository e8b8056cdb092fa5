/**
 * Compares every figure of every shop, month and day with figureoracle.ts, in both warehouses: two tenants whose ids
 * collide, zones, deleted orders, absurd values. Also tests what applies to every declaration, including future ones.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DeclaredFigure, defineFigure } from '../../../schema/figure.js'
import { figures } from '../../../schema/figures/index.js'
import orders from '../../../schema/views/orders.js'
import { figureComplaints } from '../../../src/features/analytics/figurecheck.js'
import { shopsync } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { ask } from '../../support/harness/views.js'
import {
  bothWarehouses,
  type Kind,
  reopen,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { spoil } from '../../support/world/hostile.js'
import { putOddInvoices } from '../../support/world/oddinvoices.js'
import { isWhole } from '../../support/world/size.js'
import { type Expected, expectedFigures } from './figureoracle.js'
import { Business, cents, expectedRows, type Fields, type Row, type World } from './oracle.js'

const resources = [
  ...['repair_orders', 'recommendations', 'past_recommendations', 'payments', 'inventories', 'appointments'],
  ...['purchase_records', 'customers', 'staffs', 'shops', 'payment_transactions'],
]
const report = { timeZone: 'America/Chicago', shopTimeZones: { '101/2': 'Asia/Kathmandu' } }

const options = {
  tenants: 2,
  repairOrders: isWhole() ? 70 : 40,
  seed: 29,
  until: '2026-11-20T12:00:00Z',
} as const
const lifelike = await sandboxOfFile(options)
const hostile = await sandboxOfFile(options)
spoil(hostile)
for (const sandbox of [lifelike, hostile]) {
  putOddInvoices(sandbox)
  putDeposits(sandbox)
}

/** On an order in progress, before it was there; one that was returned a month later; a payment without an order. */
function putDeposits({ store }: typeof lifelike): void {
  const [tenant = 0] = store.tenantIds
  const [first] = store.all(tenant, 'repair_orders').filter(({ state }) => state !== 'invoice')
  const paid = { repair_order_id: first?.id, updated_at: '2026-11-01T00:00:00Z', notes: 'in advance' }
  store.put(tenant, 'payments', {
    ...paid,
    id: 9_300_001,
    created_at: '2026-08-31T23:30:00Z',
    amount_cents: 5000,
  })
  store.put(tenant, 'payments', {
    ...paid,
    id: 9_300_002,
    created_at: '2026-09-01T08:00:00Z',
    amount_cents: 700,
  })
  store.put(tenant, 'payments', {
    ...paid,
    id: 9_300_003,
    created_at: '2026-10-01T08:00:00Z',
    amount_cents: -700,
  })
  store.put(tenant, 'payments', {
    ...paid,
    id: 9_300_004,
    created_at: null,
    amount_cents: 30,
    repair_order_id: null,
  })
}

const worldOf = (sandbox: typeof lifelike, deletedOrders: readonly Fields[] = []): World => ({
  tenants: sandbox.store.tenantIds.map((tenant, i) => ({
    tenant,
    of: (resource) => sandbox.store.all(tenant, resource),
    deletedOrders: i === 0 ? deletedOrders : [],
  })),
  zoneOf: (tenant, shop) => report.shopTimeZones[`${tenant}/${shop}` as '101/2'] ?? report.timeZone,
  now: new Date().toISOString(),
})

const flows = figures.filter(({ day, splits }) => day !== undefined && splits === undefined)

/** Hours are numbers with nine decimals in the views, and billionths in the oracle. */
const asWhole = (value: unknown, isHours: boolean): string | null =>
  value === null ? null : isHours ? (Number(value) * 1e9).toPrecision(13) : String(value)

const hoursIn: Readonly<Record<string, readonly ('numerator' | 'denominator')[]>> = {
  hours_sold: ['numerator'],
  hours_per_order: ['numerator'],
  hours_per_car: ['numerator'],
  effective_labor_rate: ['denominator'],
  gross_profit_per_hour: ['denominator'],
}

/** What the view shows of a figure. Floats have fifteen digits: a sum of absurd hours beyond them isn't compared. */
function shownIn(row: Row, name: string, isRatio: boolean, hasLeft: boolean): Record<string, string | null> {
  const hours = hoursIn[name] ?? []
  const numerator = row[isRatio ? `${name}_numerator` : name]
  return {
    numerator: asWhole(numerator, hours.includes('numerator')),
    ...(isRatio && { denominator: asWhole(row[`${name}_denominator`], hours.includes('denominator')) }),
    ...(hasLeft && { left: String(row[`${name}_left_out`]) }),
  }
}

const absurd = 10n ** 18n

/** Hours of 10^9 and more are null wherever they are shown. */
const wantedNumber = (value: bigint | null, isHours: boolean): string | null => {
  if (value === null) return null
  if (!isHours) return String(value)
  return value >= absurd || value <= -absurd ? null : Number(value).toPrecision(13)
}

function wantedOf(expected: Expected | undefined, name: string, isRatio: boolean, hasLeft: boolean) {
  const hours = hoursIn[name] ?? []
  const numerator = expected === undefined ? 0n : expected.numerator
  return {
    numerator: wantedNumber(numerator, hours.includes('numerator')),
    ...(isRatio && {
      denominator:
        numerator === null ? null : wantedNumber(expected?.denominator ?? 0n, hours.includes('denominator')),
    }),
    ...(hasLeft && { left: String(expected?.left ?? 0) }),
  }
}

/** The balances of a shop at the end of a month, and on how many orders something else may have been owed then. */
function balancesAfter(
  world: World,
  { tenant, shop, month }: { readonly tenant: number; readonly shop: unknown; readonly month: string },
): Record<'receivables_cents' | 'deposits_held_cents' | 'receivables_left_out', string> {
  const records = world.tenants.find((one) => one.tenant === tenant)
  if (!records) throw new Error(`no tenant ${tenant}`)
  const business = new Business(records, world)
  const isUpTo = (day: string | null): boolean => day !== null && day.slice(0, 7) <= month
  let [owed, held, left] = [0n, 0n, 0]
  for (const { order, total } of business.bills) {
    if ((order.shop_id ?? null) !== (shop ?? null)) continue
    const isInvoice = order.state === 'invoice'
    const closed = business.closed(order)
    const paid = records
      .of('payments')
      .filter(({ repair_order_id }) => repair_order_id === order.id)
      .filter(({ created_at }) => isUpTo(business.day(order.shop_id, created_at) ?? closed))
      .map(({ amount_cents }) => cents(amount_cents) ?? 0n)
      .reduce((sum, one) => sum + one, 0n)
    if (isInvoice && isUpTo(closed)) {
      if (total === null) left += 1
      else if (total > paid) owed += total - paid
    } else if (!isInvoice || closed !== null) held += paid
    const isOver = month < world.now.slice(0, 7)
    if (!isInvoice && isOver && isUpTo(business.day(order.shop_id, order.picked_up_at))) left += 1
  }
  return {
    receivables_cents: String(owed),
    deposits_held_cents: String(held),
    receivables_left_out: String(left),
  }
}

describe.each([
  ['a business as it could be', lifelike],
  ['a business with absurd values', hostile],
])('%s', (_, sandbox) => {
  // Absurd values are where databases differ.
  const isPlayed = (kind: Kind): boolean => sandbox === hostile || isWhole() || warehouses().includes(kind)
  describe.each(bothWarehouses().filter(isPlayed))('$name', (kind) => {
    let warehouse: Warehouse
    let run: (...words: string[]) => ReturnType<typeof shopsync>
    beforeAll(async () => {
      const address = await kind.viewed()
      const config = configure(sandbox, address, resources, { report })
      run = (...words) => shopsync([...words, '--config', config])
      const ended = await run('sync')
      expect(ended.code, ended.stdout + ended.stderr).toBe(0)
      warehouse = await reopen(address)
    })
    afterAll(() => warehouse.close())

    const compare = async (
      view: string,
      of: string,
      period: (day: string | null) => string | null,
      deletedOrders: readonly Fields[] = [],
    ) => {
      const expected = expectedFigures(worldOf(sandbox, deletedOrders), period)
      const rows = await ask(warehouse, view, 'select * from {view}')
      const found = new Map(
        rows.map((row) => [`${row.tenant_id}-${row.shop_id ?? 'none'}-${row[of] ?? 'none'}`, row]),
      )
      // Appointments of future months are only in shop_days; the current month depends on the shop for a day.
      const thisMonth = new Date(Date.now() - 86_400_000).toISOString().slice(0, 7)
      const isToCome = (key: string): boolean =>
        of === 'month' && key.slice(-7) > thisMonth && !key.endsWith('none')
      expect([...expected.keys()].filter((key) => !found.has(key) && !isToCome(key))).toEqual([])
      const wrong: unknown[] = []
      for (const figure of flows) {
        const { name, numerator, denominator, leavesOut } = figure
        const [isRatio, hasLeft] = [denominator !== undefined, leavesOut !== undefined]
        const isDistinct = [numerator, denominator].some((part) => part !== undefined && 'distinct' in part)
        if (of === 'day' && isDistinct) continue
        for (const [key, row] of found) {
          const shown = shownIn(row, name, isRatio, hasLeft)
          const wanted = wantedOf(expected.get(key)?.get(name), name, isRatio, hasLeft)
          if (JSON.stringify(shown) !== JSON.stringify(wanted)) wrong.push([name, key, shown, wanted])
        }
      }
      expect(wrong.slice(0, 5)).toEqual([])
      return found
    }

    it('shop_months', async () => {
      const found = await compare('shop_months', 'month', (day) => day?.slice(0, 7) ?? null)
      expect(found.size).toBeGreaterThan(6)
    })

    it('shop_days', async () => {
      const found = await compare('shop_days', 'day', (day) => day)
      expect(found.size).toBeGreaterThan(100)
    })

    it('a shop was open on the days on which it closed an invoice or began work', async () => {
      const world = worldOf(sandbox)
      const open = world.tenants.flatMap((records) => {
        const business = new Business(records, world)
        return business.bills.flatMap(({ order }) => {
          const closed = order.state === 'invoice' ? business.closed(order) : null
          const days = [closed, business.day(order.shop_id, order.started_at)]
          return days.flatMap((day) =>
            day === null ? [] : `${records.tenant}-${order.shop_id ?? 'none'}-${day}`,
          )
        })
      })
      const rows = await ask(warehouse, 'shop_days', 'select * from {view} where day is not null')
      const shown = rows.filter((row) => row.is_open_day === true)
      expect(shown.map((row) => `${row.tenant_id}-${row.shop_id ?? 'none'}-${row.day}`).sort()).toEqual(
        [...new Set(open)].sort(),
      )
      expect(shown.length).toBeGreaterThan(50)
      expect(rows.length - shown.length).toBeGreaterThan(20)
    })

    it('shop_months has every month of a shop once', async () => {
      const rows = await ask(
        warehouse,
        'shop_months',
        'select shop_key, month from {view} where month is not null',
      )
      const months = new Map<string, string[]>()
      for (const { shop_key, month } of rows)
        if (shop_key !== null)
          months.set(String(shop_key), [...(months.get(String(shop_key)) ?? []), String(month)])
      for (const all of months.values()) {
        const sorted = [...all].sort()
        const [first = ''] = sorted
        const count = (month: string): number => Number(month.slice(0, 4)) * 12 + Number(month.slice(5))
        expect(sorted).toHaveLength(new Set(sorted).size)
        expect(count(sorted.at(-1) ?? '') - count(first) + 1).toBe(sorted.length)
      }
    })

    it('inventory turns divide the cost of sold items by the stock of the same items', async () => {
      const turns = figures.find(({ name }) => name === 'inventory_turns')
      const { numerator, denominator } = turns ?? {}
      if (!numerator || !denominator || !('sum' in numerator) || !('sum' in denominator))
        throw new Error('none')
      const [found] = await ask(
        warehouse,
        'inventory_value',
        `select sum(${numerator.sum}) as sold_cost_cents, sum(${denominator.sum}) as on_hand_cents from {view}`,
      )
      const known = expectedRows('inventory_value', worldOf(sandbox)).filter(
        (row) => row.on_hand_cents !== null && row.shop_is_new === false,
      )
      const sum = (column: string): bigint => known.reduce((all, row) => all + (row[column] as bigint), 0n)
      expect(sum('sold_cost_cents')).toBeGreaterThan(0n)
      expect([found?.sold_cost_cents, found?.on_hand_cents].map(String)).toEqual(
        ['sold_cost_cents', 'on_hand_cents'].map((column) => String(sum(column))),
      )
    })

    // Which rows a view leaves out doesn't depend on their values.
    it.runIf(sandbox === lifelike || isWhole())(
      'a deleted order leaves the figures, whatever still refers to it',
      async () => {
        const list = ['--resource', 'repair_orders']
        const { store } = sandbox
        const tenant = store.tenantIds[0] ?? 0
        const isNamed = (resource: string, id: unknown): boolean =>
          store.all(tenant, resource).some(({ repair_order_id }) => repair_order_id === id)
        const order = store
          .all(tenant, 'repair_orders')
          .find(({ id }) =>
            ['recommendations', 'payment_transactions', 'payments'].every((name) => isNamed(name, id)),
          )
        const id = Number(order?.id)
        store.remove(tenant, 'repair_orders', id)
        try {
          expect((await run('reconcile', ...list)).code).toBe(0)
          await compare('shop_months', 'month', (day) => day?.slice(0, 7) ?? null, [order ?? {}])
        } finally {
          store.put(tenant, 'repair_orders', { ...order, id, updated_at: new Date().toISOString() })
          expect((await run('sync', ...list)).code).toBe(0)
          expect((await run('reconcile', ...list)).code).toBe(0)
        }
      },
    )

    it('figures at a moment are null before the first snapshot, but for what follows from payments, and match the view after it', async () => {
      const moments = figures.filter(({ snapshot }) => snapshot).map(({ name }) => name)
      const balances = ['receivables_cents', 'deposits_held_cents', 'receivables_left_out'] as const
      const others = moments.filter((name) => !balances.some((balance) => balance === name))
      const isThere = others.map((name) => `${name} is not null`).join(' or ')
      expect(await ask(warehouse, 'shop_months', `select month from {view} where ${isThere}`)).toEqual([])
      const shown = `tenant_id, shop_id, month, receivables_is_reckoned, ${balances.join(', ')}`
      const rows = await ask(warehouse, 'shop_months', `select ${shown} from {view} where month is not null`)
      const world = worldOf(sandbox)
      const known = new Set<string>()
      for (const row of rows) {
        const { tenant_id, shop_id, month, receivables_is_reckoned: isReckoned } = row
        if (String(month) > world.now.slice(0, 7)) continue
        const wanted = balancesAfter(world, {
          tenant: Number(tenant_id),
          shop: shop_id,
          month: String(month),
        })
        const found = Object.fromEntries(balances.map((name) => [name, String(row[name])]))
        expect([tenant_id, shop_id, month, isReckoned, found]).toEqual([
          tenant_id,
          shop_id,
          month,
          true,
          wanted,
        ])
        for (const name of balances) if (wanted[name] !== '0') known.add(name)
      }
      expect(known).toEqual(new Set(balances))
      expect((await run('snapshot')).code).toBe(0)
      for (const { name, relation, where, numerator } of figures.filter(({ snapshot }) => snapshot)) {
        const sum =
          'sum' in numerator
            ? `sum(${numerator.sum})`
            : `count(case when ${Object.values(numerator).join('')} then 1 end)`
        const condition = where === undefined ? '' : `where ${where}`
        const [now] = await ask(
          warehouse,
          relation.name,
          `select coalesce(${sum}, 0) as ${name} from {view} ${condition}`,
        )
        const [kept] = await ask(
          warehouse,
          'shop_months',
          `select sum(${name}) as ${name} from {view} where not receivables_is_reckoned`,
        )
        expect([name, Number(kept?.[name])]).toEqual([name, Number(now?.[name])])
      }
    })
  })
})

describe('a declaration', () => {
  const good = {
    name: 'sales_cents',
    label: 'Sales',
    doc: 'Sales.',
    unit: 'cents',
    relation: orders,
  } as const
  const rest = { day: 'closed_on', by: [], lists: ['repair_orders'] } as const
  const wrong = (figure: object): string[] => figureComplaints([figure as DeclaredFigure])

  it('of the product has no faults', () => {
    expect(figureComplaints(figures)).toEqual([])
    expect(wrong(defineFigure({ ...good, ...rest, numerator: { sum: 'sales_cents' } }))).toEqual([])
  })

  it.each([
    [
      'a column that is not there',
      { numerator: { sum: 'sale_cents' } },
      'found sale_cents, expected columns of orders: ',
    ],
    [
      'a condition on one',
      { numerator: { sum: 'sales_cents' }, where: "stat = 'invoice'" },
      'found stat, expected',
    ],
    [
      'a dimension that is not there',
      { numerator: { sum: 'sales_cents' }, by: ['advisor'] },
      'found advisor, expected',
    ],
    [
      'a sum of a rate',
      { numerator: { sum: 'labor_tax_rate' } },
      'found a sum of labor_tax_rate, expected cents, hours or counts',
    ],
    [
      'a sum of a text',
      { numerator: { sum: 'coalesce(number, 0) + shop_name' } },
      'found a sum of shop_name, expected',
    ],
    [
      'a day that is none',
      { numerator: { sum: 'sales_cents' }, day: 'closed_at' },
      'found the timestamp closed_at as its day',
    ],
    [
      'a unit that its name denies',
      { numerator: { sum: 'sales_cents' }, name: 'sales' },
      'found the unit cents under the name sales',
    ],
    [
      'a figure to split that is not there',
      { numerator: { sum: 'sales_cents' }, splits: 'turnover' },
      'found that it splits turnover',
    ],
    [
      'a snapshot that is not there',
      { numerator: { sum: 'sales_cents' }, snapshot: 'x' },
      'found the snapshot x, expected a column of daily_snapshots',
    ],
  ])('with %s is refused, with its file and what was expected', (_, part, words) => {
    const [first = ''] = wrong({ ...good, ...rest, ...part })
    expect(first).toContain(`schema/figures/${'name' in part ? part.name : 'sales_cents'}.ts: `)
    expect(first).toContain(words)
  })
})
