import { expect } from 'vitest'
import { rowsOf, type Warehouse } from '../support/harness/warehouse.js'
import { netsBySql, servicesBySql, totalsBySql } from './oracle.js'

const nano = 1e9
const billionths = (hours: unknown): number => Math.round(Number(hours) * nano)

/** The stored values of each line, in the oracle's form. */
async function storedNets(warehouse: Warehouse): Promise<Record<string, unknown>[]> {
  const kinds = ['hazmat', 'labor', 'part', 'sublet'] as const
  const all = await Promise.all(
    kinds.map(async (kind) => {
      const rows = await rowsOf(warehouse, `repair_order_${kind}s`)
      return rows.map((row) => ({
        tenant_id: row.tenant_id,
        repair_order_id: row.repair_order_id,
        kind,
        line_id: row.id,
        _amount_cents: row._amount_cents,
        _discount_cents: row._discount_cents,
        _tax_cents: row._tax_cents,
        _cost_cents: row._cost_cents,
      }))
    }),
  )
  const order = (row: Record<string, unknown>): number[] => [
    Number(row.tenant_id),
    Number(row.repair_order_id),
    kinds.indexOf(row.kind as 'labor'),
    Number(row.line_id),
  ]
  return all.flat().sort((a, b) => {
    const [first, second] = [order(a), order(b)]
    return first.map((n, i) => n - (second[i] ?? 0)).find((n) => n !== 0) ?? 0
  })
}

/** Expects the stored values of each service to match the oracle. */
export async function expectServices(warehouse: Warehouse): Promise<void> {
  const expected = await servicesBySql(warehouse)
  const rows = await rowsOf(warehouse, 'repair_order_services')
  const names = Object.keys(expected[0] ?? {})
  const found = rows.map((row) => Object.fromEntries(names.map((name) => [name, row[name]])))
  const place = (row: Record<string, unknown>): string => `${row.tenant_id}-${row.repair_order_id}-${row.id}`
  const byPlace = (all: readonly Record<string, unknown>[]) =>
    Object.fromEntries(all.map((row) => [place(row), row]))
  expect(byPlace(found)).toEqual(byPlace(expected))
}

/**
 * Expects the table, the nets of lines and the sums of services to match the oracle, and returns the number of orders.
 */
export async function expectOracle(warehouse: Warehouse): Promise<number> {
  const expected = await totalsBySql(warehouse)
  const rows = await rowsOf(warehouse, 'repair_order_totals')
  const found = rows.map(({ labor_hours, rated_labor_hours, ...row }) => {
    const all: Record<string, unknown> = {
      ...row,
      hours: billionths(labor_hours),
      rated: billionths(rated_labor_hours),
    }
    return Object.fromEntries(Object.keys(expected[0] ?? {}).map((name) => [name, all[name]]))
  })
  expect(found).toEqual(expected)
  expect(await storedNets(warehouse)).toEqual(await netsBySql(warehouse))
  await expectServices(warehouse)
  return found.length
}
