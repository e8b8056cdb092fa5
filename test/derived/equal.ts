import { expect } from 'vitest'
import type { Warehouse } from '../../src/engine/warehouse/warehouse.js'
import { rowsOf } from '../support/warehouse.js'
import { totalsBySql } from './oracle.js'

const nano = 1e9
const billionths = (hours: unknown): number => Math.round(Number(hours) * nano)

/** Expects the table to be what the oracle says, and returns the number of orders. */
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
  return found.length
}
