/*
 * Older versions than the warehouse has: a walk meets them if the source was restored from a backup. The guard keeps
 * the newer rows, and the walk reports them, since only reconcile may follow the source.
 */

import type { Int64 } from '../../../schema/resource.js'
import type { Stamps } from '../base/clock.js'
import { plural } from '../base/format.js'
import { fromMicros } from '../base/timestamp.js'
import type { WalkOutcome } from '../list/types.js'
import { judged } from '../list/verdict.js'
import type { Version } from '../warehouse/store/versionbatch.js'
import type { CursorResult } from './cursorwork.js'
import type { Note } from './runreport.js'

export class OlderVersions {
  readonly #ids = new Set<Int64>()

  /** The newest stamp so far: a row that is stored from now on may be newer than a page that was under way meanwhile. */
  readonly #since: string

  constructor(stamps: Stamps) {
    this.#since = fromMicros(stamps.newest)
  }

  take(
    records: readonly { readonly id: Int64; readonly updatedAt: string }[],
    previous: ReadonlyMap<Int64, Version>,
  ): void {
    for (const { id, updatedAt } of records) {
      const stored = previous.get(id)
      if (stored?.deletedAt === null && updatedAt < stored.updatedAt && stored.syncedAt <= this.#since)
        this.#ids.add(id)
    }
  }

  get ids(): ReadonlySet<Int64> {
    return this.#ids
  }

  /**
   * Returns how many there are. `twice`: places where the list shows a record again, perhaps an older version of it.
   */
  tell(note: Note, twice: number): number {
    const records = this.#ids.size
    if (records <= twice) return 0
    note(
      'The source shows older versions than the warehouse has; the warehouse keeps its own. If the source was restored from a backup, type shopsync reconcile: it checks each record by id and follows the source',
      { records },
    )
    return records
  }
}

/**
 * A walk of everything it was asked for that leaves rows different from the source proves nothing about them. A source
 * whose replica lags for a moment also fails such a run; that was judged better than calling rows whole that nobody
 * fixes.
 */
export const sourceRegression = (
  records: number,
  outcome: WalkOutcome,
): Pick<CursorResult, 'outcome' | 'problem'> =>
  records === 0
    ? { outcome }
    : {
        outcome: judged({ ...outcome.evidence, keptNewer: records }, outcome),
        problem: `The source has an older version of ${plural(records, 'record')} than the warehouse; the warehouse keeps its own. Type shopsync reconcile: it checks each record by id and follows the source where it went back`,
      }
