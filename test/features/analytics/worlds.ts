/** The worlds in which views are compared with the oracle of the business. */
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { type Gone, type ReportSettings, remove } from '../../support/oracle/business/sandboxworld.js'
import { businessReport, businessResources, deleteSome, fillBusiness } from '../../support/world/business.js'
import { spoil } from '../../support/world/hostile.js'
import { odd, putOddInvoices } from '../../support/world/oddinvoices.js'
import { showTwice } from '../../support/world/twice.js'

export interface BusinessWorld {
  readonly name: string
  readonly report: ReportSettings
  readonly resources: readonly string[]
  make(): Promise<Sandbox>
  /** What is deleted after a first sync. Returns the orders. */
  deleteSome(sandbox: Sandbox): Gone[]
  /** Whether every view has several rows. */
  readonly isLarge: boolean
  /** On both databases whenever it is played: absurd values are where they differ. */
  readonly isOnBoth: boolean
  /** What some views show, computed by hand; rows in the order of their first columns. */
  readonly byHand?: readonly HandCase[]
  /** Other settings, with which everything is compared again. */
  readonly laterReport?: ReportSettings
}

export type HandCase = readonly [
  view: string,
  columns: string,
  rest: string,
  rows: readonly (readonly unknown[])[],
]

const resources = [
  'appointments',
  'assignments',
  'canned_jobs',
  'categories',
  'customers',
  'inventories',
  'past_recommendations',
  'payment_transactions',
  'payments',
  'purchase_records',
  'recommendations',
  'repair_orders',
  'shops',
  'staffs',
  'statuses',
  'vehicles',
  'vendors',
]

const report = { timeZone: 'America/Chicago', shopTimeZones: { '101/2': 'Asia/Kathmandu' } }

/** On an order in progress, before it was there; one that was returned a month later; a payment without an order. */
function putDeposits({ store }: Sandbox): void {
  const [tenant = 0] = store.tenantIds
  const [open] = store.all(tenant, 'repair_orders').filter(({ state }) => state !== 'invoice')
  const paid: readonly (readonly [created: string | null, cents: number, order: unknown])[] = [
    ['2026-08-31T23:30:00Z', 5000, open?.id],
    ['2026-09-01T08:00:00Z', 700, open?.id],
    ['2026-10-01T08:00:00Z', -700, open?.id],
    [null, 30, null],
  ]
  for (const [i, [created_at, amount_cents, repair_order_id]] of paid.entries())
    store.put(tenant, 'payments', {
      id: 9_300_001 + i,
      created_at,
      updated_at: '2026-11-01T00:00:00Z',
      amount_cents,
      repair_order_id,
      notes: 'in advance',
    })
}

async function generated(): Promise<Sandbox> {
  const sandbox = await createSandbox({
    tenants: 2,
    repairOrders: 70,
    seed: 23,
    until: '2026-11-20T12:00:00Z',
  })
  showTwice(sandbox)
  return sandbox
}

async function lifelike(): Promise<Sandbox> {
  const sandbox = await generated()
  putOddInvoices(sandbox)
  putDeposits(sandbox)
  return sandbox
}

async function hostile(): Promise<Sandbox> {
  const sandbox = await generated()
  spoil(sandbox)
  putOddInvoices(sandbox)
  putDeposits(sandbox)
  return sandbox
}

/** An order to which payments, recommendations and attempts still refer. */
function deleteOrder(sandbox: Sandbox): Gone[] {
  const { store } = sandbox
  const [tenant = 0] = store.tenantIds
  const isNamed = (resource: string, id: unknown): boolean =>
    store.all(tenant, resource).some(({ repair_order_id }) => repair_order_id === id)
  const order = store
    .all(tenant, 'repair_orders')
    .find(({ id }) =>
      ['recommendations', 'payment_transactions', 'payments'].every((name) => isNamed(name, id)),
    )
  return [remove(sandbox, tenant, 'repair_orders', Number(order?.id))]
}

async function small(): Promise<Sandbox> {
  const sandbox = await createSandbox({ data: 'none', tenants: [{ id: 1 }, { id: 2 }] })
  fillBusiness(sandbox)
  return sandbox
}

/** The odd invoices, computed by hand. */
const oddByHand: readonly HandCase[] = [
  [
    'orders',
    'repair_order_id is_first_visit',
    `where repair_order_id between ${odd.evening} and ${odd.absurd}`,
    [
      [odd.evening, false],
      [odd.morning, true],
      [odd.twin, true],
      [odd.otherTwin, false],
      [odd.chicago, false],
      [odd.kathmandu, true],
      [odd.unstarted, true],
      [odd.absurd, true],
    ],
  ],
  [
    'cycle_times',
    'repair_order_id minutes_to_start minutes_in_work minutes_to_close',
    `where repair_order_id in (${odd.twin}, ${odd.unstarted})`,
    [
      [odd.twin, 1440, 1680, 3120],
      [odd.unstarted, null, null, 4320],
    ],
  ],
  [
    'order_lines',
    'line_id quantity price_cents amount_cents',
    `where repair_order_id = ${odd.absurd} and kind = 'part'`,
    [
      [9_200_001, null, 1, 0],
      [9_200_002, 1, null, 0],
      [9_200_003, 2, 500, 1000],
    ],
  ],
  [
    'orders',
    'labor_hours sales_cents total_cents lines_without_price lines_without_cost',
    `where repair_order_id = ${odd.absurd}`,
    [[2, 21_000, null, 3, 1]],
  ],
]

export const worlds: readonly BusinessWorld[] = [
  {
    name: 'a business as it could be, with an order that is deleted',
    report,
    resources,
    make: lifelike,
    deleteSome: deleteOrder,
    isLarge: true,
    isOnBoth: false,
    byHand: oddByHand,
  },
  {
    name: 'a business with absurd values',
    report,
    resources,
    make: hostile,
    deleteSome: () => [],
    isLarge: true,
    isOnBoth: true,
  },
  {
    name: 'a small business, with deleted records of every kind',
    report: businessReport,
    resources: businessResources,
    make: small,
    deleteSome,
    isLarge: false,
    isOnBoth: true,
  },
]
