/*
 * What a reconciliation shows about its cursor's freshness: the records that only it found, because they became visible
 * after every walk that looked for them, and up to when deletions are known.
 */

import { LatenessMeter } from '../../engine/run/lateness.js'
import type { CursorRun } from '../../engine/run/tenant.js'
import { moveCursor } from '../../engine/warehouse/cursors.js'
import { addLateness } from '../../engine/warehouse/latenessrows.js'
import type { Applied, Fetched } from '../../engine/warehouse/versionbatch.js'

export class Latecomers {
  readonly #began: string
  #meter = new LatenessMeter(null)

  constructor(private readonly cursor: CursorRun) {
    this.#began = cursor.now()
  }

  /**
   * `walkedAt`: when the walk started that should have found them; null if vanished rows can't be told from late
   * records.
   */
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
