/** Law 5: at every commit, every record at or before a committed watermark is in the warehouse. */
import fc from 'fast-check'
import { fromMicros } from '../../../../src/engine/base/timestamp.js'
import { createSandbox, type Sandbox, template } from '../../../../src/sandbox/index.js'
import type { Address } from '../../harness/place.js'
import { syncInOrder } from '../../harness/runs.js'
import type { Warehouse } from '../../harness/warehouse.js'
import { interposed } from '../interposed.js'
import { wipe } from '../through.js'
import { type Law, warehouseAt } from './law.js'

/** Before the `at`-th request for the list, a record is created or changed. */
export interface WatermarkStep {
  readonly at: number
  readonly kind: 'create' | 'change'
  readonly id: number
}

export interface WatermarkCase {
  readonly records: number
  readonly runs: number
  readonly steps: readonly WatermarkStep[]
}

const base = 1_767_225_600_000_000n
const at = (n: number): string => fromMicros(base + BigInt(n) * 1_000_000n)

const step: fc.Arbitrary<WatermarkStep> = fc.oneof(
  fc.record({
    at: fc.integer({ min: 1, max: 12 }),
    kind: fc.constant('create' as const),
    id: fc.integer({ min: 1000, max: 1100 }),
  }),
  fc.record({
    at: fc.integer({ min: 1, max: 12 }),
    kind: fc.constant('change' as const),
    id: fc.integer({ min: 1, max: 350 }),
  }),
)

export const cases: Readonly<Record<'any', fc.Arbitrary<WatermarkCase>>> = {
  any: fc.record({
    records: fc.integer({ min: 1, max: 35 }),
    runs: fc.integer({ min: 1, max: 3 }),
    steps: fc.array(step, { maxLength: 12 }),
  }),
}

class Watermark implements Law<WatermarkCase> {
  /** How many page commits were checked. */
  commits = 0

  constructor(
    private readonly warehouse: Warehouse,
    private readonly sandbox: Sandbox,
  ) {}

  async play({ records, runs, steps }: WatermarkCase): Promise<void> {
    const { sandbox } = this
    await wipe(this.warehouse)
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    for (let id = 1; id <= records; id++) sandbox.store.put(1, 'notes', template('notes', id, at(id)))
    let requests = 0
    const stop = sandbox.onRequest(({ resource }) => {
      if (resource !== 'notes') return
      requests++
      for (const one of steps) if (one.at === requests) this.#step(one)
    })
    try {
      for (let run = 0; run < runs; run++)
        await syncInOrder(sandbox, this.#watched(), { resources: ['notes'], pageSizes: [10, 9, 8] })
    } finally {
      stop()
    }
  }

  #step({ kind, id }: WatermarkStep): void {
    const { store } = this.sandbox
    // Stamped like a change: a record with an older stamp would come late, which isn't part of this law.
    if (kind === 'create')
      store.put(1, 'notes', template('notes', id, fromMicros(BigInt(Date.now()) * 1000n)))
    else if (store.stored(1, 'notes', id)) store.change(1, 'notes', id, { description: 'changed' })
  }

  /** Checks after every commit of a page. */
  #watched(): Warehouse {
    return interposed(this.warehouse, {
      apply: (sound) => async (batch) => {
        const applied = await sound(batch)
        await this.#look()
        return applied
      },
    })
  }

  async #look(): Promise<void> {
    this.commits++
    const { db } = this.warehouse
    const cursor = await db.selectFrom('sync_cursors').select('watermark').executeTakeFirst()
    const watermark = cursor?.watermark ?? ''
    const rows = await db.selectFrom('notes').select(['id', 'updated_at']).execute()
    const stored = new Map(rows.map((row) => [Number(row.id), row.updated_at]))
    const passed = this.sandbox.store
      .all(1, 'notes')
      .filter((record) => String(record.updated_at) <= watermark)
      .filter((record) => (stored.get(Number(record.id)) ?? '') < String(record.updated_at))
    if (passed.length > 0)
      throw new Error(
        `Law 5: ${passed.length} records lie before the watermark ${watermark} and are not here`,
      )
  }

  async close(): Promise<void> {
    await this.warehouse.close()
    await this.sandbox.close()
  }
}

export const open = async (addresses: readonly Address[]): Promise<Watermark> =>
  new Watermark(await warehouseAt(addresses), await createSandbox({ data: 'none' }))
