import { dateFromDays } from '../instant.js'
import type { Random } from '../random.js'
import { DAY, HOUR, MINUTE, type Moment } from './world.js'

/** Sunday first. */
const WEEKDAYS = [0.05, 1.15, 1, 1, 1.05, 1.2, 0.55] as const
/** January first: quiet after the holidays, busiest before the winter. */
const MONTHS = [0.9, 0.85, 1, 1.1, 1.05, 1.05, 1.1, 1, 0.95, 1.2, 1.3, 1.1] as const
const YEARLY_GROWTH = 0.08

export const monthOf = (moment: Moment): number => dateFromDays(Math.floor(moment / DAY)).month

function weight(day: number, age: number): number {
  const weekday = WEEKDAYS[(((day + 4) % 7) + 7) % 7] ?? 1
  const month = MONTHS[dateFromDays(day).month - 1] ?? 1
  return weekday * month * (1 - (YEARLY_GROWTH * age) / 365)
}

/** The days (since 1970) on which so many cars came in, oldest first. */
export function arrivals(random: Random, count: number, until: Moment, days: number): number[] {
  const last = Math.floor(until / DAY)
  const sums: number[] = []
  let sum = 0
  for (let age = days; age >= 0; age -= 1) {
    sum += weight(last - age, age)
    sums.push(sum)
  }
  const chosen = Array.from({ length: count }, () => last - days + indexOf(sums, random.next() * sum))
  return chosen.sort((a, b) => a - b)
}

function indexOf(sums: readonly number[], value: number): number {
  let low = 0
  let high = sums.length - 1
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((sums[middle] ?? 0) < value) low = middle + 1
    else high = middle
  }
  return low
}

/** A moment of that day between 07:30 and 15:30 local time, to the microsecond. */
export function arrivalTime(random: Random, day: number, hoursBehind: number): Moment {
  const early = random.next()
  const hours = 7.5 + 8 * (random.chance(0.5) ? early * early : early)
  return day * DAY + hoursBehind * HOUR + Math.floor(hours * HOUR) + random.integer(0, MINUTE)
}
