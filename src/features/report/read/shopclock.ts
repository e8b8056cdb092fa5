/* The calendars and clocks of the shops: which day it is where, and how a time of day is written. */
import { fromMicros } from '../../../engine/base/timestamp.js'
import { dayOf, endDay } from '../../analytics/shopday.js'

export class ShopClock {
  readonly #zones: ReadonlyMap<string, string>
  readonly #end: number
  readonly #now: string
  readonly #names = new Map<string, string>()

  /** `timeZone`: report.timeZone, for rows without a shop. */
  constructor(
    shops: readonly { readonly shop_key: string | null; readonly time_zone: string | null }[],
    private readonly timeZone: string,
    nowMicros: bigint,
  ) {
    this.#zones = new Map(shops.map(({ shop_key, time_zone }) => [shop_key ?? '', time_zone ?? timeZone]))
    this.#now = fromMicros(nowMicros)
    this.#end = endDay(nowMicros)
  }

  /** The day in the westernmost zone: all days before it are over in every shop. */
  dayOf(instant: string): string {
    const zones = new Set([...this.#zones.values(), this.timeZone])
    const days = [...zones].map((zone) => dayOf(zone, instant, this.#end) ?? instant.slice(0, 10))
    return days.sort()[0] ?? instant.slice(0, 10)
  }

  today(shopKey: string | null): string {
    return dayOf(this.#zoneOf(shopKey), this.#now, this.#end) ?? this.#now.slice(0, 10)
  }

  /** The days that are today in some shop. */
  get todays(): readonly string[] {
    return [...new Set([null, ...this.#zones.keys()].map((key) => this.today(key)))].sort()
  }

  /** `8:05 AM CST` of `08:05`. */
  timeText(time: string, shopKey: string | null): string {
    const [hour, minute = ''] = [Number(time.slice(0, 2)), time.slice(3, 5)]
    const zone = this.#zoneOf(shopKey)
    const name = this.#names.get(zone) ?? this.#nameOf(zone)
    this.#names.set(zone, name)
    return `${hour % 12 === 0 ? 12 : hour % 12}:${minute} ${hour < 12 ? 'AM' : 'PM'} ${name}`
  }

  #zoneOf(shopKey: string | null): string {
    return this.#zones.get(shopKey ?? '') ?? this.timeZone
  }

  #nameOf(timeZone: string): string {
    const parts = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'short' }).formatToParts(
      new Date(this.#now),
    )
    return parts.find(({ type }) => type === 'timeZoneName')?.value ?? timeZone
  }
}
