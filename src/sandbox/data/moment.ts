/** Instants of the generated past, as numbers. Used by all files of this folder. */
import { DateTime } from 'luxon'
import { parseInstant, printInstant } from '../instant.js'

/** Microseconds since 1970 as a number: exact until the year 2255, and faster than a bigint. */
export type Moment = number

export const SECOND = 1_000_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

let lastMoment: Moment = Number.NaN
let lastText = ''

/** The texts of the days: two years are a few hundred of them, while a business has a million moments. */
const days = new Map<number, string>()

function dayOf(number: number): string {
  const found = days.get(number)
  if (found !== undefined) return found
  const printed = printInstant(BigInt(number * DAY)).slice(0, 11)
  days.set(number, printed)
  return printed
}

const two = (value: number): string => (value < 10 ? `0${value}` : `${value}`)

/** Keeps the last text, because all items of an order are made at the same moment. */
export function print(moment: Moment): string {
  if (moment === lastMoment) return lastText
  const day = Math.floor(moment / DAY)
  const rest = moment - day * DAY
  const seconds = Math.floor(rest / SECOND)
  const micros = String(rest - seconds * SECOND).padStart(6, '0')
  const clock = `${two(Math.floor(seconds / 3600))}:${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`
  lastMoment = moment
  lastText = `${dayOf(day)}${clock}.${micros}Z`
  return lastText
}

export const momentOf = (time: string): Moment => Number(parseInstant(time) ?? 0n)

/** Day, month and year of a moment, in UTC. Never for timestamps: luxon only holds milliseconds. */
export const dateOf = (moment: Moment): DateTime => DateTime.fromMillis(moment / 1000, { zone: 'utc' })
