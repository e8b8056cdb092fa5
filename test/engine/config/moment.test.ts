/** Moments as people type them. */
import { expect, test } from 'vitest'
import { describeError } from '../../../src/engine/base/errors.js'
import { lastDays } from '../../../src/engine/config/duration.js'
import { parseMoment } from '../../../src/engine/config/moment.js'

const now = '2026-06-15T12:00:00.000500Z'
const at = (text: string, timeZone = 'UTC'): string => parseMoment('--from', text, { now, timeZone })

test.each([
  ['2026-01-31T00:00:00Z', 'UTC', '2026-01-31T00:00:00.000000Z'],
  ['2026-01-31T02:00:00.123456+02:00', 'Asia/Tokyo', '2026-01-31T00:00:00.123456Z'],
  ['2026-01-31', 'UTC', '2026-01-31T00:00:00.000000Z'],
  ['2026-01-31', 'America/Chicago', '2026-01-31T06:00:00.000000Z'],
  ['2026-07-31', 'America/Chicago', '2026-07-31T05:00:00.000000Z'],
  // No midnight: the clocks go from 0 to 1. Two midnights: the first one begins the day.
  ['2026-03-08', 'America/Havana', '2026-03-08T05:00:00.000000Z'],
  ['2026-11-01', 'America/Havana', '2026-11-01T04:00:00.000000Z'],
  ['7d', 'UTC', '2026-06-08T12:00:00.000500Z'],
  ['P7D', 'America/Chicago', '2026-06-08T12:00:00.000500Z'],
  ['26h', 'UTC', '2026-06-14T10:00:00.000500Z'],
  ['PT26H', 'UTC', '2026-06-14T10:00:00.000500Z'],
  [' 1.5 h ', 'UTC', '2026-06-15T10:30:00.000500Z'],
  ['2W', 'UTC', '2026-06-01T12:00:00.000500Z'],
  ['90min', 'UTC', '2026-06-15T10:30:00.000500Z'],
  ['0s', 'UTC', now],
  ['9999999d', 'UTC', '0001-01-01T00:00:00.000000Z'],
])('%s in %s', (text, timeZone, moment) => {
  expect(at(text, timeZone)).toBe(moment)
})

test.each([
  ['P30D', '2026-02-13'],
  ['P2W', '2026-03-01'],
  ['P1M', '2026-02-15'],
])('the last %s end when today began', (text, from) => {
  const range = lastDays(text, new Date('2026-03-15T17:20:00Z'))
  expect([range.from, range.to]).toEqual([new Date(from), new Date('2026-03-15')])
})

test.each<[string, RegExp]>([
  ['2026-02-30', /a date, or a length of time back\. Such as .*7d/],
  ['2026-03-01T10:00:00', /Type --from 2026-03-01T10:00:00Z if you mean UTC/],
  ...['yesterday', '-7d', '7', '7m', ''].map(
    (text) => [text, new RegExp(`Found --from "${text}"`)] as [string, RegExp],
  ),
])('"%s" is refused, with how to write it', (text, said) => {
  let refused: unknown
  try {
    at(text)
  } catch (error) {
    refused = error
  }
  expect(refused).toMatchObject({ exitCode: 2 })
  expect(describeError(refused)).toMatch(said)
})
