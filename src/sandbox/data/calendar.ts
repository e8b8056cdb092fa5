import { DateTime } from 'luxon'
import type { Random } from '../random.js'
import { HOUR, MINUTE, type Moment } from './world.js'

/** Monday first, as luxon counts: shops are busy on Mondays and Fridays and closed on most Sundays. */
const WEEKDAYS = [1.15, 1, 1, 1.05, 1.2, 0.55, 0.05] as const
/** January first: quiet after the holidays, busiest before the winter. */
const MONTHS = [0.9, 0.85, 1, 1.1, 1.05, 1.05, 1.1, 1, 0.95, 1.2, 1.3, 1.1] as const
const YEARLY_GROWTH = 0.08

/** Day, month and year of a moment, in UTC. Never for timestamps: luxon holds milliseconds only. */
export const dateOf = (moment: Moment): DateTime => DateTime.fromMillis(moment / 1000, { zone: 'utc' })

function weight({ weekday, month }: DateTime, age: number): number {
  return (WEEKDAYS[weekday - 1] ?? 1) * (MONTHS[month - 1] ?? 1) * (1 - (YEARLY_GROWTH * age) / 365)
}

/** The days of `count` arrivals up to `until`, oldest first. */
export function arrivals(random: Random, count: number, until: Moment, days: number): DateTime[] {
  const last = dateOf(until).startOf('day')
  const calendar = Array.from({ length: days + 1 }, (_, index) => last.minus({ days: days - index }))
  const weights = calendar.map((day, index) => weight(day, days - index))
  const chosen = Array.from({ length: count }, () => random.weighted(weights)).sort((a, b) => a - b)
  return chosen.flatMap((index) => calendar[index] ?? [])
}

/** A moment of that day between 07:30 and 15:30 local time, to the microsecond. */
export function arrivalTime(random: Random, day: DateTime, zone: string): Moment {
  const early = random.next()
  const hours = 7.5 + 8 * (random.chance(0.5) ? early * early : early)
  const midnight = day.setZone(zone, { keepLocalTime: true }).toMillis() * 1000
  return midnight + Math.floor(hours * HOUR) + random.integer(0, MINUTE)
}
