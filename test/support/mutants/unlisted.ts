/** What is kept of records that left their list, and of those that it shows: one function is broken at a time. */

import type * as rows from '../../../src/engine/warehouse/unlisted.js'
import type * as voidstamps from '../../../src/engine/warehouse/voidstamps.js'
import type * as viewwords from '../../../src/features/analytics/viewwords.js'
import type * as deciding from '../../../src/features/reconcile/deciding.js'
import type * as left from '../../../src/features/reconcile/leftthelist.js'
import { breaking } from './breakage.js'
import { both, type Promised } from './promise.js'

const leftTest = 'test/features/reconcile/leftthelist.test.ts'
const shownTest = 'test/features/reconcile/shownislive.test.ts'
const promise = 'every record that exists is listed'

export const unlisted: readonly Promised[] = [
  {
    promise,
    broken: 'takes archived records for a list that keeps moving',
    breakage: breaking<typeof left>('src/features/reconcile/leftthelist.ts').method(
      'LeftRecords',
      'among',
      () => async () => [],
    ),
    test: leftTest,
    name: 'unproven the first time, repaired on another day',
    on: both,
  },
  {
    promise,
    broken: 'never sees an archived record change',
    breakage: breaking<typeof left>('src/features/reconcile/leftthelist.ts').method(
      'LeftRecords',
      'askAgain',
      () => async () => undefined,
    ),
    test: leftTest,
    name: 'a change of such a record arrives with reconcile',
    on: both,
  },
  {
    promise,
    broken: 'forgets that a person has confirmed it',
    breakage: breaking<typeof left>('src/features/reconcile/leftthelist.ts').function(
      'leftStanding',
      (sound) => (versions, _before, when) => sound(versions, undefined, { ...when, isSearch: false }),
    ),
    test: leftTest,
    name: 'confirms it at once, and for good',
    on: both,
  },
  {
    promise,
    broken: 'keeps the mark of a record that the list shows again',
    breakage: breaking<typeof rows>('src/engine/warehouse/unlisted.ts').function(
      'clearUnlisted',
      () => () => [],
    ),
    test: leftTest,
    name: 'being listed again ends it',
    on: both,
  },
  {
    promise,
    broken: 'shows archived records in views that leave them out',
    breakage: breaking<typeof viewwords>('src/features/analytics/viewwords.ts').function(
      'withTables',
      (sound) => (text, sql) => sound(text, sql, { unlisted: 'keep' }),
    ),
    test: 'test/features/analytics/unlisted.test.ts',
    name: 'a change of the setting makes the views again',
    on: both,
  },
  {
    promise: 'what is listed is live here',
    broken: 'lets rows and deletion marks from the future stand',
    breakage: breaking<typeof voidstamps>('src/engine/warehouse/voidstamps.ts').function(
      'storedVersions',
      () =>
        async (_db, root, session, { page, tenantId }) => ({
          versions: await session.versions(
            root,
            tenantId,
            page.records.map(({ id }) => id),
          ),
          lowered: 0,
        }),
    ),
    test: shownTest,
    name: 'the next walk stores what the source shows',
    on: both,
  },
  {
    promise: 'what is listed is live here',
    broken: 'never marks a row from the future whose record is gone',
    breakage: breaking<typeof voidstamps>('src/engine/warehouse/voidstamps.ts').function(
      'lowerVoidStamps',
      (sound) => (db, root, rows) => sound(db, root, { ...rows, tenantId: -1 }),
    ),
    test: shownTest,
    name: 'so does reconcile, which also marks those that are gone',
    on: both,
  },
  {
    promise: 'what is listed is live here',
    broken: 'believes every stamp',
    breakage: breaking<typeof voidstamps>('src/engine/warehouse/voidstamps.ts').function(
      'stampsEnd',
      (sound) => (eb) => sound(eb).where('name', '=', 'nobody'),
    ),
    test: shownTest,
    name: 'a list of names goes by what it shows',
    on: both,
  },
  {
    promise: 'what is listed is live here',
    broken: "doesn't compare what a list showed with the live rows",
    breakage: breaking<typeof deciding>('src/features/reconcile/deciding.ts').method(
      'Deciding',
      'revive',
      () => async () => 0,
    ),
    test: shownTest,
    name: 'that is marked while the list is read',
    on: both,
  },
]
