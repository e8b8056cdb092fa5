import { deepStrictEqual, ok } from 'node:assert/strict'
import type { Int64 } from '../../../schema/resource.js'
import { digest, Sketch } from '../../../src/engine/warehouse/store/sketch.js'
import type { Writer } from '../../../src/engine/warehouse/warehouse.js'
import { rowsOf } from './rows.js'

/** Every register that is kept matches the live rows; `least`: how many have to be kept. */
export async function registersAgree(warehouse: Writer, least = 0): Promise<void> {
  const kept = (await rowsOf(warehouse, 'sync_registers')).filter((row) => row.live_rows !== null)
  ok(kept.length >= least, `${kept.length} registers are kept, expected ${least}`)
  for (const { tenant_id, resource, live_rows, sketch } of kept) {
    const rows = (await rowsOf(warehouse, String(resource))).filter(
      (row) => row.tenant_id === tenant_id && row._deleted_at === null,
    )
    const whole = new Sketch()
    for (const row of rows) whole.add({ id: row.id as Int64, version: digest(String(row.updated_at)) })
    deepStrictEqual(Number(live_rows), rows.length, `the register of ${resource}`)
    ok(Sketch.decode(sketch as string | null).equals(whole), `the sketch of ${resource}`)
  }
}
