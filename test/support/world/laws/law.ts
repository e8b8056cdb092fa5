/**
 * A law of the design, as cases are played against it (test/laws, `sh tools/pins.sh`). A case is plain JSON: events and
 * pages, so that one which has revealed a fault can be stored. Nothing here uses vitest: a law is loaded from a copy of
 * the program with a fault in it, and played there.
 */
import type fc from 'fast-check'
import type { Address } from '../../harness/place.js'
import { known } from '../../harness/runs.js'
import { migrate, openWarehouse, type Warehouse } from '../../harness/warehouse.js'

export interface Law<Case> {
  /** Throws if the law is broken. */
  play(one: Case): Promise<void>
  close(): Promise<void>
}

/** The exports of a file in this folder. */
export interface LawFile<Case = unknown> {
  /** Every law is opened on one warehouse; the law of the dialects, on one of each kind. */
  readonly open: (addresses: readonly Address[]) => Promise<Law<Case>>
  /** By name: where `sh tools/pins.sh` and `npm run test:apart -- search` search for a case. */
  readonly cases: Readonly<Record<string, fc.Arbitrary<Case>>>
}

export async function warehouseAt(addresses: readonly Address[], at = 0): Promise<Warehouse> {
  const address = addresses[at]
  if (!address) throw new Error(`The law is played on ${at + 1} warehouses, found ${addresses.length}`)
  const warehouse = await openWarehouse({ ...address, model: known, retryWaits: [0, 5, 20, 50] })
  await migrate(warehouse)
  return warehouse
}
