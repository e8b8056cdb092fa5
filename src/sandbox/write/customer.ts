/**
 * Creates and updates customers, with the checks that the document names. Used by routes.ts.
 */
import { resources } from '../../../schema/index.js'
import { type HttpResponse, invalid } from '../http/response.js'
import { type Fields, isFields } from '../records/json.js'
import { check, optional } from './checks.js'
import type { Write } from './write.js'

/** An address according to RFC 822 (`addr-spec`), without comments or blanks between its words. */
const EMAIL = (() => {
  const atom = String.raw`[!#$%&'*+/0-9=?A-Z^_\`a-z{|}~-]+`
  const quoted = String.raw`"(?:[^"\\\r\u0080-\uffff]|\\[\0-\x7f])*"`
  const literal = String.raw`\[(?:[^[\]\\\r\u0080-\uffff]|\\[\0-\x7f])*\]`
  const words = (word: string): string => String.raw`${word}(?:\.${word})*`
  return new RegExp(`^${words(`(?:${atom}|${quoted})`)}@${words(`(?:${atom}|${literal})`)}$`)
})()
const E164 = /^\+[1-9]\d{6,14}$/
const NORTH_AMERICAN = /^\+1\d{10}$/

const declaredState = resources['customers']?.fields['state']
const STATES = declaredState?.type === 'field' ? (declaredState.values ?? []) : []

const isOptional = (value: unknown, type: 'string' | 'boolean'): boolean =>
  value === undefined || typeof value === type

const isPhone = (phone: unknown): boolean =>
  isFields(phone) &&
  typeof phone['number'] === 'string' &&
  E164.test(phone['number']) &&
  (phone['label'] === null || isOptional(phone['label'], 'string')) &&
  isOptional(phone['preferred'], 'boolean')

const FIELDS = {
  first_name: optional(check.string),
  last_name: optional(check.string),
  email: optional(check.matching(EMAIL, 'is not an email address')),
  phone: optional(check.matching(NORTH_AMERICAN, 'is not an E.164 number of the USA or Canada')),
  detail: optional(check.string),
  address: optional(check.string),
  city: optional(check.string),
  state: optional(
    check.unless('is not an allowed two-character code', (value) =>
      ['', ...STATES].some((state) => state === value),
    ),
  ),
  zip: optional(check.string),
  marketing_ok: optional(check.boolean),
  phones: optional(
    check.unless(
      'is not an array of objects with an E.164 number, a label and preferred',
      (value) => Array.isArray(value) && value.every(isPhone),
    ),
  ),
}

const { marketing_ok: _flag, phones: _list, ...TEXTS } = FIELDS
const EMPTY = {
  ...Object.fromEntries(Object.keys(TEXTS).map((name) => [name, ''])),
  marketing_ok: false,
  shop_ids: [],
  phones: [],
  integrator_tags: [],
}

export function createCustomer(write: Write): HttpResponse {
  const given = write.fields(FIELDS)
  demandFreeEmail(write, given, undefined)
  return write.create('customers', { ...EMPTY, ...withPhones(given) }).response
}

export function updateCustomer(write: Write): HttpResponse {
  const id = write.target('customers')
  const given = write.fields(FIELDS)
  demandFreeEmail(write, given, id)
  return write.update('customers', id, withPhones(given))
}

function demandFreeEmail({ store, tenant }: Write, { email }: Fields, own: number | undefined): void {
  if (typeof email !== 'string' || email === '') return
  const wanted = email.toLowerCase()
  const takenIn = (resource: string, except?: number): boolean =>
    store
      .all(tenant, resource)
      .some((record) => record.id !== except && String(record['email'] ?? '').toLowerCase() === wanted)
  if (takenIn('customers', own) || takenIn('staffs')) throw invalid({ email: 'is taken already' })
}

/** Requests only write phone numbers in E.164; responses show three formats. */
function withPhones(given: Fields): Fields {
  const { phone, phones } = given
  return {
    ...given,
    ...(typeof phone === 'string' ? { phone: phone === '' ? '' : national(phone) } : {}),
    ...(Array.isArray(phones) ? { phones: phones.filter(isFields).map(phoneItem) } : {}),
  }
}

function phoneItem({ number, label, preferred }: Record<string, unknown>): Fields {
  const text = String(number)
  const american = NORTH_AMERICAN.test(text)
  return {
    number: text,
    national: national(text),
    international: american ? text.replace(/^\+1(...)(...)(....)$/, '+1 $1-$2-$3') : text,
    country_code: american ? '1' : text.slice(1, 3),
    label: label ?? null,
    preferred: preferred ?? false,
  }
}

/** Numbers outside North America keep E.164 as their national format. */
const national = (number: string): string => number.replace(/^\+1(\d{3})(\d{3})(\d{4})$/, '($1) $2-$3')
