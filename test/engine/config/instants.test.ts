/**
 * When schedules are due, compared with a second way to compute it: minute by minute, by what the local clock shows.
 * Nights of daylight saving time in Chicago and Berlin, and in zones whose clocks change at midnight or by half an
 * hour.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cronProblem, isTwoIntervalsAgo } from '../../../src/engine/config/cron.js'
import { Instants } from '../../../src/engine/config/instants.js'
import { sized } from '../../support/harness/size.js'

const minute = 60_000
const hour = 60 * minute

/** What the local clock shows, written as if it were UTC. */
function wall(zone: string): (instant: number) => number {
  const parts = ['year', 'month', 'day', 'hour', 'minute', 'second'] as const
  const options = Object.fromEntries(parts.map((part) => [part, 'numeric']))
  const format = new Intl.DateTimeFormat('en-US', { timeZone: zone, hourCycle: 'h23', ...options })
  return (instant) => {
    const shown = new Map(format.formatToParts(instant).map(({ type, value }) => [type, Number(value)]))
    const [year = 0, month = 0, ...rest] = parts.map((part) => shown.get(part) ?? 0)
    return Date.UTC(year, month - 1, ...rest)
  }
}

function field(text: string, from: number, to: number): Set<number> {
  const values = text.split(',').flatMap((part) => {
    const [range = '', step = '1'] = part.split('/')
    const [first = from, last] = range === '*' ? [from, to] : range.split('-').map(Number)
    const end = last ?? (part.includes('/') ? to : first)
    return Array.from({ length: end - first + 1 }, (_, i) => first + i).filter(
      (value) => (value - first) % Number(step) === 0,
    )
  })
  return new Set(values)
}

/** Minute by minute from one instant to another. */
function oracle(schedule: string, zone: string, from: number, to: number): number[] {
  const [minutes = '', hours = '', days = '', months = '', weekdays = ''] = schedule.split(' ')
  const isEvery = /[*/]/.test(hours)
  const wanted = [field(minutes, 0, 59), field(hours, 0, 23), field(months, 1, 12)] as const
  const dates = field(days, 1, 31)
  const named = new Set([...field(weekdays, 0, 7)].map((day) => day % 7))
  const matches = (reading: number): boolean => {
    const at = new Date(reading)
    const [isDate, isNamed] = [dates.has(at.getUTCDate()), named.has(at.getUTCDay())]
    const isEach = days.startsWith('*') || weekdays.startsWith('*')
    const isDay = isEach ? isDate && isNamed : isDate || isNamed
    const shown = [at.getUTCMinutes(), at.getUTCHours(), at.getUTCMonth() + 1]
    return isDay && shown.every((value, i) => wanted[i]?.has(value))
  }
  const reads = wall(zone)
  const due = new Set<number>()
  const seen = new Set<number>()
  let before = reads(from - minute)
  for (let at = from; at <= to; at += minute) {
    const reading = reads(at)
    if (isEvery) {
      if (matches(reading)) due.add(at)
    } else {
      for (let skipped = before + minute; skipped < reading; skipped += minute)
        if (matches(skipped)) due.add(at)
      if (matches(reading) && !seen.has(reading)) due.add(at)
      seen.add(reading)
    }
    before = reading
  }
  return [...due].sort((a, b) => a - b)
}

const nights = [
  ['America/Chicago', '2026-03-08'],
  ['America/Chicago', '2026-11-01'],
  ['Europe/Berlin', '2026-03-29'],
  ['Europe/Berlin', '2026-10-25'],
  ['Asia/Beirut', '2026-03-29'],
  ['Australia/Lord_Howe', '2026-04-05'],
  ['Australia/Lord_Howe', '2026-10-04'],
] as const

const hours = fc.oneof(
  fc.constantFrom('*', '*/2', '*/3', '1-3', '0-23', '1-5/2', '2', '1', '1,2', '2,3', '0', '23'),
  fc
    .uniqueArray(fc.integer({ min: 0, max: 5 }), { minLength: 1, maxLength: 3 })
    .map((list) => list.join(',')),
)
const minutes = fc.constantFrom('0', '30', '15', '59', '0,30', '*/15', '*/20', '10-50/20', '7')
const days = fc.constantFrom('* * *', '* * 0', '* * 1-5', '8 3 *', '1,25,29 * *', '29 3 1')
const schedules = fc.tuple(minutes, hours, days).map((parts) => parts.join(' '))

describe('the instants of a schedule', () => {
  it('are those that the local clock shows, even in nights of daylight saving time', () => {
    fc.assert(
      fc.property(schedules, fc.constantFrom(...nights), (schedule, [zone, day]) => {
        const from = Date.parse(`${day}T00:00:00Z`) - 20 * hour
        const to = from + 52 * hour
        const instants = new Instants(schedule, zone)
        const found: number[] = []
        for (let at = instants.next(from - 1); at !== undefined && at <= to; at = instants.next(at))
          found.push(at)
        expect(found).toEqual(oracle(schedule, zone, from, to))
      }),
      { numRuns: sized(12, 60) },
    )
  })

  // Croner itself lists others in both kinds of nights.
  it.each([
    ['30 2 * * *', 'America/Chicago', '2026-03-08T06', '2026-03-08T08:00 2026-03-09T07:30'],
    ['0,30 2 * * *', 'Europe/Berlin', '2026-03-29T00', '2026-03-29T01:00 2026-03-30T00:00'],
    ['30 1 * * *', 'America/Chicago', '2026-11-01T04', '2026-11-01T06:30 2026-11-02T07:30'],
    ['*/30 2 * * *', 'Europe/Berlin', '2026-10-24T23', '2026-10-25T00:00 2026-10-25T00:30 2026-10-26T01:00'],
    ['0 * * * *', 'Europe/Berlin', '2026-10-24T23', '2026-10-25T00:00 2026-10-25T01:00 2026-10-25T02:00'],
    ['0 */2 * * *', 'America/Chicago', '2026-03-08T06', '2026-03-08T09:00 2026-03-08T11:00'],
  ])('%s in %s after %s are %s', (schedule, zone, after, expected) => {
    const found = new Instants(schedule, zone).list(Date.parse(`${after}:00Z`), expected.split(' ').length)
    expect(found.map((at) => new Date(at).toISOString().slice(0, 16)).join(' ')).toBe(expected)
  })

  it('have to match both kinds of days if one of them begins with *', () => {
    const days = (schedule: string): string[] =>
      new Instants(schedule, 'UTC')
        .list(Date.parse('2026-03-01T00:00:00Z'), 3)
        .map((at) => new Date(at).toISOString().slice(8, 10))
    // March 2, 2026 is a Monday.
    expect(days('0 6 */2 * 1')).toEqual(['09', '23', '13'])
    expect(days('0 6 1-7 * */7')).toEqual(['01', '05', '03'])
    expect(days('0 6 13 * 1')).toEqual(['02', '09', '13'])
  })

  it('of a schedule that never comes are rejected when the file is read', () => {
    expect(cronProblem('0 0 31 2 *')).toContain('no year has')
    expect(cronProblem('0 0 29 2 *')).toBeUndefined()
    expect(new Instants('0 0 31 2 *', 'UTC').next(0)).toBeUndefined()
  })

  it.each([
    [true, ['0 * * * *', '*/15 0-6,22-23 1 jan-mar mon,wed', '30 2 * * 7', '5/10 * * * *']],
    [false, ['* * * *', '@hourly', '0 24 * * *', '5-1 * * * *', '*/0 * * * *', '1/2/3 * * * *', '0 0 0 * *']],
    [false, ['0 0 L * *', '0 0 * * mon#2', '? * * * *', '0 0 * * +1', '2026-01-01T00:00:00Z', '0 0 0 1 1 *']],
  ])('of five fields are valid: %s', (valid, all) => {
    for (const text of all) expect([text, cronProblem(text) === undefined]).toEqual([text, valid])
  })

  it('show when two intervals are over', () => {
    const at = (text: string): number => Date.parse(`2026-01-01T${text}Z`)
    const isOver = (now: string): boolean => isTwoIntervalsAgo('0 * * * *', 'UTC', at('00:10:00'), at(now))
    expect([isOver('02:10:00'), isOver('02:10:01')]).toEqual([false, true])
  })
})
