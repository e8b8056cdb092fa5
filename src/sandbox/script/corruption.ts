import { isFields } from '../records/json.js'

type Fields = Record<string, unknown>
type Visit = (key: string, value: unknown) => unknown

/** A visit returns it for a field that the record loses. */
const ABSENT = Symbol('absent')

/** A copy of the record with each field as `visit` returns it, at every depth. */
function rebuild(record: Fields, visit: Visit): Fields {
  const fields: Fields = {}
  for (const [key, value] of Object.entries(record)) {
    const changed = visit(key, value)
    if (changed !== ABSENT) fields[key] = descend(changed, visit)
  }
  return fields
}

function descend(value: unknown, visit: Visit): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => descend(item, visit))
  return isFields(value) ? rebuild(value, visit) : value
}

const isTime = (key: string): boolean => /_(at|date)$/.test(key)

const eachArray =
  (replacement: unknown): Visit =>
  (_key, value) =>
    Array.isArray(value) ? replacement : value

const eachText =
  (suffix: string): Visit =>
  (key, value) =>
    typeof value === 'string' && !isTime(key) ? value + suffix : value

const sameChildIds: Visit = (_key, value) => {
  if (!Array.isArray(value)) return value
  const first: unknown = value[0]
  const id = isFields(first) ? first['id'] : undefined
  return value.map((item: unknown) => (isFields(item) && 'id' in item ? { ...item, id } : item))
}

const BEYOND_53 = 9_007_199_254_740_993n
const BEYOND_64 = 18_446_744_073_709_551_617n
const shifted = (id: unknown, base: bigint): bigint => base + (typeof id === 'number' ? BigInt(id) * 2n : 0n)

const CORRUPTIONS = {
  'strings-for-numbers': (record) => [
    rebuild(record, (_key, value) => (typeof value === 'number' ? String(value) : value)),
  ],
  'integer-beyond-53': (record) => [{ ...record, id: shifted(record['id'], BEYOND_53) }],
  'integer-beyond-64': (record) => [{ ...record, id: shifted(record['id'], BEYOND_64) }],
  'null-ids': (record) => [{ ...record, id: null }],
  'missing-updated-at': ({ updated_at: _gone, ...rest }) => [rest],
  'null-arrays': (record) => [rebuild(record, eachArray(null))],
  'missing-arrays': (record) => [rebuild(record, eachArray(ABSENT))],
  'object-arrays': (record) => [rebuild(record, eachArray({ unexpected: 'object' }))],
  'duplicate-ids': (record) => [record, { ...record }],
  'duplicate-child-ids': (record) => [rebuild(record, sameChildIds)],
  'nul-character': (record) => [rebuild(record, eachText('\u0000'))],
  'lone-surrogate': (record) => [rebuild(record, eachText('\ud800'))],
} satisfies Record<string, (record: Fields) => Fields[]>

type Corruption = keyof typeof CORRUPTIONS

export const CORRUPTION_NAMES = Object.keys(CORRUPTIONS) as Corruption[]

export function corrupt(record: Fields, how: Corruption): Fields[] {
  return CORRUPTIONS[how](record)
}
