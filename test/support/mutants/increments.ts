/** Copies by docs/increments.md: one function is broken at a time, and the reader of the law has other rows than the warehouse. */
import { sql } from 'kysely'
import type * as through from '../../../schema/through.js'
import { rootOf } from '../../../src/engine/run/tenant.js'
import type * as tombstone from '../../../src/engine/run/tombstone.js'
import { rootTable } from '../../../src/engine/warehouse/database.js'
import type * as derived from '../../../src/engine/warehouse/derived.js'
import type * as tenants from '../../../src/engine/warehouse/tenants.js'
import { breaking } from './breakage.js'
import { both, type Promised } from './promise.js'

const test = 'test/laws/increments.test.ts'
const rule = breaking<typeof through>('schema/through.ts')
const law = 'a copy ends equal to the warehouse'
const never = 'through never falls, and nothing is stored below it'
const past = '2000-01-01T00:00:00.000000Z'

export const increments: readonly Promised[] = [
  {
    promise: 'copies that are continued lose nothing',
    broken: 'takes the newest stamp for settled',
    breakage: rule.function('through', () => () => '(select max(u.stamps_until) from {sync_lease} u)'),
    test,
    name: never,
    on: both,
  },
  {
    promise: 'copies that are continued lose nothing',
    broken: 'leaves out holders whose lease has expired',
    breakage: rule.function(
      'through',
      (sound) => () =>
        sound().replace(
          'owner is not null',
          `owner is not null and h.expires_at > '2021-01-01T00:00:00.000000Z'`,
        ),
    ),
    test,
    name: never,
    on: both,
  },
  {
    promise: 'copies that are continued lose nothing',
    broken: 'takes no shard for the holder of its tenants',
    breakage: rule.function(
      'through',
      (sound) => (tenantId) => sound(tenantId).replace("|| '/' ||", "|| '|' ||"),
    ),
    test: 'test/laws/changesthrough.test.ts',
    name: 'of a tenant waits for the holder of its shard',
    on: ['postgres'],
  },
  {
    promise: 'copies that are continued lose nothing',
    broken: 'marks rows as deleted without a stamp',
    breakage: breaking<typeof tombstone>('src/engine/run/tombstone.ts').function(
      'markDeleted',
      (sound) => async (warehouse, task, gone) => {
        const marked = await sound(warehouse, task, gone)
        const unstamped = warehouse.db.updateTable(rootTable(rootOf(task.resource))).set({ _synced_at: past })
        await warehouse.write([unstamped.where('_deleted_at', 'is not', null).compile()])
        return marked
      },
    ),
    test,
    name: law,
    on: both,
  },
  {
    promise: 'copies that are continued lose nothing',
    broken: 'computes totals again without a stamp',
    breakage: breaking<typeof derived>('src/engine/warehouse/derived.ts').function(
      'deriveStored',
      (sound) => async (records, ids) => {
        await sound(records, ids)
        const { dialect, session } = records
        const totals = dialect.db.updateTable('repair_order_totals').set({ _synced_at: past })
        await session.run(totals.where(sql<boolean>`1 = 1`).compile())
      },
    ),
    test,
    name: law,
    on: ['sqlite'],
  },
  {
    promise: 'copies that are continued lose nothing',
    broken: 'rewrites rows in place without saying so',
    breakage: breaking<typeof tenants>('src/engine/warehouse/tenants.ts').function(
      'demandRebuild',
      (sound) => (db) => sound(db, [-1]),
    ),
    test,
    name: law,
    on: ['sqlite'],
  },
]
