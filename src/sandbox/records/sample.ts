import { type Micros, printInstant } from '../instant.js'
import { type Fields, isFields } from './json.js'
import type { Store } from './store.js'
import { template } from './template.js'

/** A new record like the newest of its kind, with ids of its own all the way down; from a template if there is none. */
export function sampleRecord(store: Store, tenant: number, resource: string, id: number, at: Micros): Fields {
  const time = printInstant(at)
  const newest = store.collection(tenant, resource).newest(0, 1)[0]
  const model = newest === undefined ? undefined : (JSON.parse(newest.text) as unknown)
  if (!isFields(model)) return template(resource, id, time)
  const copy = freshen(model, store, time)
  return { ...(isFields(copy) ? copy : {}), id, created_at: time, updated_at: time }
}

function freshen(value: unknown, store: Store, time: string): unknown {
  if (Array.isArray(value)) return value.map((item) => freshen(item, store, time))
  if (!isFields(value)) return value
  const fields = Object.entries(value).map(([key, item]): [string, unknown] => {
    if (key === 'integrator_tags') return [key, []]
    if (key === 'id' && typeof item === 'number') return [key, store.childId()]
    if (key === 'created_at' || key === 'updated_at') return [key, time]
    if (key === 'email' && typeof item === 'string') return [key, `${store.childId()}.${item}`]
    return [key, freshen(item, store, time)]
  })
  return Object.fromEntries(fields)
}

const TEXTS = [
  'detail',
  'description',
  'notes',
  'misc_info',
  'message',
  'value',
  'text',
  'title',
  'name',
  'location',
]

/** The record's own words, changed so that an old version can be told from a new one. */
export function revision(record: Fields, serial: number): Fields {
  const field = TEXTS.find((name) => typeof record[name] === 'string') ?? 'detail'
  const text = String(record[field] ?? '').replace(/ \(rev \d+\)$/, '')
  return { [field]: `${text} (rev ${serial})` }
}
