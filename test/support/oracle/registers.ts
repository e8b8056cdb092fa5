import { deepStrictEqual, ok } from 'node:assert/strict'
import type { Writer } from '../../../src/engine/warehouse/warehouse.js'
import { rowsOf } from './rows.js'

/** Every register that is kept matches the live rows; `least`: how many have to be kept. */
export async function registersAgree(warehouse: Writer, least = 0): Promise<void> {
  const kept = (await rowsOf(warehouse, 'sync_registers')).filter((row) => row.live_rows !== null)
  ok(kept.length >= least, `${kept.length} registers are kept, expected ${least}`)
  for (const { tenant_id, resource, live_rows } of kept) {
    const rows = (await rowsOf(warehouse, String(resource))).filter(
      (row) => row.tenant_id === tenant_id && row._deleted_at === null,
    )
    deepStrictEqual(Number(live_rows), rows.length, `the register of ${resource}`)
  }
}
