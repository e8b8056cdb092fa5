import { randomFrom } from '../../test/support/world/random.js'

/**
 * The datasets of the source.
 *
 * - tidy: only repair orders; ids increase as the list goes back in time, which is the best case for a B-tree; no
 *   number has more than ten digits.
 * - lifelike: a shop's data. Ids decrease as the list goes back in time, with noise; a tenth of the records was changed
 *   long after it was created; floating-point results, names and prose beyond Latin-1, card tokens and vehicle
 *   identification numbers; five resources.
 * - hostile: lifelike, but with its list in random order, ids and references of 18 digits, an emoji in every string
 *   except timestamps, and two unknown fields for every three declared ones, in every object.
 */
export const datasets = ['tidy', 'lifelike', 'hostile'] as const
export type Dataset = (typeof datasets)[number]

/** How many records of each resource there are per repair order. */
const proportions = {
  repair_orders: 1,
  customers: 0.45,
  notes: 0.6,
  payments: 0.9,
  inventories: 0.2,
} as const
export type ResourceName = keyof typeof proportions

const all = Object.keys(proportions) as ResourceName[]

export const resourcesOf = (dataset: Dataset): readonly ResourceName[] =>
  dataset === 'tidy' ? ['repair_orders'] : all

/** How many records a tenant with this many repair orders has. */
export const countOf = (resource: ResourceName, orders: number): number =>
  Math.max(1, Math.round(orders * proportions[resource]))

/** The number of the other resource's record that this one refers to. */
export const related = (to: ResourceName, from: ResourceName, record: number): number =>
  Math.floor((record / proportions[from]) * proportions[to])

/** Records that were created within a few days change places. */
const noise = 60
const touchedLate = 0.1

/**
 * Numbers of the records, newest first. Ids increase with a record's number: in `tidy`, record 0 is the newest; in the
 * others, records with higher numbers were created later.
 */
export function orderOf(dataset: Dataset, records: number): Int32Array {
  if (dataset === 'tidy') return Int32Array.from({ length: records }, (_, i) => i)
  const random = randomFrom(records)
  const moments = Float64Array.from({ length: records }, (_, record) => {
    if (dataset === 'hostile') return random()
    if (random() < touchedLate) return record + random() * (records - record)
    return record + (random() - 0.5) * 2 * noise
  })
  return Int32Array.from({ length: records }, (_, i) => i).sort(
    (a, b) => (moments[b] ?? 0) - (moments[a] ?? 0),
  )
}
