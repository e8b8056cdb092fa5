/* What readers other than ours find in a warehouse: see promise.ts. */

import { breaking } from './breakage.js'
import { mutants } from './promise.js'

const recordnames = breaking(() => import('../../../src/engine/warehouse/recordnames.js'))
const calendar = breaking(() => import('../../../src/features/analytics/calendar.js'))
const viewwords = breaking(() => import('../../../src/features/analytics/viewwords.js'))

export const readers = mutants([
  [
    'other tools can read the warehouse',
    'replaces views before the calendar that they read is filled',
    calendar.function('isOutdatedCalendar', () => async () => false),
    'test/features/analytics/outdatedcalendar.test.ts: the days stay when it ends after',
  ],
  [
    'other tools can read the warehouse',
    'takes names out of JSON when a view is read',
    viewwords.function('viewWords', (sound) => (...given) => ({
      ...sound(...given),
      name: (_, alias) => `(${alias}._extra ->> 'name')`,
    })),
    'test/features/analytics/oldreader.test.ts: reads every table and view whole, with as many rows',
    'sqlite',
  ],
  [
    'other tools can read the warehouse',
    'leaves names as they were when report.names changes',
    recordnames.function('remakeNames', () => async () => 0),
    'test/engine/warehouse/forms.test.ts: names follow the configuration, without a request',
  ],
])
