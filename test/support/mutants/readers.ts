/* What readers other than ours find in a warehouse: see promise.ts. */

import type * as names from '../../../src/engine/warehouse/recordnames.js'
import type * as calendar from '../../../src/features/analytics/calendar.js'
import type * as viewwords from '../../../src/features/analytics/viewwords.js'
import { breaking } from './breakage.js'
import { both, type Promised } from './promise.js'

const promise = 'other tools can read the warehouse'

export const readers: readonly Promised[] = [
  {
    promise,
    broken: 'replaces views before the calendar that they read is filled',
    breakage: breaking<typeof calendar>('src/features/analytics/calendar.ts').function(
      'isOutdatedCalendar',
      () => async () => false,
    ),
    test: 'test/features/analytics/outdatedcalendar.test.ts',
    name: 'the days stay when it ends after',
    on: both,
  },
  {
    promise,
    broken: 'takes names out of JSON when a view is read',
    breakage: breaking<typeof viewwords>('src/features/analytics/viewwords.ts').function(
      'viewWords',
      (sound) =>
        (...given) => ({ ...sound(...given), name: (_, alias) => `(${alias}._extra ->> 'name')` }),
    ),
    test: 'test/features/analytics/oldreader.test.ts',
    name: 'reads every table and view whole, with as many rows',
    on: ['sqlite'],
  },
  {
    promise,
    broken: 'leaves names as they were when report.names changes',
    breakage: breaking<typeof names>('src/engine/warehouse/recordnames.ts').function(
      'remakeNames',
      () => async () => 0,
    ),
    test: 'test/engine/warehouse/trackedcolumns.test.ts',
    name: 'names follow the configuration, without a request',
    on: both,
  },
]
