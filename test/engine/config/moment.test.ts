/** The stories of moment.txt: moments as people type them, at 12:00:00.0005 on June 15, 2026. */
import { expect } from 'vitest'
import { describeError } from '../../../src/engine/base/errors.js'
import { lastDays } from '../../../src/engine/config/duration.js'
import { parseMoment } from '../../../src/engine/config/moment.js'
import { Steps, storiesAsTests } from '../../support/world/stories.js'

const steps = new Steps<null>({
  '"(.*)"(?: in WORD)?': (_, text, timeZone = 'UTC') => {
    try {
      return parseMoment('--from', text!, { now: '2026-06-15T12:00:00.000500Z', timeZone })
    } catch (error) {
      expect(error).toMatchObject({ exitCode: 2 })
      return describeError(error)
    }
  },
  // Ranges end when today began, at 17:20 on March 15, 2026.
  'the last WORD': (_, text) => {
    const { from, to } = lastDays(text!, new Date('2026-03-15T17:20:00Z'))
    return `${from.toISOString()} to ${to.toISOString()}`
  },
})

storiesAsTests('test/engine/config/moment.txt', steps, () => null)
