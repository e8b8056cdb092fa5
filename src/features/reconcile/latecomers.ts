/*
 * What a reconciliation tells of how fresh its cursor is: the records that it alone brought, which became visible later
 * than any walk looked for them, and up to when deletions are known.
 */

import { LatenessMeter } from '../../engine/run/lateness.js'
import type { Fetched } from '../../engine/run/store.js'
import type { CursorRun } from '../../engine/run/tenant.js'
import { moveCursor } from '../../engine/warehouse/cursors.js'
import { addLateness } from '../../engine/warehouse/latenessrows.js'
import type { Applied } from '../../engine/warehouse/versionbatch.js'

export class Latecomers {
  readonly #began: string
  #meter = new LatenessMeter(null)

  constructor(private readonly cursor: CursorRun) {
    this.#began = cursor.now()
  }

  /** `walkedAt`: when the walk began that should have found them; null where rows that vanished look like late records. */
  measureFrom(walkedAt: string | null): void {
    const { resource, stats } = this.cursor
    const tell = (micros: number): void => stats.late(resource.name, micros)
    this.#meter = new LatenessMeter(walkedAt, { lateOnly: true, tell })
  }

  take({ flattened }: Fetched, { previous }: Pick<Applied, 'previous'>): void {
    this.#meter.take(flattened.records, previous)
  }

  async keep(isEven: boolean): Promise<void> {
    const { key, warehouse } = this.cursor
    const { db } = warehouse
    const day = this.#began.slice(0, 10)
    const added = addLateness(db, { resource: key.resource, day, way: 'reconcile' }, this.#meter.buckets)
    const checked = isEven ? [moveCursor(db, key, { deletes_checked_at: this.#began })] : []
    if (added.length + checked.length > 0) await warehouse.write([...added, ...checked])
  }
}
