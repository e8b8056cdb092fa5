/** Copies by docs/increments.md: one function is broken at a time, and the reader of the law has other rows than the warehouse. */
import { sql } from 'kysely'
import { rootOf } from '../../../src/engine/run/tenant.js'
import { rootTable } from '../../../src/engine/warehouse/database.js'
import { breaking } from './breakage.js'
import { mutants } from './promise.js'

const past = '2000-01-01T00:00:00.000000Z'

export const increments = mutants({
  'copies that are continued lose nothing': {
    'test/laws/changesthrough.test.ts: never falls, and nothing is stamped below it': {
      'takes the newest stamp for settled': () =>
        breaking('schema/through').through(() => '(select max(u.stamps_until) from {sync_lease} u)'),
    },
    'test/laws/changesthrough.test.ts: of a tenant waits for the holder of its shard': {
      'leaves out holders whose lease has expired': () =>
        breaking('schema/through').through((sound, tenantId) =>
          sound(tenantId).replace(
            'owner is not null',
            `owner is not null and h.expires_at > '2021-01-01T00:00:00.000000Z'`,
          ),
        ),
      'takes no shard for the holder of its tenants': () =>
        breaking('schema/through', 'postgres').through((sound, tenantId) =>
          sound(tenantId).replace("|| '/' ||", "|| '|' ||"),
        ),
    },
    'test/laws/increments.test.ts: a copy ends equal to the warehouse': {
      'marks rows as deleted without a stamp': () =>
        breaking('engine/run/tombstone').markDeleted(async (sound, warehouse, task, gone) => {
          const marked = await sound(warehouse, task, gone)
          const unstamped = warehouse.db
            .updateTable(rootTable(rootOf(task.resource)))
            .set({ _synced_at: past })
          await warehouse.write([unstamped.where('_deleted_at', 'is not', null).compile()])
          return marked
        }),
      'computes totals again without a stamp': () =>
        breaking('engine/warehouse/derived', 'sqlite').deriveStored(async (sound, records, ids) => {
          await sound(records, ids)
          const { dialect, session } = records
          const totals = dialect.db.updateTable('repair_order_totals').set({ _synced_at: past })
          await session.run(totals.where(sql<boolean>`1 = 1`).compile())
        }),
      'rewrites rows in place without saying so': () =>
        breaking('engine/warehouse/tenants', 'sqlite').demandRebuild((sound, db) => sound(db, [-1])),
    },
  },
})
