/* What readers other than ours find in a warehouse: see promise.ts. */

import type * as calendar from '../../../src/features/analytics/calendar.js'
import { breaking } from '../breakage.js'
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
    test: 'test/features/analytics/formerstretches.test.ts',
    name: 'the days stay when it ends after',
    on: both,
  },
]
