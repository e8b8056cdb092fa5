import { resources } from '../../../schema/index.js'
import { type Micros, printInstant } from '../instant.js'
import { type Fields, isFields } from './json.js'
import { TAGS } from './resources.js'
import type { Store } from './store.js'
import { template } from './template.js'

/** A copy of the newest record with new ids at every depth; the template if the resource has no record. */
export function sampleRecord(store: Store, tenant: number, resource: string, id: number, at: Micros): Fields {
  const time = printInstant(at)
  const newest = store.collection(tenant, resource).newest(0, 1)[0]
  const model: unknown = newest === undefined ? undefined : JSON.parse(newest.text)
  if (!isFields(model)) return template(resource, id, time)
  const copy = freshen(model, store, time)
  return { ...(isFields(copy) ? copy : {}), id, created_at: time, updated_at: time }
}

function freshen(value: unknown, store: Store, time: string): unknown {
  if (Array.isArray(value)) return value.map((item) => freshen(item, store, time))
  if (!isFields(value)) return value
  const fields = Object.entries(value).map(([key, item]): [string, unknown] => {
    if (key === TAGS) return [key, []]
    if (key === 'id' && typeof item === 'number') return [key, store.childId()]
    if (key === 'created_at' || key === 'updated_at') return [key, time]
    if (key === 'email' && typeof item === 'string') return [key, `${store.childId()}.${item}`]
    return [key, freshen(item, store, time)]
  })
  return Object.fromEntries(fields)
}

/** A change to the record's first text: the version number in it tells an old version from a new one. */
export function revision(store: Store, tenant: number, resource: string, id: number, serial: number): Fields {
  const record = store.stored(tenant, resource, id) ?? {}
  const [field, words] = Object.entries(record).find((entry) => isWords(resource, ...entry)) ?? ['detail', '']
  return { [field]: `${String(words).replace(/ \(rev \d+\)$/, '')} (rev ${serial})` }
}

/** Free text. A changed time or enumeration value would contradict the other fields. */
function isWords(resource: string, name: string, value: unknown): boolean {
  const declared = resources[resource]?.fields[name]
  const isEnumeration = declared?.type === 'field' && declared.values !== undefined
  return typeof value === 'string' && !/_(at|date)$/.test(name) && !isEnumeration
}
