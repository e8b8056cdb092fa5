import { addMicros, endOfSecond } from '../base/timestamp.js'

/**
 * Older than every record: the floor of a first load, and the open lower end of a range. It is before the year 1,
 * because .NET stamps 0001-01-01 when there is no time. Neither databases nor the API understand it: see LiveRows, and
 * run/wholelists.ts.
 */
export const epoch = '0000-12-31T12:00:00.000000Z'

/** The start of Unix time: an earlier stamp isn't a real one. */
export const unixEpoch = '1970-01-01T00:00:00.000000Z'

const firstSecond = '0001-01-01T00:00:00'

/** Whether a walk from that floor reads the whole list. */
export const isWholeFrom = (floor: string): boolean => floor <= epoch

/** Stands for such a time: the list is requested without `updated_after`. Sorts before every time. */
export const unfiltered = ''

/** Newer than every record, since `~` sorts after every digit: the open upper end of a range. */
export const forever = '~'

/**
 * The instant at which both sides count the same records as newer: the last microsecond of a second, because the source
 * may print and compare whole seconds.
 */
export const cutPoint = (t: string): string => (t <= epoch ? epoch : endOfSecond(t))

/** The cut point before an instant's second. */
export const cutBefore = (t: string): string =>
  t.slice(0, 19) <= firstSecond ? epoch : cutPoint(addMicros(`${t.slice(0, 19)}.000000Z`, -1n))
