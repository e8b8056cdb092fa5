/**
 * Made-up records, from the declarations of schema/. A repair order becomes 37 warehouse rows: 1 order, its totals, 4
 * services, 20 labors and parts, 3 hazmats, 1 sublet, 5 inspections, 1 payment, 1 tag; about 13 KB of JSON. Ids and the
 * record's updated_at are placeholders that are filled in when a page is cut (template.ts), so 200,000 orders need only the
 * memory of a few hundred.
 */
import { resources } from '../../schema/index.js'
import type { Field, Member, Shape } from '../../schema/resource.js'
import type { ResourceName } from './dataset.js'

/** Placeholders for ids: `9000000` and three digits. */
export const marks = {
  /** Plus n: the nth id of the record itself, up to 63. */
  id: 9_000_000_000,
  /** The repair order, the customer and the vehicle that the record belongs to. */
  order: 9_000_000_900,
  customer: 9_000_000_901,
  vehicle: 9_000_000_902,
} as const
const belongsTo: Readonly<Record<string, number>> = {
  repair_order_id: marks.order,
  customer_id: marks.customer,
  vehicle_id: marks.vehicle,
}
export const updatedMark = '2099-12-31T23:59:59.999Z'

const phrases = [
  'Customer states that the vehicle pulls to the left under braking and that the pedal feels soft. ',
  'Inspected front and rear pads, measured rotors with a micrometer, found 1.2 mm below minimum on the left. ',
  'Recommended replacement of pads and rotors on this axle; the customer approved by phone at 10:42. ',
  'Road tested for eight miles after the repair: no noise, no pull, no warning lights. ',
  'Torqued lug nuts to 100 ft-lbs and asked the customer to come back for a re-torque after 50 miles. ',
]
/** Typed on phones: typographic quotes and names, so a page isn't Latin-1. */
const typed = ['“squeals when cold”, says José Núñez — see photo… ', '', '', '']
const words: Readonly<Record<string, readonly string[]>> = {
  name: [
    'Replace pads and rotors, front axle, including bleeding of the system',
    'Replace pads and rotors, rear axle, including bleeding of the system',
  ],
  title: ['Front brakes', 'Oil change', 'Cooling system', 'State inspection'],
  brand: ['ACME', 'Bosch', 'Brembo', 'Motorcraft'],
  first_name: ['Maria', 'James', 'Aisha', 'Robert', 'Linda', 'Wei'],
  description: ['Ceramic brake pad set, with hardware and sensor', 'Coated rotor, with hardware and sensor'],
  last_name: ['Johnson', 'Garcia', 'Smith', 'Okafor', 'Miller'],
}
/** What a text is written on. */
type Sheet = 'order' | 'record' | 'item'
/** Texts that are prose, and how many sentences they have. */
const sentences: Readonly<Record<Sheet, Readonly<Record<string, number>>>> = {
  order: { detail: 6 },
  record: { detail: 1, description: 1 },
  item: { detail: 1, comment: 4, notes: 1 },
}

export const pick = <T>(list: readonly T[], n: number): T => list[n % list.length] as T
const stamp = (seed: number): string => new Date(1.7e12 + ((seed * 7919) % 40_000) * 977).toISOString()

/** How many of so many things one of four services gets. */
const share = (count: number, service: number): number => Math.floor((count + 3 - service) / 4)

/** The length of an array by its name; `place`: which item of the array around it this is. */
function sizeOf(name: string, seed: number, place: number): number {
  const labors = 7 + (seed % 3)
  const inService = { labors, parts: 20 - labors, hazmats: 3, sublets: 1, inspections: 5 }
  if (name in inService) return share(inService[name as keyof typeof inService], place)
  if (name === 'services') return 4
  if (name === 'phones') return seed % 3 === 0 ? 2 : 1
  return name === 'tags' ? (seed % 4 === 0 ? 2 : 0) : 1
}

function plainValue(name: string, { kind, values }: Field, seed: number, sheet: Sheet): unknown {
  if (kind === 'id') return belongsTo[name] ?? 1 + (seed % 900)
  if (kind === 'integer') return 30_000 + seed * 13
  if (kind === 'cents') return 999 + ((seed * 7919) % 20_000)
  if (kind === 'number') return /_(rate|percentage)$/.test(name) ? 8.25 : (seed % 9) / 4
  if (kind === 'boolean') return seed % 3 > 0
  if (kind === 'timestamp') return stamp(seed)
  if (kind === 'day') return stamp(seed).slice(0, 10)
  if (kind === 'json') return { [name]: seed }
  if (values) return pick(values, seed)
  const count = sentences[sheet][name]
  if (count === undefined) return pick(words[name] ?? [`${name} ${seed % 900}`], seed)
  return pick(typed, seed) + Array.from({ length: count }, (_, i) => pick(phrases, seed * 7 + i * 3)).join('')
}

/** One record; the seed makes it differ from the others. */
export function recordOf(resource: ResourceName, seed: number): object {
  let ids = 0
  const stamped = (updated_at: string, at: number): object => {
    ids += 1
    return { id: marks.id + ids, created_at: stamp(at), updated_at }
  }
  const fieldsOf = (shape: Shape, at: number, place: number, sheet: Sheet): object => {
    const own = Object.entries(shape).filter(([name]) => !/^(id|created_at|updated_at)$/.test(name))
    const members = own.map(([name, member], i) => [name, memberOf(name, member, at + i, place, sheet)])
    return Object.fromEntries(members) as object
  }
  const memberOf = (name: string, member: Member, at: number, place: number, sheet: Sheet): unknown => {
    const items = (of: (i: number) => unknown) =>
      Array.from({ length: sizeOf(name, seed, place) }, (_, i) => of(i))
    if ((member.type === 'field' || member.type === 'object') && member.nullable && at % 6 === 0) return null
    if (member.type === 'field') return plainValue(name, member, at, sheet)
    if (member.type === 'object') return fieldsOf(member.fields, at, place, sheet)
    if (member.type === 'scalars') return items((i) => plainValue(member.column, member.of, at + i, 'item'))
    const item = (i: number): object => {
      const head = 'id' in member.fields ? stamped(stamp(at + 5), at + i) : {}
      return { ...head, ...fieldsOf(member.fields, at + i * 5, i, 'item') }
    }
    return member.type === 'many' ? items(item) : item(0)
  }
  const declared = resources[resource]
  const head = stamped(updatedMark, seed)
  const record = {
    ...head,
    ...fieldsOf(declared?.fields ?? {}, seed, 0, resource === 'repair_orders' ? 'order' : 'record'),
  }
  if (resource === 'notes') return record
  const taggable = {
    taggable_type: declared?.entity,
    taggable_id: marks.id + 1,
    name: 'erp',
    value: `E${seed}`,
  }
  const isTagged = resource === 'repair_orders' || (resource !== 'payments' && seed % 10 === 0)
  return { ...record, integrator_tags: isTagged ? [{ ...stamped(stamp(seed), seed), ...taggable }] : [] }
}
