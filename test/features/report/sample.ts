/** Data of a report made by hand: as many businesses and shops as a test wants, with numbers that repeat. */
import type {
  MonthNumbers,
  ReportData,
  ReportMonth,
  ReportScope,
  TrustAnswer,
} from '../../../src/features/report/data.js'
import type { OperationsData } from '../../../src/features/report/operationsdata.js'

/** A wave between -1 and 1 that is the same in every run. */
const wave = (n: number): number => Math.sin(n * 12.9898) * Math.cos(n * 4.1414)

const monthAt = (index: number): string => {
  const months = 2026 * 12 + 10 - index
  return `${Math.floor(months / 12)}-${String((months % 12) + 1).padStart(2, '0')}`
}

export const sampleMonths = (count: number): ReportMonth[] =>
  Array.from({ length: count }, (_, i) => ({ month: monthAt(count - 1 - i), isPartial: i === count - 1 }))

const numbersOf = (i: number, size: number, isPartial: boolean): MonthNumbers => {
  const invoices = Math.round((110 + 25 * wave(i) + i) * size * (isPartial ? 0.7 : 1))
  const salesCents = Math.round(invoices * (48_000 + 3000 * wave(i + 7) + 220 * i))
  const hours = invoices * (2.4 + 0.2 * wave(i + 3))
  return {
    invoices,
    cars: Math.round(invoices * 0.98),
    hours,
    ratedHours: hours * 0.99,
    laborCents: Math.round(hours * (12_400 + 90 * i)),
    salesCents,
    grossProfitCents: Math.round(salesCents * (0.6 + 0.03 * wave(i + 5))),
    salesWithProfitCents: salesCents,
    invoicesWithoutProfit: i % 5 === 0 ? 2 : 0,
    totalCents: Math.round(salesCents * 1.09),
    invoicesWithoutTotal: i % 4 === 0 ? 1 : 0,
    customers: Math.round(invoices * 0.93),
    newCustomers: Math.round(invoices * (0.22 + 0.05 * wave(i + 9))),
  }
}

export const sampleTrust = (lists: number): TrustAnswer => ({
  lists,
  verdicts: { proven: lists - 1, repaired: 1, listed: 0, unproven: 0, none: 0 },
  failing: 0,
  refilling: { lists: 0, begun: 0, read: 0, of: 0 },
  unavailable: 0,
  completeThrough: '2026-11-22T07:55:12.000000Z',
  isStale: false,
  oldest: { tenant: 'Main Street Auto', resource: 'notes' },
  deletesCheckedAt: '2026-11-22T02:30:00.000000Z',
  deletesUnchecked: 0,
  revoked: [],
  incidents: { open: 0, kinds: [] },
  quarantined: 3,
  payments: { orders: 3300, differ: 0, differenceCents: 0 },
  totals: { invoices: 3300, unpaid: 58, unknown: 17, equal: 3219, rounding: 4, more: 2 },
})

export interface SampleShape {
  readonly id: string
  readonly title: string
  readonly shops: number
  readonly months: readonly ReportMonth[]
}

export function sampleScope({ id, title, shops, months }: SampleShape): ReportScope {
  const numbers = months.map(({ isPartial }, i) => numbersOf(i, shops / 3, isPartial))
  const names = ['North Loop', 'Riverside', 'Old Mill Road']
  const shares = Array.from({ length: shops }, (_, i) => 1 / (i + 2))
  const all = shares.reduce((sum, share) => sum + share, 0)
  return {
    id,
    title,
    shops,
    trust: sampleTrust(60),
    behind: 0,
    months: numbers,
    advice: numbers.map(({ invoices }, i) => ({
      approved: Math.round(invoices * 0.34),
      soldLater: Math.round(invoices * 0.08),
      declined: Math.round(invoices * (0.22 + 0.04 * wave(i))),
      undecided: Math.round(invoices * 0.1),
      valueCents: invoices * 21_000,
      withoutValue: 1,
    })),
    cycles: numbers.map(({ invoices }, i) => ({
      bands: [0.42, 0.27, 0.17, 0.1, 0.04].map((share) => Math.round(invoices * share * (1 + 0.1 * wave(i)))),
      unknown: 1,
      late: Math.round(invoices * 0.14),
      due: Math.round(invoices * 0.9),
    })),
    byShop: shares.map((share, i) => ({
      name: names[i] ?? `Shop ${i + 1}`,
      salesCents: numbers.map(({ salesCents }) => Math.round((salesCents * share) / all)),
    })),
    technicians: [
      'Ana Ruiz',
      'Ben Okafor',
      'Chris Lindqvist',
      'Dana Whitehorse-Montgomery',
      'Eli Park',
      'Faye Moreau',
      'Gus Tran',
    ].map((name, i) => ({ name, hours: 168 - 13 * i, usualHours: 160 - 9 * i, invoices: 70 - 6 * i })),
    hoursWithoutTechnician: 3.5,
    costBands: [
      '0 under 5',
      '1 5 to 20',
      '2 20 to 50',
      '3 50 to 100',
      '4 100 to 250',
      '5 250 and more',
      'unknown',
    ].map((band, i) => ({
      band,
      parts: 900 - 120 * i,
      soldCents: 4_000_000 + 900_000 * i,
      costCents: Math.round((4_000_000 + 900_000 * i) * (0.34 + 0.05 * i)),
      marginCents: Math.round((4_000_000 + 900_000 * i) * (0.66 - 0.05 * i)),
      withoutCost: band === 'unknown' ? 12 : 0,
    })),
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
      creditCents: 0,
    })),
    standings: [
      { standing: 'active', customers: 812, salesCents: 92_000_000 },
      { standing: 'lapsing', customers: 301, salesCents: 21_000_000 },
      { standing: 'lost', customers: 190, salesCents: 9_000_000 },
      { standing: 'never', customers: 44, salesCents: 0 },
    ],
    needs: {
      open: { orders: 23, salesCents: 1_284_000 },
      late: { orders: 5, salesCents: 312_000 },
      lateOrders: [4711, 4702, 4699].map((number, i) => ({
        number: String(number),
        shop: names[i] ?? '',
        customer: ['Dana Whitfield', 'Northside Courier LLC', 'A. Romero'][i] ?? '',
        days: 9 - 2 * i,
        cents: 98_000 - 13_000 * i,
      })),
      receivables: {
        ...{ invoices: 32, cents: 1_251_750, unknown: 1 },
        ...{ atLeastCents: 4200, overpaid: 0, creditCents: 0 },
      },
      overdue: {
        ...{ invoices: 11, cents: 339_750, unknown: 0 },
        ...{ atLeastCents: 0, overpaid: 0, creditCents: 0 },
      },
      overdueOrders: [],
      undecided: { count: 38, valueCents: 1_120_000, withoutValue: 2 },
    },
  }
}

export const sampleOperations: OperationsData = {
  madeAt: '2026-11-22T08:15:00.000000Z',
  warehouse: 'sqlite:demo/warehouse.db',
  isEmpty: false,
  incidents: [
    {
      kind: 'deletes_unchecked',
      tenant_id: 101,
      resource: 'notes',
      since: '2026-11-20T08:15:00.000000Z',
      message: 'deletions were checked last 4 days ago',
      advice: 'Type shopsync reconcile',
    },
  ],
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
}

/** A report on so many tenants; scopes of their own where they are at most three. */
export function sampleReport({ tenants = 1, shops = 3, months = 25 } = {}): ReportData {
  const over = sampleMonths(months)
  const ids = Array.from({ length: tenants }, (_, i) => String(101 + i))
  const nameOf = (id: string): string => (id === '101' ? 'Main Street Auto' : `Business ${id}`)
  const all = sampleScope({
    id: tenants === 1 ? '101' : 'all',
    title: tenants === 1 ? nameOf('101') : `All ${tenants} businesses`,
    shops: shops * tenants,
    months: over,
  })
  const single = tenants > 1 && tenants <= 3 ? ids : []
  return {
    madeAt: '2026-11-22T08:15:00.000000Z',
    warehouse: 'sqlite:demo/warehouse.db',
    today: '2026-11-22',
    timeZone: 'UTC',
    months: over,
    lastMonth: months > 1 ? months - 2 : null,
    scopes: [all, ...single.map((id) => sampleScope({ id, title: nameOf(id), shops, months: over }))],
    tenants:
      tenants === 1
        ? []
        : ids.map((id, i) => ({
            id,
            name: nameOf(id),
            trust: sampleTrust(20),
            last: numbersOf(i, 1, false),
            before: numbersOf(i + 1, 1, false),
            late: i % 4,
            overdueCents: 1000 * (i % 50),
          })),
  }
}
