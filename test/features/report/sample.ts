/** Data of a report made by hand: as many businesses and shops as a test wants, with repeating numbers. */

import type { Amounts } from '../../../src/features/report/amounts.js'
import type {
  PeriodAnswer,
  RankedLine,
  ReportData,
  ReportMonth,
  ReportPeriod,
  ReportScope,
  TrustAnswer,
} from '../../../src/features/report/data.js'
import type { OperationsData } from '../../../src/features/report/operationsdata.js'
import type { Task, TaskList } from '../../../src/features/report/tasklist.js'

/** A wave between -1 and 1 that is the same in every run. */
const wave = (n: number): number => Math.sin(n * 12.9898) * Math.cos(n * 4.1414)

const monthAt = (index: number): string => {
  const months = 2026 * 12 + 10 - index
  return `${Math.floor(months / 12)}-${String((months % 12) + 1).padStart(2, '0')}`
}

export const sampleMonths = (count: number): ReportMonth[] =>
  Array.from({ length: count }, (_, i) => ({ month: monthAt(count - 1 - i), isPartial: i === count - 1 }))

/** Amounts of figures by name: a numerator, and optionally a denominator and what is left out. */
export const amounts = (
  of: Readonly<Record<string, number | null | readonly [number | null, number | null, number?]>>,
): Amounts =>
  new Map(
    Object.entries(of).map(([name, value]) => {
      const [numerator, denominator, leftOut = 0] =
        typeof value === 'object' && value !== null ? value : [value, null]
      return [name, { numerator, denominator, leftOut }]
    }),
  )

const amountsAt = (i: number, size: number, isPartial: boolean): Amounts => {
  const invoices = Math.round((110 + 25 * wave(i) + i) * size * (isPartial ? 0.7 : 1))
  const sales = Math.round(invoices * (48_000 + 3000 * wave(i + 7) + 220 * i))
  const hours = invoices * (2.4 + 0.2 * wave(i + 3))
  const profit = Math.round(sales * (0.6 + 0.03 * wave(i + 5)))
  const without = i % 5 === 0 ? 2 : 0
  return amounts({
    invoices,
    cars: Math.round(invoices * 0.98),
    hours_sold: hours,
    hours_per_order: [hours, invoices],
    effective_labor_rate: [Math.round(hours * (12_400 + 90 * i)), hours * 0.99],
    sales_cents: sales,
    average_repair_order: [sales, invoices],
    gross_profit_cents: [profit, null, without],
    gross_margin: [profit, sales, without],
    gross_profit_per_hour: [profit, hours, without],
    customers: Math.round(invoices * 0.93),
    new_customers: Math.round(invoices * (0.22 + 0.05 * wave(i + 9))),
    share_late: [Math.round(invoices * 0.14), Math.round(invoices * 0.9)],
  })
}

export const sampleTrust = (lists: number): TrustAnswer => ({
  foreign: null,
  lists,
  verdicts: { proven: lists - 1, repaired: 1, listed: 0, unproven: 0, none: 0 },
  failing: 0,
  isLoading: false,
  refilling: { lists: 0, begun: 0, read: 0, of: 0 },
  unavailable: 0,
  completeThrough: '2026-11-22T07:55:12.000000Z',
  isStale: false,
  late: '',
  oldest: { tenant: 'Main Street Auto', resource: 'notes' },
  deletesCheckedAt: '2026-11-22T02:30:00.000000Z',
  deletesUnchecked: 0,
  revoked: [],
  incidents: { open: 0, kinds: [] },
  quarantined: 3,
  payments: { orders: 3300, differ: 0, differenceCents: 0 },
  totals: { invoices: 3300, unpaid: 58, unknown: 17, equal: 3219, rounding: 4, more: 2 },
})

export const samplePeriods: readonly ReportPeriod[] = [
  {
    ...{ id: 'last-month', name: 'Last month', question: 'How was last month?', label: 'October 2026' },
    ...{ from: '2026-10-01', to: '2026-11-01' },
    compared: [
      { from: '2026-09-01', to: '2026-10-01', words: 'the month before', label: 'Sep 2026' },
      { from: '2025-10-01', to: '2025-11-01', words: 'the year before', label: 'Oct 2025' },
    ],
  },
  {
    ...{ id: 'month-to-date', name: 'This month so far', question: 'How is this month going?' },
    ...{ label: 'November 1 to 21, 2026', from: '2026-11-01', to: '2026-11-22' },
    compared: [
      {
        ...{ from: '2026-10-01', to: '2026-10-22', label: 'Oct 1 to 21, 2026' },
        words: 'the same days of the month before',
      },
    ],
  },
]

const people = [
  'Ana Ruiz',
  'Ben Okafor',
  'Chris Lindqvist',
  'Dana Whitehorse-Montgomery',
  'Eli Park',
  'Faye Moreau',
  'Gus Tran',
] as const

function periodAnswerAt(
  period: ReportPeriod,
  at: number,
  size: number,
  shops: readonly string[],
): PeriodAnswer {
  const of = amountsAt(at, size, false)
  const line = (name: string, i: number, more: Amounts, before?: Amounts): RankedLine => ({
    ...{ key: `${name} ${i}`, name, amounts: more },
    ...(before && { before }),
  })
  return {
    period,
    amounts: of,
    comparisons: period.compared.map(({ words, label }, i) => ({
      ...{ words, label, now: of, before: amountsAt(at - 1 - i, size, false), shops: 3 - i, shopsLeftOut: i },
    })),
    shops:
      shops.length < 2 ? [] : shops.map((name, i) => line(name, i, amountsAt(at + i, size / 3, false), of)),
    advisors: people.slice(0, 4).map((name, i) => line(name, i, amountsAt(at + i, size / 4, false))),
    technicians: people.map((name, i) =>
      line(name, i, amounts({ technician_hours: 168 - 13 * i }), amounts({ technician_hours: 160 - 9 * i })),
    ),
    categories: ['Brakes', 'Tires & wheels', 'Engine'].map((name, i) =>
      line(name, i, amounts({ service_sales_cents: 9_000_000 - 2_000_000 * i })),
    ),
    costBands: ['0 under 5', '1 5 to 20', '2 20 to 50', '5 250 and more', 'unknown'].map((band, i) => ({
      ...{ key: band, name: band },
      amounts: amounts({
        parts_margin:
          band === 'unknown' ? [null, null, 12] : [2_600_000 + 100_000 * i, 4_000_000 + 900_000 * i],
      }),
    })),
  }
}

/** A Saturday, and the one before. */
const sampleDay: ReportScope['day'] = {
  period: {
    ...{ id: 'yesterday', name: 'Yesterday', question: 'How was yesterday?' },
    ...{ label: 'Saturday, November 21, 2026', from: '2026-11-21', to: '2026-11-22' },
    compared: [{ from: '2026-11-14', to: '2026-11-15', words: 'the Saturday before', label: 'Sat, Nov 14' }],
  },
  ...{ shops: [], advisors: [], technicians: [], categories: [], costBands: [] },
  amounts: amounts({
    ...{ invoices: 9, cars: 8, sales_cents: 412_000, average_repair_order: [412_000, 9] },
    ...{ collected_cents: 390_000, deposits_cents: 20_000 },
  }),
  comparisons: [
    {
      ...{ words: 'the Saturday before', label: 'Sat, Nov 14', shops: 2, shopsLeftOut: 1 },
      now: amounts({ invoices: 8, cars: 7, sales_cents: 400_000, average_repair_order: [400_000, 8] }),
      before: amounts({ invoices: 10, cars: 10, sales_cents: 500_000, average_repair_order: [500_000, 10] }),
    },
  ],
}

const sampleTask: Task = {
  ...{ order: '4711', title: 'in work', shop: 'North Loop', customer: 'Dana Whitfield' },
  ...{ contacts: [], advisor: 'Ana Ruiz', technician: 'Eli Park', status: 'In the bay' },
  ...{ time: null, days: 9, cents: 98_000 },
}

const sampleTasks = (shopNames: readonly string[]): TaskList[] => [
  {
    ...{ id: 'appointments', count: 7, apart: 2, ahead: 4, cents: 0, unknown: 7 },
    tasks: [
      { ...sampleTask, order: null, time: '8:00 AM CST', days: null, cents: null, title: 'Oil change' },
    ],
  },
  {
    ...{ id: 'pick-ups', count: 6, apart: 1, ahead: 5, cents: 200_000, unknown: 0 },
    tasks: [{ ...sampleTask, time: '4:30 PM CST', days: null }],
  },
  {
    ...{ id: 'late', count: 5, apart: 2, ahead: 3, cents: 312_000, unknown: 0 },
    tasks: [4711, 4702, 4699].map((number, i) => ({
      ...{ ...sampleTask, order: String(number), shop: shopNames[i] ?? '', days: 9 - 2 * i },
      customer: ['Dana Whitfield', 'Northside Courier LLC', 'A. Romero'][i] ?? '',
      cents: 98_000 - 13_000 * i,
    })),
  },
  { id: 'unpaid', count: 4, apart: 0, ahead: 4, cents: 88_000, unknown: 1, tasks: [sampleTask] },
  { id: 'overdue', count: 11, apart: 0, ahead: 11, cents: 339_750, unknown: 0, tasks: [] },
  { id: 'approved unsold', count: 3, apart: 0, ahead: 3, cents: 45_000, unknown: 0, tasks: [sampleTask] },
  {
    ...{ id: 'to sell', count: 38, apart: 12, ahead: 26, cents: 1_120_000, unknown: 2 },
    tasks: [{ ...sampleTask, title: 'Front brake pads', days: 12 }],
  },
]

export interface SampleShape {
  readonly id: string
  readonly kind: ReportScope['kind']
  readonly title: string
  readonly shops: number
  readonly months: readonly ReportMonth[]
}

export function sampleScope({ id, kind, title, shops, months }: SampleShape): ReportScope {
  const names = ['North Loop', 'Riverside', 'Old Mill Road']
  const shares = Array.from({ length: shops }, (_, i) => 1 / (i + 2))
  const all = shares.reduce((sum, share) => sum + share, 0)
  const ofMonths = months.map(({ isPartial }, i) => amountsAt(i, shops / 3, isPartial))
  const of = (month: Amounts, name: string): number => month.get(name)?.numerator ?? 0
  const shopNames = shares.map((_, i) => names[i] ?? `Shop ${i + 1}`)
  const at = Math.max(0, months.length - 2)
  return {
    ...{ id, kind, title, shops, shopsWithoutInvoices: 0, trust: sampleTrust(60), behind: 0 },
    businesses: { all: 1, complete: 1 },
    span: months,
    months: ofMonths,
    advice: ofMonths.map((month, i) => ({
      soldAtOnce: Math.round(of(month, 'invoices') * 0.3),
      soldLater: Math.round(of(month, 'invoices') * 0.08),
      approvedUnsold: Math.round(of(month, 'invoices') * 0.04),
      declined: Math.round(of(month, 'invoices') * (0.22 + 0.04 * wave(i))),
      undecided: Math.round(of(month, 'invoices') * 0.1),
      valueCents: of(month, 'invoices') * 21_000,
      withoutValue: 1,
    })),
    cycles: ofMonths.map((month, i) => ({
      bands: [0.42, 0.27, 0.17, 0.1, 0.04].map((share) =>
        Math.round(of(month, 'invoices') * share * (1 + 0.1 * wave(i))),
      ),
      unknown: 1,
    })),
    soldBy: {
      of: 'shop',
      lines: (shops > 8 ? [] : shares).map((share, i) => ({
        name: shopNames[i] ?? '',
        salesCents: ofMonths.map((month) => Math.round((of(month, 'sales_cents') * share) / all)),
      })),
    },
    day: sampleDay,
    periods: samplePeriods.map((period) =>
      periodAnswerAt(period, at, shops / 3, shops > 12 || kind === 'shop' ? [] : shopNames),
    ),
    pace: [30, 31, 30].map((days, m) => ({
      name: ['November 2026', 'October 2026', 'November 2025'][m] ?? '',
      cents: Array.from({ length: days }, (_, day) =>
        m === 0 && day > 20 ? null : (day + 1) * (310_000 - 20_000 * m),
      ),
    })),
    projection: {
      all: { cents: 9_400_000, openDays: 18, daysAhead: 7, shops: 1 },
      pace: { cents: 9_300_000, openDays: 18, daysAhead: 7, shops: 1 },
    },
    receivables: [
      ['0 to 30', 21, 912_000],
      ['31 to 60', 6, 210_400],
      ['61 to 90', 3, 88_000],
      ['over 90', 2, 41_350],
    ].map(([bucket, invoices, cents]) => ({
      bucket: String(bucket),
      invoices: Number(invoices),
      cents: Number(cents),
      unknown: bucket === '0 to 30' ? 1 : 0,
      atLeastCents: bucket === '0 to 30' ? 4200 : 0,
      overpaid: 0,
    })),
    standings:
      kind === 'shop'
        ? []
        : [
            { standing: 'active', customers: 812, salesCents: 92_000_000 },
            { standing: 'lapsing', customers: 301, salesCents: 21_000_000 },
            { standing: 'lost', customers: 190, salesCents: 9_000_000 },
            { standing: 'never', customers: 44, salesCents: 0 },
          ],
    needs: {
      inProgress: { orders: 23, salesCents: 1_284_000 },
      estimates: 31,
      receivables: {
        ...{ invoices: 32, cents: 1_251_750, unknown: 1 },
        ...{ atLeastCents: 4200, overpaid: 0 },
      },
      overdue: {
        ...{ invoices: 11, cents: 339_750, unknown: 0 },
        ...{ atLeastCents: 0, overpaid: 0 },
      },
      creditCents: 0,
    },
    tasks: sampleTasks(shopNames),
  }
}

export const sampleOperations: OperationsData = {
  madeAt: '2026-11-22T08:15:00.000000Z',
  warehouse: 'sqlite:demo/warehouse.db',
  belongsTo: null,
  isEmpty: false,
  incidents: [
    {
      kind: 'deletes_unchecked',
      tenant_id: 101,
      resource: 'notes',
      since: '2026-11-20T08:15:00.000000Z',
      message: 'deletions were last checked 4 days ago',
      advice: 'Type shopsync reconcile',
    },
  ],
  late: '',
  oldestRead: '2026-11-22T07:55:12.000000Z',
  events: ['events: listening since 06:00 UTC, last one 4 s ago'],
  days: Array.from({ length: 30 }, (_, i) => ({
    day: new Date(Date.UTC(2026, 9, 24 + i)).toISOString().slice(0, 10),
    ok: 24,
    partial: i === 11 ? 1 : 0,
    failed: i === 18 ? 2 : 0,
    requests: 1440 + Math.round(60 * wave(i)),
    rateLimited: i % 9 === 4 ? 12 : 0,
  })),
  runs: [
    {
      run_id: '20261122T080001Z-1',
      job: 'hourly',
      mode: 'sync',
      shard: null,
      status: 'partial',
      reason: null,
      started_at: '2026-11-22T08:00:01.000000Z',
      finished_at: '2026-11-22T08:00:42.000000Z',
      took_ms: 41_000,
      requests: 62,
      records: 240,
      records_changed: 97,
      rows_upserted: 118,
      rows_deleted: 2,
      quarantined: 0,
      rate_limited: 0,
      retries: 1,
      error: null,
      cursors: { ok: 20, failed: 1 },
      failures: [
        { tenant_id: 101, resource: 'notes', step: 1, status: 'failed', reason: null, error: 'HTTP 500' },
      ],
    },
  ],
  resources: ['repair_orders', 'customers', 'notes'].map((resource) => ({
    resource,
    tenants: 3,
    completeThrough: '2026-11-22T07:55:12.000000Z',
    deletesCheckedAt: '2026-11-22T02:30:00.000000Z',
    verdicts: { proven: 3, repaired: 0, listed: 0, unproven: 0, none: 0 },
    liveRows: 12_044,
    quarantined: 1,
  })),
  targets: [
    {
      ...{ resource: 'repair_orders', target_seconds: 900, met: 188, missed: 11 },
      ...{ oldest_poll_at: '2026-11-22T08:02:10.000000Z', oldest_poll_seconds: 770 },
    },
    {
      ...{ resource: 'vehicles', target_seconds: 21_600, met: 0, missed: 0 },
      ...{ oldest_poll_at: null, oldest_poll_seconds: null },
    },
  ],
  stretched: '',
  quarantine: [
    {
      resource: 'inventories',
      reason: 'not a whole number',
      values: 3,
      lastSeenAt: '2026-11-21T10:00:00.000000Z',
    },
  ],
  drift: [
    {
      resource: 'vehicles',
      path: 'vin',
      kind: 'unknown_field',
      example: '"1FTFW1ET5DFC10312"',
      firstSeenAt: '2026-11-01T10:00:00.000000Z',
    },
  ],
  driftSeen: 1,
  driftSince: 1,
  nextRun: '2026-11-22T09:00:00.000000Z',
  troubled: { all: 0, worst: [] },
}

/**
 * A report on this many tenants; each has its own scope if there are at most three, and so do the shops if there is one
 * tenant.
 */
export function sampleReport({ tenants = 1, shops = 3, months = 25, withShops = false } = {}): ReportData {
  const over = sampleMonths(months)
  const ids = Array.from({ length: tenants }, (_, i) => String(101 + i))
  const nameOf = (id: string): string => (id === '101' ? 'Main Street Auto' : `Business ${id}`)
  const all = sampleScope({
    id: tenants === 1 ? '101' : 'all',
    kind: tenants === 1 ? 'business' : 'all',
    title: tenants === 1 ? nameOf('101') : `All ${tenants} businesses`,
    shops: shops * tenants,
    months: over,
  })
  const single = tenants > 1 && tenants <= 3 ? ids : []
  return {
    madeAt: '2026-11-22T08:15:00.000000Z',
    warehouse: 'sqlite:demo/warehouse.db',
    belongsTo: null,
    today: '2026-11-22',
    timeZone: 'UTC',
    months: over,
    lastMonth: months > 1 ? months - 2 : null,
    periods: samplePeriods,
    scopes: [
      all,
      ...single.map((id) => sampleScope({ id, kind: 'business', title: nameOf(id), shops, months: over })),
      ...(withShops ? ['1', '2'] : []).map((id) =>
        sampleScope({ id: `shop-101-${id}`, kind: 'shop', title: `Shop ${id}`, shops: 1, months: over }),
      ),
    ],
    tenants:
      tenants === 1
        ? []
        : ids.map((id, i) => ({
            id,
            name: nameOf(id),
            trust: sampleTrust(20),
            amounts: amountsAt(i, 1, false),
            comparison: {
              ...{ words: 'the month before', label: 'Sep 2026', shops: 3, shopsLeftOut: 0 },
              ...{ now: amountsAt(i, 1, false), before: amountsAt(i + 1, 1, false) },
            },
            late: i % 4,
            overdueCents: 1000 * (i % 50),
          })),
  }
}
