import { isFields } from '../records/json.js'
import { CORRUPTION_NAMES } from './corruption.js'
import type { Rule } from './rules.js'

/** Says what is expected; undefined when the value is that. */
type Expect = (value: unknown) => string | undefined
type Keys = Readonly<Record<string, Expect>>

const is =
  (words: string, test: (value: unknown) => boolean): Expect =>
  (value) =>
    test(value) ? undefined : words

const whole = is('a whole number', Number.isSafeInteger)
const natural = is(
  'a whole number of at least 0',
  (value) => Number.isSafeInteger(value) && Number(value) >= 0,
)
const positive = is(
  'a whole number of at least 1',
  (value) => Number.isSafeInteger(value) && Number(value) >= 1,
)
const share = is('a number from 0 to 1', (value) => typeof value === 'number' && value >= 0 && value <= 1)
const text = is('a text', (value) => typeof value === 'string')
const flag = is('true or false', (value) => typeof value === 'boolean')
const anything: Expect = () => undefined
const oneOf = (...words: readonly unknown[]): Expect =>
  is(`one of ${words.join(', ')}`, (value) => words.includes(value))
const either =
  (...expects: readonly Expect[]): Expect =>
  (value) => {
    const complaints = expects.map((expect) => expect(value))
    return complaints.includes(undefined) ? undefined : complaints.join(' or ')
  }
const each =
  (expect: Expect): Expect =>
  (value) =>
    Array.isArray(value) && value.every((item) => expect(item) === undefined)
      ? undefined
      : `an array, each ${expect(undefined)}`
const oneOrMore = (expect: Expect): Expect => either(expect, each(expect))
const headers = is(
  'an object of texts and nulls',
  (value) =>
    isFields(value) && Object.values(value).every((item) => item === null || typeof item === 'string'),
)
const which = either(
  oneOf('all'),
  each(natural),
  is('{"first": n}', (value) => isFields(value) && natural(value['first']) === undefined),
)

const WHEN: Keys = {
  method: text,
  tenant: oneOrMore(whole),
  resource: oneOrMore(text),
  id: oneOrMore(whole),
  kind: oneOf('list', 'item'),
  page: oneOrMore(positive),
  perPage: oneOrMore(positive),
  nth: oneOrMore(positive),
  every: positive,
  from: positive,
  to: positive,
  probability: share,
  seed: whole,
}

const FAULTS: Readonly<Record<string, Keys>> = {
  drop: {},
  reset: { bytes: natural },
  stall: { ms: natural, part: oneOf('headers', 'body') },
  cut: { fraction: share },
  length: { by: whole },
  trickle: { bytes: positive, ms: natural },
  huge: { bytes: natural },
  html: { status: positive },
  status: { status: positive, body: text, retryAfter: natural, retryAfterDate: whole, rateHeaders: flag },
  text: { text },
  gzip: { how: oneOf('garbage', 'truncated') },
  redirect: { to: text, status: positive },
  page: { page: either(positive, oneOf('previous', 'next')), claim: oneOf('served', 'asked') },
  empty: {},
  total: { by: whole, to: natural },
  skew: { seconds: whole },
  rate: { remove: flag, limit: natural, remaining: natural, reset: natural },
  headers: { set: headers },
  fields: { name: text, value: anything, nested: flag, records: which },
  enums: { value: text, records: which },
  alter: { path: text, to: anything, raw: text, remove: flag, records: which },
  corrupt: { how: oneOf(...CORRUPTION_NAMES), records: which },
}

const SCOPE: Keys = { tenant: whole, resource: text }
const TARGET: Keys = {
  ...SCOPE,
  ids: each(whole),
  random: natural,
  ranks: each(natural),
  ahead: natural,
  behind: natural,
}

const MOTIONS: Readonly<Record<string, Keys>> = {
  create: { ...SCOPE, n: natural, agedMs: natural },
  update: TARGET,
  delete: TARGET,
  touch: TARGET,
  restore: { ...SCOPE, n: natural, stamp: flag },
  late: { ...SCOPE, n: natural, hold: natural },
  shuffle: { on: flag },
  revoke: SCOPE,
  grant: { ...SCOPE, writable: flag },
  off: { ...SCOPE, everywhere: flag },
  on: { ...SCOPE, everywhere: flag },
  work: { n: natural, tenant: whole },
  consume: { requests: natural },
}

const NEEDED: Readonly<Record<string, readonly string[]>> = {
  length: ['by'],
  status: ['status'],
  redirect: ['to'],
  page: ['page'],
  skew: ['seconds'],
  headers: ['set'],
  alter: ['path'],
  corrupt: ['how'],
  consume: ['requests'],
}

/** The rules of a script, or an error that names the key that is wrong and what belongs there. */
export function checkRules(value: unknown): readonly Rule[] {
  const rules = isFields(value) && 'rules' in value ? value['rules'] : value
  if (!Array.isArray(rules)) throw wrong('rules', 'an array of rules')
  for (const [index, rule] of rules.entries()) checkRule(rule, `rules[${index}]`)
  return rules as readonly Rule[]
}

function checkRule(rule: unknown, at: string): void {
  if (!isFields(rule)) throw wrong(at, 'an object')
  checkKeys(rule, at, {
    name: text,
    when: anything,
    times: natural,
    fault: anything,
    before: anything,
    after: anything,
  })
  if (rule['when'] !== undefined) {
    if (!isFields(rule['when'])) throw wrong(`${at}.when`, 'an object')
    checkKeys(rule['when'], `${at}.when`, WHEN)
  }
  checkActions(rule['fault'], `${at}.fault`, FAULTS)
  checkActions(rule['before'], `${at}.before`, MOTIONS)
  checkActions(rule['after'], `${at}.after`, MOTIONS)
}

function checkActions(value: unknown, at: string, kinds: Readonly<Record<string, Keys>>): void {
  if (value === undefined) return
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) checkAction(item, `${at}[${index}]`, kinds)
  } else checkAction(value, at, kinds)
}

function checkAction(value: unknown, at: string, kinds: Readonly<Record<string, Keys>>): void {
  if (!isFields(value)) throw wrong(at, 'an object with a kind')
  const { kind, ...rest } = value
  const keys = typeof kind === 'string' && Object.hasOwn(kinds, kind) ? kinds[kind] : undefined
  if (keys === undefined) throw wrong(`${at}.kind`, `one of ${Object.keys(kinds).join(', ')}`)
  checkKeys(rest, at, keys)
  for (const key of NEEDED[String(kind)] ?? [])
    if (!(key in rest)) throw wrong(`${at}.${key}`, keys[key]?.(undefined) ?? 'a value')
}

function checkKeys(value: Readonly<Record<string, unknown>>, at: string, keys: Keys): void {
  for (const [key, item] of Object.entries(value)) {
    const expect = Object.hasOwn(keys, key) ? keys[key] : undefined
    if (expect === undefined) {
      const known = Object.keys(keys)
      throw new Error(
        `sandbox script: unknown key ${at}.${key}; known here: ${known.length === 0 ? 'none' : known.join(', ')}`,
      )
    }
    const complaint = item === undefined ? undefined : expect(item)
    if (complaint !== undefined) throw wrong(`${at}.${key}`, complaint)
  }
}

const wrong = (key: string, expected: string): Error =>
  new Error(`sandbox script: ${key} must be ${expected}`)
