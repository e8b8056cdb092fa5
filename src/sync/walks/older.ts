/*
 * Older versions than the warehouse has: what a walk of the whole list meets where the source was restored from a
 * backup. The guard keeps the newer rows; freshness.ts says so, since only reconcile may follow the source.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Version } from '../../warehouse/batch.js'
import type { Note } from '../run/report.js'

export class OlderVersions {
  readonly #ids = new Set<Int64>()

  /** `since`: rows that this run has brought may be newer than a page that was under way meanwhile. */
  constructor(private readonly since: string) {}

  take(
    records: readonly { readonly id: Int64; readonly updatedAt: string }[],
    previous: ReadonlyMap<Int64, Version>,
  ): void {
    for (const { id, updatedAt } of records) {
      const stored = previous.get(id)
      if (stored?.deletedAt === null && updatedAt < stored.updatedAt && stored.syncedAt < this.since)
        this.#ids.add(id)
    }
  }

  /** `twice`: places at which the list shows a record again, perhaps as it was. */
  tell(note: Note, twice: number): void {
    const records = this.#ids.size
    if (records <= twice) return
    note(
      'The source shows older versions than the warehouse has, which keeps its own. If the source was restored from a backup, type shopsync reconcile: it asks by id, and follows the source',
      { records },
    )
  }
}
