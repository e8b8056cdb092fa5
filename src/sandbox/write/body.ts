import { type Answer, json, notFound, Refusal, type TenantCall } from '../http/request.js'
import { parseInstant, printInstant } from '../instant.js'
import { encode, type Fields, isFields } from '../records/json.js'
import type { Store } from '../records/store.js'

/** Says what is wrong with a value; undefined when nothing is. */
export type Check = (value: unknown) => string | undefined

export interface Field {
  readonly check: Check
  readonly required?: boolean
}

export const integer: Check = (value) => (Number.isSafeInteger(value) ? undefined : 'is not an integer')
export const string: Check = (value) => (typeof value === 'string' ? undefined : 'is not a string')
export const filled: Check = (value) =>
  typeof value === 'string' && value.trim() !== '' ? undefined : 'is not a string with something in it'
export const boolean: Check = (value) => (typeof value === 'boolean' ? undefined : 'is not true or false')
export const timestamp: Check = (value) =>
  typeof value === 'string' && parseInstant(value) !== undefined
    ? undefined
    : 'is not an ISO 8601 datetime with a timezone'

export const required = (check: Check): Field => ({ check, required: true })
export const optional = (check: Check): Field => ({ check })

export const invalid = (fields: Readonly<Record<string, string>>): Refusal =>
  new Refusal(422, 'Invalid fields', fields)

/** An id that must be one of the tenant's own records. */
export const existing =
  (store: Store, call: TenantCall, resource: string): Check =>
  (value) =>
    integer(value) ??
    (store.count(call.tenant.id, resource) > 0 &&
    store.stored(call.tenant.id, resource, Number(value)) === undefined
      ? `is the id of no record of ${resource}`
      : undefined)

/** The documented fields of the body, checked. Others are ignored. null stands for "empty" where a field is optional. */
export function readBody(call: TenantCall, fields: Readonly<Record<string, Field>>, partial = false): Fields {
  const body = parse(call.body)
  const wrong: Record<string, string> = {}
  const found: Record<string, unknown> = {}
  for (const [name, { check, required: needed }] of Object.entries(fields)) {
    const value = body[name]
    const isMandatory = needed === true && !partial
    if (value === undefined || value === null) {
      if (isMandatory || (needed === true && value === null)) wrong[name] = 'is required'
      else if (value === null) found[name] = null
      continue
    }
    const message = check(value)
    if (message === undefined) found[name] = value
    else wrong[name] = message
  }
  if (Object.keys(wrong).length > 0) throw invalid(wrong)
  return found
}

function parse(text: string): Record<string, unknown> {
  if (text === '') return {}
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Refusal(400, 'The request body is invalid JSON')
  }
  if (!isFields(value)) throw new Refusal(422, 'The request body is not a JSON object')
  return value
}

/** Timestamps are kept in UTC to the microsecond, however they were sent. */
export function canonicalTimes(fields: Fields): Fields {
  const entries = Object.entries(fields).map(([key, value]): [string, unknown] => {
    const micros = key.endsWith('_at') && typeof value === 'string' ? parseInstant(value) : undefined
    return [key, micros === undefined ? value : printInstant(micros)]
  })
  return Object.fromEntries(entries)
}

/** Stores a new record under the next id and answers 201 with it. */
export function create(store: Store, call: TenantCall, resource: string, fields: Fields): Answer {
  const micros = store.stamp()
  const time = printInstant(micros)
  const id = store.collection(call.tenant.id, resource).nextKey
  const record = { id, created_at: time, updated_at: time, ...fields }
  store.putText(call.tenant.id, resource, encode(record), id, micros)
  return json(201, printed(store, call, resource, id))
}

export function update(store: Store, call: TenantCall, resource: string, id: number, fields: Fields): Answer {
  if (!store.change(call.tenant.id, resource, id, fields)) throw notFound()
  return json(200, printed(store, call, resource, id))
}

export function destroy(store: Store, call: TenantCall, resource: string): Answer {
  if (!store.remove(call.tenant.id, resource, target(store, call, resource))) throw notFound()
  return json(200, '{}')
}

/** The id in the path, of a record that exists. */
export function target(store: Store, call: TenantCall, resource: string, parameter = 'id'): number {
  const text = call.params[parameter] ?? ''
  const id = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN
  if (store.collection(call.tenant.id, resource).get(id) === undefined) throw notFound()
  return id
}

function printed(store: Store, call: TenantCall, resource: string, id: number): string {
  const entry = store.collection(call.tenant.id, resource).get(id)
  if (entry === undefined) throw notFound()
  return store.print(entry)
}
