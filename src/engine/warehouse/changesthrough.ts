/*
 * How far a reader of changes can read. Readers that go by the newest `_synced_at` they have seen lose rows: a stamp is
 * when a request began, and a slower list commits later with an earlier one.
 */
import { addMicros, fromMicros } from '../base/timestamp.js'
import type { Reader } from './cursors.js'

/**
 * The instant below which no `_synced_at` will be committed any more: where the stamps of the earliest holder of the
 * lease begin, expired ones too, since they may still be at work; else what is later than every stamp. It never falls: a
 * claim begins above all that is compared here, and a claim without stamps leaves it alone (claim.ts).
 *
 * One statement, because a holder that began between two would have stamps that the second counts as done.
 */
export async function changesThrough(warehouse: Reader): Promise<string> {
  const { begins, ...ends } = await warehouse.read((db) =>
    db
      .selectFrom('sync_lease')
      .select((eb) => [
        eb
          .selectFrom('sync_lease')
          .select((min) => min.fn.min<string | null>('stamps_from').as('at'))
          .where('owner', 'is not', null)
          .as('begins'),
        eb.fn.max<string | null>('stamps_from').as('from'),
        eb.fn.max<string | null>('stamps_until').as('until'),
        eb
          .selectFrom('sync_runs')
          .select((max) => max.fn.max<string | null>('stamped_until').as('at'))
          .as('stamped'),
      ])
      .executeTakeFirstOrThrow(),
  )
  const newest = Object.values(ends)
    .flatMap((end) => end ?? [])
    .sort()
    .at(-1)
  return begins ?? addMicros(newest ?? fromMicros(0n), 1n)
}
