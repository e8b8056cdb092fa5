/** Law 7: an unknown field loses no data, and is reported once. */
import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import { fromMicros } from '../../../../src/engine/base/timestamp.js'
import { createSandbox, type Sandbox, template } from '../../../../src/sandbox/index.js'
import type { Address } from '../../harness/place.js'
import { known, syncInOrder } from '../../harness/runs.js'
import { openWarehouse, type Warehouse } from '../../harness/warehouse.js'
import { rowsOf } from '../../oracle/rows.js'
import { wipe } from '../through.js'
import { type Law, warehouseAt } from './law.js'

export interface DriftCase {
  /** The unknown fields of each note, run by run. */
  readonly runs: readonly (readonly Readonly<Record<string, unknown>>[])[]
}

const value = fc.oneof(
  fc.constantFrom('', 'blue', 7, 1.5, true),
  fc.record({ level: fc.integer() }, { noNullPrototype: true }),
)
const fields = fc.dictionary(fc.constantFrom('mood', 'colour', 'warranty'), value, {
  maxKeys: 2,
  noNullPrototype: true,
})

export const cases: Readonly<Record<'any', fc.Arbitrary<DriftCase>>> = {
  any: fc.record({
    runs: fc.array(fc.array(fields, { minLength: 1, maxLength: 5 }), { minLength: 1, maxLength: 3 }),
  }),
}

const base = 1_767_225_600_000_000n

class Drift implements Law<DriftCase> {
  constructor(
    private readonly warehouse: Warehouse,
    private readonly address: Address,
    private readonly sandbox: Sandbox,
  ) {}

  async play({ runs }: DriftCase): Promise<void> {
    const { sandbox, warehouse } = this
    await wipe(warehouse)
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    const notices: [string, Record<string, unknown>][] = []
    const extras = new Map<number, unknown>()
    for (const [run, notes] of runs.entries()) {
      for (const [i, unknown] of notes.entries()) {
        const time = fromMicros(base + BigInt(run * 100 + i) * 1_000_000n)
        sandbox.store.put(1, 'notes', { ...template('notes', i + 1, time), ...unknown })
        extras.set(i + 1, Object.keys(unknown).length === 0 ? null : unknown)
      }
      // Its own warehouse, like each process: what it has recorded once, it doesn't record again.
      const own = await openWarehouse({ ...this.address, model: known })
      const report = await syncInOrder(sandbox, own, { resources: ['notes'], notices }).finally(() =>
        own.close(),
      )
      if (report.status !== 'ok') throw new Error(`Law 7: the run says ${JSON.stringify(report.cursors)}`)
    }
    const rows = await rowsOf(warehouse, 'notes')
    const kept = new Map(rows.map((row) => [Number(row.id), row._extra]))
    deepStrictEqual(kept, extras, 'Law 7: data of an unknown field are lost')
    const names = [...new Set(runs.flat().flatMap((unknown) => Object.keys(unknown)))].sort()
    const recorded = (await rowsOf(warehouse, 'sync_drift')).map(({ path }) => path)
    deepStrictEqual(recorded.sort(), names, 'Law 7: an unknown field is not recorded once')
    for (const name of names) {
      const told = notices.filter(([, { found }]) => String(found).includes(name)).length
      if (told !== 1) throw new Error(`Law 7: the unknown field ${name} is told ${told} times`)
    }
  }

  async close(): Promise<void> {
    await this.warehouse.close()
    await this.sandbox.close()
  }
}

export async function open([address]: readonly Address[]): Promise<Law<DriftCase>> {
  if (!address) throw new Error('The law of drift needs a warehouse')
  return new Drift(await warehouseAt([address]), address, await createSandbox({ data: 'none' }))
}
