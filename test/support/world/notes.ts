/** A tenant with uniform notes, which the tests of reconcile fill, lose and look for. */

import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { type Sandbox, template } from '../../../src/sandbox/index.js'
import { type RunOptions, type RunReport, sync } from '../harness/runs.js'
import { rowsOf, type Warehouse } from '../harness/warehouse.js'
import { SkippingClock } from './clocks.js'
import { randomFrom } from './random.js'

export const base = 1_767_225_600_000_000n
/** The instant this many seconds and microseconds after the start of 2026. */
export const at = (seconds: number, micros = 0): string =>
  fromMicros(base + BigInt(seconds) * 1_000_000n + BigInt(micros))

/** `updated_at` of a record of `fill`. */
export const timeOf = (id: number, gap = 7): string => at(id * gap, (id * 7919) % 1_000_000)

export function fill(
  sandbox: Sandbox,
  count: number,
  options: { from?: number; gap?: number; resource?: string; tenantId?: number } = {},
): void {
  const { from = 1, gap = 7, resource = 'notes', tenantId = 1 } = options
  for (let id = from; id < from + count; id++)
    sandbox.store.put(tenantId, resource, template(resource, id, timeOf(id, gap)))
}

/** Whatever a comparison waits for before it asks again takes no time. */
const clock = new SkippingClock()

export const reconcile = (
  sandbox: Sandbox,
  warehouse: Warehouse,
  options: RunOptions = {},
): Promise<RunReport> =>
  sync(sandbox, warehouse, {
    resources: ['notes'],
    random: randomFrom(1),
    clock,
    ...options,
    mode: 'reconcile',
  })

export const only = (report: RunReport, resource = 'notes') =>
  report.cursors.find((cursor) => cursor.resource === resource && cursor.tenant_id === 1)

/** Ids and versions of the live rows of tenant 1. */
export async function live(warehouse: Warehouse, table = 'notes'): Promise<Map<number, string>> {
  const rows = await rowsOf(warehouse, table)
  return new Map(
    rows
      .filter((row) => row.tenant_id === 1 && row._deleted_at === null)
      .map((row) => [Number(row.id), String(row.updated_at)]),
  )
}

export const atSource = (sandbox: Sandbox, resource = 'notes'): number[] =>
  sandbox.store.ids(1, resource).sort((a, b) => a - b)

export async function liveIds(warehouse: Warehouse, table = 'notes'): Promise<number[]> {
  return [...(await live(warehouse, table)).keys()].sort((a, b) => a - b)
}

/** Deletes rows from the warehouse as a person with a database tool would: the program isn't told. */
export async function lose(warehouse: Warehouse, ids: readonly number[], table = 'notes'): Promise<void> {
  if (ids.length === 0) return
  await warehouse.write([
    warehouse.db
      .deleteFrom(table as 'notes')
      .where('tenant_id', '=', 1)
      .where('id', 'in', [...ids])
      .compile(),
  ])
}
