/** What is kept of records that left their list, and of those that it shows: one function is broken at a time. */

import { breaking } from './breakage.js'
import { mutants } from './promise.js'

export const unlisted = mutants({
  'every record that exists is listed': {
    'test/features/reconcile/leftthelist.test.ts: unproven the first time, repaired on another day': {
      'takes archived records for a list that keeps moving': () =>
        breaking('features/reconcile/leftthelist', 'daily').LeftRecords.among(async () => []),
    },
    'test/features/reconcile/leftthelist.test.ts: a change of such a record arrives with reconcile': {
      'never sees an archived record change': () =>
        breaking('features/reconcile/leftthelist', 'daily').LeftRecords.askAgain(async () => undefined),
    },
    'test/features/reconcile/leftthelist.test.ts: confirms it at once, and for good': {
      'forgets that a person has confirmed it': () =>
        breaking('features/reconcile/leftthelist', 'daily').leftStanding((sound, versions, _before, when) =>
          sound(versions, undefined, { ...when, isSearch: false }),
        ),
    },
    'test/features/reconcile/leftthelist.test.ts: being listed again ends it': {
      'keeps the mark of a record that the list shows again': () =>
        breaking('engine/warehouse/unlisted', 'daily').clearUnlisted(() => []),
    },
    'test/features/analytics/unlisted.test.ts: a change makes the views again': {
      'shows archived records in views that leave them out': () =>
        breaking('features/analytics/viewwords').withTables((sound, text, sql) =>
          sound(text, sql, { unlisted: 'keep' }),
        ),
    },
  },
  'what is listed is live here': {
    'test/features/reconcile/shownislive.test.ts: the next walk stores what the source shows': {
      'lets rows and deletion marks from the future stand': () =>
        breaking('engine/warehouse/voidstamps', 'daily').storedVersions(
          async (_sound, _db, root, session, { page, tenantId }) => ({
            versions: await session.versions(
              root,
              tenantId,
              page.records.map(({ id }) => id),
            ),
            lowered: 0,
          }),
        ),
    },
    'test/features/reconcile/shownislive.test.ts: so does reconcile, which also marks those that are gone': {
      'never marks a row from the future whose record is gone': () =>
        breaking('engine/warehouse/voidstamps', 'daily').lowerVoidStamps((sound, db, root, rows) =>
          sound(db, root, { ...rows, tenantId: -1 }),
        ),
    },
    'test/features/reconcile/shownislive.test.ts: a list of names goes by what it shows': {
      'believes every stamp': () =>
        breaking('engine/warehouse/voidstamps', 'daily').stampsEnd((sound, eb) =>
          sound(eb).where('name', '=', 'nobody'),
        ),
    },
    'test/features/reconcile/shownislive.test.ts: that is marked while the list is read': {
      "doesn't compare what a list showed with the live rows": () =>
        breaking('features/reconcile/deciding', 'daily').Deciding.revive(async () => 0),
    },
  },
})
