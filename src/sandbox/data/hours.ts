/** When the shops of a business are open. Used by settings.ts, calendar.ts and all makers that need working hours. */
import { dateOf, HOUR, type Moment } from './moment.js'

/** Month and day. */
const HOLIDAYS = ['1-1', '7-4', '12-25']

/** As on the sign on the door. `OpeningHours` follows it. */
export const DOOR_SIGN = 'Mon–Fri 07:30–18:00, Sat 08:00–13:00'

export interface OpenDay {
  readonly opens: Moment
  readonly closes: Moment
  readonly month: number
  readonly isSaturday: boolean
}

/** The days on which the shops of a business are open, in order. */
export class OpeningHours {
  private constructor(readonly days: readonly OpenDay[]) {}

  static of(zone: string, from: Moment, to: Moment): OpeningHours {
    const days: OpenDay[] = []
    for (let at = dateOf(from).startOf('day'); at.toMillis() * 1000 < to; at = at.plus({ days: 1 })) {
      const { weekday, month, day } = at
      if (weekday === 7 || HOLIDAYS.includes(`${month}-${day}`)) continue
      const midnight = at.setZone(zone, { keepLocalTime: true }).toMillis() * 1000
      const isSaturday = weekday === 6
      const opens = midnight + (isSaturday ? 8 * HOUR : 7.5 * HOUR)
      days.push({ opens, closes: midnight + (isSaturday ? 13 : 18) * HOUR, month, isSaturday })
    }
    return new OpeningHours(days)
  }

  /** The moment itself while the shops are open, otherwise one on the next opening day. */
  opened(moment: Moment): Moment {
    const day = this.days[this.#closing(moment)]
    if (day === undefined || moment >= day.opens) return moment
    // A time in the first two hours, so the records of one morning have different stamps.
    return day.opens + (moment % (2 * HOUR))
  }

  /** When work that takes this long is done: it pauses while the shops are closed. */
  after(moment: Moment, work: Moment): Moment {
    let at = this.opened(moment)
    let left = work
    for (let index = this.#closing(at); index < this.days.length; index += 1) {
      const { opens, closes } = this.days[index] as OpenDay
      at = Math.max(at, opens)
      if (at + left < closes) return at + left
      left -= closes - at
    }
    return at + left
  }

  /** The index of the first day that closes after the moment. */
  #closing(moment: Moment): number {
    let low = 0
    let high = this.days.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.days[middle]?.closes ?? 0) <= moment) low = middle + 1
      else high = middle
    }
    return low
  }
}
