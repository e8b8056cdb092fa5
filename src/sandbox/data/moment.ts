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

/** Keeps the last text: all items of an order are made at one moment. */
export function print(moment: Moment): string {
  if (moment !== lastMoment) {
    lastMoment = moment
    lastText = printInstant(BigInt(moment))
  }
  return lastText
}

export const momentOf = (time: string): Moment => Number(parseInstant(time) ?? 0n)

/** Day, month and year of a moment, in UTC. Never for timestamps: luxon holds milliseconds only. */
export const dateOf = (moment: Moment): DateTime => DateTime.fromMillis(moment / 1000, { zone: 'utc' })
