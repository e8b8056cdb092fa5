/**
 * How many technicians a business needs for its cars, and how long it has existed. Used by generate.ts.
 */

/** What efficient shops get done: cars per technician and working day. */
const CARS_A_DAY = 3.45
/** Days on duty per week: five, minus leave. A shop has one more technician on Saturdays. */
const DUTY = 4.8
/** Technicians of the smallest shop, unless an option asks for another number. */
const FEWEST = 2
const LONGEST = 730
const SHORTEST = 28

interface Staffing {
  /** The days from the first car to today: a business with few cars opened recently. */
  readonly days: number
  /** The day on which each technician starts, by shop: 0 for those who were there from the first day. */
  readonly hiredOn: readonly (readonly number[])[]
}

/** `fewest`: how many technicians each shop has at least. */
export function staff(cars: number, shops: number, fewest = FEWEST): Staffing {
  const needed = cars / CARS_A_DAY
  const smallest = (shops * (fewest * DUTY + 1)) / 7
  const days = Math.min(LONGEST, Math.max(SHORTEST, Math.ceil(needed / smallest)))
  const wanted = ((needed / days) * 7 - shops) / DUTY
  const whole = Math.max(fewest * shops, Math.floor(wanted))
  const hiredOn = Array.from({ length: shops }, (): number[] => [])
  for (let n = 0; n < whole; n += 1) hiredOn[n % shops]?.push(0)
  // The last one starts on the day from which there is work for one more.
  if (wanted > whole) hiredOn[whole % shops]?.push(Math.round((1 - (wanted - whole)) * days))
  return { days, hiredOn }
}

export const shopCount = (cars: number): number =>
  cars <= 1500 ? 2 : cars <= 15_000 ? 3 : cars <= 30_000 ? 4 : 8
