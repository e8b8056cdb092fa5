/** What is kept of records that left their list, and of those that it shows: one function is broken at a time. */

import { breaking } from './breakage.js'
import { mutants } from './promise.js'

const unlistedFile = breaking(() => import('../../../src/engine/warehouse/unlisted.js'))
const voidstamps = breaking(() => import('../../../src/engine/warehouse/voidstamps.js'))
const viewwords = breaking(() => import('../../../src/features/analytics/viewwords.js'))
const deciding = breaking(() => import('../../../src/features/reconcile/deciding.js'))
const leftthelist = breaking(() => import('../../../src/features/reconcile/leftthelist.js'))

export const unlisted = mutants([
  [
    'every record that exists is listed',
    'takes archived records for a list that keeps moving',
    leftthelist.method('LeftRecords', 'among', () => async () => []),
    'test/features/reconcile/leftthelist.test.ts: unproven the first time, repaired on another day',
    'daily',
  ],
  [
    'every record that exists is listed',
    'never sees an archived record change',
    leftthelist.method('LeftRecords', 'askAgain', () => async () => undefined),
    'test/features/reconcile/leftthelist.test.ts: a change of such a record arrives with reconcile',
    'daily',
  ],
  [
    'every record that exists is listed',
    'forgets that a person has confirmed it',
    leftthelist.function(
      'leftStanding',
      (sound) => (versions, _before, when) => sound(versions, undefined, { ...when, isSearch: false }),
    ),
    'test/features/reconcile/leftthelist.test.ts: confirms it at once, and for good',
    'daily',
  ],
  [
    'every record that exists is listed',
    'keeps the mark of a record that the list shows again',
    unlistedFile.function('clearUnlisted', () => () => []),
    'test/features/reconcile/leftthelist.test.ts: being listed again ends it',
    'daily',
  ],
  [
    'every record that exists is listed',
    'shows archived records in views that leave them out',
    viewwords.function('withTables', (sound) => (text, sql) => sound(text, sql, { unlisted: 'keep' })),
    'test/features/analytics/unlisted.test.ts: a change of the setting makes the views again',
  ],
  [
    'what is listed is live here',
    'lets rows and deletion marks from the future stand',
    voidstamps.function('storedVersions', () => async (_db, root, session, { page, tenantId }) => ({
      versions: await session.versions(
        root,
        tenantId,
        page.records.map(({ id }) => id),
      ),
      lowered: 0,
    })),
    'test/features/reconcile/shownislive.test.ts: stores what the source shows',
    'daily',
  ],
  [
    'what is listed is live here',
    'never marks a row from the future whose record is gone',
    voidstamps.function(
      'lowerVoidStamps',
      (sound) => (db, root, rows) => sound(db, root, { ...rows, tenantId: -1 }),
    ),
    'test/features/reconcile/shownislive.test.ts: so does reconcile, which also marks those that are gone',
    'daily',
  ],
  [
    'what is listed is live here',
    'believes every stamp',
    voidstamps.function('stampsEnd', (sound) => (eb) => sound(eb).where('name', '=', 'nobody')),
    'test/features/reconcile/shownislive.test.ts: a list of names goes by what it shows',
    'daily',
  ],
  [
    'what is listed is live here',
    "doesn't compare what a list showed with the live rows",
    deciding.method('Deciding', 'revive', () => async () => 0),
    'test/features/reconcile/shownislive.test.ts: that is marked while the list is read',
    'daily',
  ],
])
