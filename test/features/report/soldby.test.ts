/** By what the columns of sales are divided: shops while their colors can be told apart, then businesses, then nothing. */
import { expect, it } from 'vitest'
import { soldBy } from '../../../src/features/report/read/fold.js'
import type { FigureRows } from '../../../src/features/report/read/gather.js'
import { amounts } from './sample.js'

function dividedBy(tenants: number, shopsEach: number) {
  const all = Array.from({ length: tenants * shopsEach }, (_, i) => {
    const tenant = 101 + (i % tenants)
    return { tenant, key: `${tenant}-${i}` }
  })
  const months = all.map(({ tenant, key }, i) => ({
    keys: { tenant_id: String(tenant), shop_key: key, month: '2026-10' },
    values: amounts({ sales_cents: 1000 + i }),
  }))
  const shops = all.map(({ tenant, key }) => ({
    ...{ tenant_id: tenant, tenant_name: `Business ${tenant}`, shop_key: key, shop_name: key },
    ...{ time_zone: 'UTC', first_day: '2026-01-01' },
  }))
  const rows: FigureRows = {
    ...{ months, distinctMonths: [], periods: [], day: null, pace: [], open: [], receivables: [] },
  }
  const { of, lines } = soldBy(
    rows,
    [{ month: '2026-10', isPartial: false }],
    { part: {}, shops },
    { shopName: String, businessName: (id) => `Business ${id}` },
  )
  const sum = lines.reduce((cents, line) => cents + (line.salesCents[0] ?? 0), 0)
  const whole = months.reduce((cents, { values }) => cents + (values.get('sales_cents')?.numerator ?? 0), 0)
  return { of, lines: lines.length, isWhole: sum === whole, first: lines[0]?.name }
}

it.each([
  ['eight shops', 2, 4, { of: 'shop', lines: 8, isWhole: true, first: '102-7' }],
  [
    'nine shops of three businesses',
    3,
    3,
    { of: 'business', lines: 3, isWhole: true, first: 'Business 103' },
  ],
  ['84 shops of four businesses', 4, 21, { of: 'business', lines: 4, isWhole: true }],
  ['nine shops of one business', 1, 9, { lines: 0 }],
  ['forty businesses', 40, 2, { lines: 0 }],
])('%s', (_, tenants, shopsEach, expected) => {
  expect(dividedBy(tenants, shopsEach)).toMatchObject(expected)
})
