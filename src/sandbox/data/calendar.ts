/**
 * When cars come in, and which technician takes them. Used by generate.ts.
 */
import type { Random } from '../random.js'
import type { OpenDay } from './hours.js'
import { DAY, HOUR, MINUTE, type Moment } from './moment.js'
import type { ShopFacts } from './world.js'

/** January first: quiet after the holidays, busiest before the winter. */
const MONTHS = [0.93, 0.86, 0.99, 1.04, 1.02, 1.02, 1.04, 0.99, 0.96, 1.06, 1.14, 1] as const
const YEARLY_GROWTH = 0.04
export interface Arrival {
  readonly shop: ShopFacts
  readonly technician: number
  readonly at: Moment
}

interface Slot {
  readonly shop: ShopFacts
  readonly day: OpenDay
  readonly onDuty: readonly number[]
  readonly weight: number
}

/** `count` cars up to `until`, in time order: each day as many as its technicians can take. */
export function arrivals(
  random: Random,
  shops: readonly ShopFacts[],
  count: number,
  until: Moment,
): Arrival[] {
  const slots = slotsOf(random, shops, until)
  const total = slots.reduce((sum, { weight }) => sum + weight, 0)
  const found: Arrival[] = []
  let slot = 0
  let taken = 0
  let passed = slots[0]?.weight ?? 0
  for (let n = 0; n < count; n += 1) {
    const place = ((n + random.next()) / count) * total
    while (passed < place && slot < slots.length - 1) {
      slot += 1
      taken = 0
      passed += slots[slot]?.weight ?? 0
    }
    const chosen = slots[slot]
    if (chosen === undefined) break
    found.push(arrival(random, chosen, taken, until))
    taken += 1
  }
  return found.sort((a, b) => a.at - b.at)
}

/** Cars are spread over the technicians of the day; most come early. */
function arrival(random: Random, { shop, day, onDuty }: Slot, taken: number, until: Moment): Arrival {
  const early = random.next()
  const share = random.chance(0.5) ? early * early : early
  const last = Math.min(day.closes - 2.5 * HOUR, until - MINUTE)
  const at = day.opens + Math.floor(share * Math.max(MINUTE, last - day.opens))
  return { shop, technician: onDuty[taken % onDuty.length] ?? 0, at: Math.min(at, until - MINUTE) }
}

function slotsOf(random: Random, shops: readonly ShopFacts[], until: Moment): Slot[] {
  const slots: Slot[] = []
  const days = shops[0]?.hours.days.filter(({ opens }) => opens < until - 2 * MINUTE) ?? []
  for (const day of days)
    for (const shop of shops) {
      const onDuty = roster(random, shop, day)
      const passed = Math.min(1, (until - day.opens) / (day.closes - day.opens))
      const trend = 1 - (YEARLY_GROWTH * (until - day.opens)) / (365 * DAY)
      const weight =
        onDuty.length * (MONTHS[day.month - 1] ?? 1) * trend * passed * (0.8 + 0.4 * random.next())
      slots.push({ shop, day, onDuty, weight })
    }
  return slots
}

/**
 * Who works on that day: one technician on a Saturday; on other days everyone who has been hired and isn't on leave.
 */
function roster(random: Random, shop: ShopFacts, day: OpenDay): number[] {
  const hired = shop.hired.filter(({ from }) => from <= day.opens).map(({ id }) => id)
  const off = random.integer(0, Math.max(0, hired.length - 1))
  const order = [...hired.slice(off), ...hired.slice(0, off)]
  if (day.isSaturday) return order.slice(0, 1)
  const present = order.filter(() => !random.chance(0.04))
  return present.length > 0 ? present : order
}
