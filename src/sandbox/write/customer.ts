import type { Answer, TenantCall } from '../http/request.js'
import { type Fields, isFields } from '../records/json.js'
import type { Store } from '../records/store.js'
import * as body from './body.js'

const STATES = new Set(
  'AL AK AZ AR CA CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA RI SC SD TN TX UT VT WA WV WI WY AB BC MB NB NF NS ON PE PQ SK VA PR'.split(
    ' ',
  ),
)
const EMAIL = /^[^\s@,;<>()]+@[^\s@,;<>()]+\.[^\s@.,;<>()]+$/
const E164 = /^\+[1-9]\d{6,14}$/
const NORTH_AMERICAN = /^\+1\d{10}$/

const matching =
  (pattern: RegExp, message: string): body.Check =>
  (value) =>
    typeof value === 'string' && (value === '' || pattern.test(value)) ? undefined : message

const state: body.Check = (value) =>
  typeof value === 'string' && (value === '' || STATES.has(value))
    ? undefined
    : 'is not an allowed two-character code'

const phones: body.Check = (value) => {
  const wrong = 'is not an array of objects with an E.164 number, a label and preferred'
  if (!Array.isArray(value)) return wrong
  return value.every(isPhone) ? undefined : wrong
}

function isPhone(phone: unknown): boolean {
  if (!isFields(phone)) return false
  const { number, label, preferred } = phone
  return (
    typeof number === 'string' &&
    E164.test(number) &&
    (label === undefined || label === null || typeof label === 'string') &&
    (preferred === undefined || typeof preferred === 'boolean')
  )
}

const FIELDS = {
  first_name: body.optional(body.string),
  last_name: body.optional(body.string),
  email: body.optional(matching(EMAIL, 'is not an email address')),
  phone: body.optional(matching(NORTH_AMERICAN, 'is not an E.164 number of the USA or Canada')),
  detail: body.optional(body.string),
  address: body.optional(body.string),
  city: body.optional(body.string),
  state: body.optional(state),
  zip: body.optional(body.string),
  marketing_ok: body.optional(body.boolean),
  phones: body.optional(phones),
}

const EMPTY = {
  first_name: '',
  last_name: '',
  email: '',
  phone: '',
  detail: '',
  address: '',
  city: '',
  zip: '',
  state: '',
}

export function createCustomer(store: Store, call: TenantCall): Answer {
  const given = body.readBody(call, FIELDS)
  demandFreeEmail(store, call, given, undefined)
  const defaults = { ...EMPTY, marketing_ok: false, shop_ids: [], phones: [], integrator_tags: [] }
  return body.create(store, call, 'customers', { ...defaults, ...withPhones(given) })
}

export function updateCustomer(store: Store, call: TenantCall): Answer {
  const id = body.target(store, call, 'customers')
  const given = body.readBody(call, FIELDS)
  demandFreeEmail(store, call, given, id)
  return body.update(store, call, 'customers', id, withPhones(given))
}

function demandFreeEmail(store: Store, call: TenantCall, { email }: Fields, own: number | undefined): void {
  if (typeof email !== 'string' || email === '') return
  const wanted = email.toLowerCase()
  const takenIn = (resource: string, except?: number): boolean =>
    store
      .all(call.tenant.id, resource)
      .some((record) => record.id !== except && String(record['email'] ?? '').toLowerCase() === wanted)
  if (takenIn('customers', own) || takenIn('staffs')) throw body.invalid({ email: 'is taken already' })
}

/** The deprecated `phone` and the `phones` are printed in the formats of responses. */
function withPhones(given: Fields): Fields {
  const { phone, phones: list } = given
  return {
    ...given,
    ...(typeof phone === 'string' ? { phone: phone === '' ? '' : national(phone) } : {}),
    ...(Array.isArray(list) ? { phones: list.filter(isFields).map(phoneItem) } : {}),
  }
}

function phoneItem({ number, label, preferred }: Record<string, unknown>): Fields {
  const text = String(number)
  const digits = text.slice(2)
  const american = NORTH_AMERICAN.test(text)
  return {
    number: text,
    national: national(text),
    international: american ? `+1 ${digits.slice(0, 3)}-${digits.slice(3, 6)}-${digits.slice(6)}` : text,
    country_code: american ? '1' : text.slice(1, 3),
    label: label ?? null,
    preferred: preferred ?? false,
  }
}

function national(number: string): string {
  const digits = number.slice(2)
  return NORTH_AMERICAN.test(number)
    ? `(${digits.slice(0, 3)}) ${digits.slice(3, 6)}-${digits.slice(6)}`
    : number
}
