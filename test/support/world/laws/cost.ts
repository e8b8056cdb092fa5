/**
 * Law 8: an idle cursor costs one request; n changed records cost ceil(n/100), and at most two more. A first load of
 * exactly 30 or 50 records may cost one more: servers often serve that many at most.
 */
import fc from 'fast-check'
import { fromMicros } from '../../../../src/engine/base/timestamp.js'
import { usualLimits } from '../../../../src/engine/list/pagesize.js'
import { createSandbox, type Sandbox, template } from '../../../../src/sandbox/index.js'
import type { Address } from '../../harness/place.js'
import { syncInOrder } from '../../harness/runs.js'
import type { Warehouse } from '../../harness/warehouse.js'
import { wipe } from '../through.js'
import { type Law, warehouseAt } from './law.js'

export interface CostCase {
  readonly records: number
  /** What changes before each run except the first. */
  readonly changed: readonly number[]
}

export const cases: Readonly<Record<'any', fc.Arbitrary<CostCase>>> = {
  any: fc.record({
    records: fc.oneof(
      { weight: 9, arbitrary: fc.integer({ min: 1, max: 400 }) },
      { weight: 1, arbitrary: fc.constantFrom(...usualLimits) },
    ),
    changed: fc.array(fc.constantFrom(0, 1, 3, 99, 100, 101, 250), { minLength: 1, maxLength: 3 }),
  }),
}

const base = 1_767_225_600_000_000n
const at = (n: number): string => fromMicros(base + BigInt(n) * 1_000_000n)

class Cost implements Law<CostCase> {
  constructor(
    private readonly warehouse: Warehouse,
    private readonly sandbox: Sandbox,
  ) {}

  async play({ records, changed }: CostCase): Promise<void> {
    const { sandbox, warehouse } = this
    await wipe(warehouse)
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    for (let id = 1; id <= records; id++) sandbox.store.put(1, 'notes', template('notes', id, at(id)))
    for (const [run, n] of [records, ...changed].entries()) {
      const many = Math.min(n, records)
      for (let id = 1; run > 0 && id <= many; id++)
        sandbox.store.put(1, 'notes', template('notes', id, at(run * 100_000 + id)))
      sandbox.resetRequests()
      await syncInOrder(sandbox, warehouse, { resources: ['notes'], overlapMs: 0 })
      const asked = sandbox.requests.filter(({ resource }) => resource === 'notes').length
      const pages = Math.max(1, Math.ceil(many / 100))
      // A full page isn't the end: the next one is requested. The record at the watermark may be shown again.
      const isFull = [many, many + 1].some((shown) => shown > 1 && shown % 100 === 0)
      const isDoubtful = run === 0 && usualLimits.has(many)
      // Several pages take two more to close the books.
      const whole = pages + (isFull ? 1 : 0)
      const most = whole > 1 ? whole + 2 : whole + (isDoubtful ? 1 : 0)
      if (asked < pages || asked > most)
        throw new Error(`Law 8: ${many} records cost ${asked} requests, expected ${pages} to ${most}`)
    }
  }

  async close(): Promise<void> {
    await this.warehouse.close()
    await this.sandbox.close()
  }
}

export const open = async (addresses: readonly Address[]): Promise<Law<CostCase>> =>
  new Cost(await warehouseAt(addresses), await createSandbox({ data: 'none' }))
