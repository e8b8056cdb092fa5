/* What readers other than ours find in a warehouse: see promise.ts. */

import { breaking } from './breakage.js'
import { mutants } from './promise.js'

export const readers = mutants({
  'other tools can read the warehouse': {
    'test/features/analytics/outdatedcalendar.test.ts: the days stay when it ends after': {
      'replaces views before the calendar that they read is filled': () =>
        breaking('features/analytics/calendar').isOutdatedCalendar(async () => false),
    },
    'test/features/analytics/oldreader.test.ts: reads every table and view whole, with as many rows': {
      'takes names out of JSON when a view is read': () =>
        breaking('features/analytics/viewwords', 'sqlite').viewWords((sound, ...given) => ({
          ...sound(...given),
          name: (_, alias) => `(${alias}._extra ->> 'name')`,
        })),
    },
    'test/engine/warehouse/forms.test.ts: names follow the configuration, without a request': {
      'leaves names as they were when report.names changes': () =>
        breaking('engine/warehouse/recordnames').remakeNames(async () => 0),
    },
  },
})
