/**
 * The script language of docs/dev/sandbox.md, as checks and as types derived from the checks. Used by sandbox.ts and
 * main.ts, which accept scripts, and by the files that act on rules.
 */
import { z } from 'zod'
import { isFields } from '../records/json.js'
import { LIST_ORDERS } from '../records/oddities.js'
import { ACTIONS } from '../records/resources.js'
import { CORRUPTION_NAMES } from './corruption.js'

/* Messages name the expected value; zod's own messages require knowledge of zod. */
const whole = z.int('a whole number')
const natural = z.int('a whole number of at least 0').min(0, 'a whole number of at least 0')
const positive = z.int('a whole number of at least 1').min(1, 'a whole number of at least 1')
const share = z.number('a number from 0 to 1').min(0, 'a number from 0 to 1').max(1, 'a number from 0 to 1')
const text = z.string('a text')
const flag = z.boolean('true or false')

const oneOf = <const T extends string>(...words: readonly T[]) => z.enum(words, `one of ${words.join(', ')}`)
const each = <T extends z.ZodType>(item: T, words: string) => z.array(item, words).readonly()
const oneOrMore = <T extends z.ZodType>(item: T, words: string) =>
  z.union([item, z.array(item).readonly()], `${words} or an array, each ${words}`)

const numbers = oneOrMore(whole, 'a whole number')
const positives = oneOrMore(positive, 'a whole number of at least 1')

/** The conditions that requests and events share. */
const ANY_WHEN = {
  tenant: numbers.optional(),
  resource: oneOrMore(text, 'a text').optional(),
  id: numbers.optional(),
  /** The rule's 1st, 2nd … matching request or event. */
  nth: positives.optional(),
  every: positive.optional(),
  from: positive.optional(),
  to: positive.optional(),
  probability: share.optional(),
  seed: whole.optional(),
}

const WHEN = z.strictObject({
  method: text.optional(),
  kind: oneOf('list', 'item').optional(),
  page: positives.optional(),
  perPage: positives.optional(),
  ...ANY_WHEN,
})

const action = oneOf(...ACTIONS)
const EVENT_WHEN = z.strictObject({
  action: oneOrMore(action, `one of ${ACTIONS.join(', ')}`).optional(),
  ...ANY_WHEN,
})

/** Which records of a page: all, these positions, or the first so many. */
const WHICH = z.union(
  [z.literal('all'), z.array(natural).readonly(), z.strictObject({ first: natural })],
  'all, an array, each a whole number of at least 0, or {"first": n}',
)

type Shapes = Record<string, z.ZodRawShape>
/** The union of the actions of one table, told apart by `kind`. */
type ActionOf<S extends Shapes> = {
  [K in keyof S & string]: Readonly<z.infer<z.ZodObject<S[K] & { kind: z.ZodLiteral<K> }>>>
}[keyof S & string]

/** Connection faults; the response itself is correct. */
const CONNECTION_FAULTS = {
  drop: {},
  reset: { bytes: natural.optional() },
  stall: { ms: natural.optional(), part: oneOf('headers', 'body').optional() },
  cut: { fraction: share.optional() },
  length: { by: whole },
  trickle: { bytes: positive.optional(), ms: natural.optional() },
  huge: { bytes: natural.optional() },
} satisfies Shapes

const FAULTS = {
  ...CONNECTION_FAULTS,
  html: { status: positive.optional() },
  status: {
    status: positive,
    body: text.optional(),
    retryAfter: natural.optional(),
    retryAfterDate: whole.optional(),
    rateHeaders: flag.optional(),
  },
  text: { text: text.optional() },
  gzip: { how: oneOf('garbage', 'truncated').optional() },
  redirect: { to: text, status: positive.optional() },
  page: {
    page: z.union([positive, oneOf('previous', 'next')], 'a whole number of at least 1, previous or next'),
    claim: oneOf('served', 'asked').optional(),
  },
  empty: {},
  total: {
    by: whole.optional(),
    to: natural.optional(),
    most: natural.optional(),
    page: flag.optional(),
    as: z.unknown().optional(),
    remove: flag.optional(),
  },
  pages: { by: whole.optional(), to: whole.optional(), floor: flag.optional(), remove: flag.optional() },
  paging: {
    most: positive.optional(),
    exact: positive.optional(),
    offset: oneOf('served', 'asked').optional(),
    pages: oneOf('served', 'asked').optional(),
    beyond: oneOf('empty', 'last', 'refused').optional(),
    claim: oneOf('served', 'asked').optional(),
  },
  skew: { seconds: whole },
  rate: {
    remove: flag.optional(),
    limit: natural.optional(),
    remaining: natural.optional(),
    reset: natural.optional(),
  },
  headers: { set: z.record(z.string(), z.string().nullable(), 'an object of texts and nulls').readonly() },
  fields: {
    name: text.optional(),
    value: z.unknown().optional(),
    nested: flag.optional(),
    records: WHICH.optional(),
  },
  enums: { value: text.optional(), records: WHICH.optional() },
  alter: {
    path: text,
    to: z.unknown().optional(),
    raw: text.optional(),
    remove: flag.optional(),
    records: WHICH.optional(),
  },
  corrupt: { how: oneOf(...CORRUPTION_NAMES), records: WHICH.optional() },
} satisfies Shapes

/** Default: the tenant and the resource of the request. */
const SCOPE = { tenant: whole.optional(), resource: text.optional() }

/** Which records a motion affects. Ranks count from 0, newest first. */
const TARGET = {
  ids: each(whole, 'an array, each a whole number').optional(),
  random: natural.optional(),
  ranks: each(natural, 'an array, each a whole number of at least 0').optional(),
  /** This many records just after the requested page: a walk hasn't read them yet. */
  ahead: natural.optional(),
  /** This many records just before that page: a walk has read them. */
  behind: natural.optional(),
}

const MOTIONS = {
  create: { ...SCOPE, n: natural.optional(), agedMs: natural.optional() },
  update: { ...SCOPE, ...TARGET },
  delete: { ...SCOPE, ...TARGET },
  touch: { ...SCOPE, ...TARGET },
  restore: { ...SCOPE, n: natural.optional(), stamp: flag.optional() },
  late: { ...SCOPE, n: natural.optional(), hold: natural.optional() },
  shuffle: { on: flag.optional() },
  revoke: SCOPE,
  grant: { ...SCOPE, writable: flag.optional() },
  off: { ...SCOPE, everywhere: flag.optional() },
  on: { ...SCOPE, everywhere: flag.optional() },
  order: { ...SCOPE, by: oneOf(...LIST_ORDERS) },
  twice: { ...SCOPE, ...TARGET, apart: natural.optional() },
  hide: { ...SCOPE, ...TARGET },
  archive: { ...SCOPE, ...TARGET },
  poison: { ...SCOPE, ...TARGET },
  heal: { ...SCOPE, ...TARGET },
  move: {
    ...SCOPE,
    from: whole.optional(),
    to: whole.optional(),
    n: positive.optional(),
    stamps: oneOf('both', 'to', 'none').optional(),
  },
  backup: SCOPE,
  rewind: SCOPE,
  work: { n: natural.optional(), tenant: whole.optional() },
  consume: { requests: natural },
} satisfies Shapes

/** What happens to one event. The record itself changes as usual. */
const EVENT_ACTIONS = {
  drop: {},
  twice: {},
  delay: { ms: natural.optional() },
  before: { ms: natural.optional() },
  wrongSecret: {},
  unknownType: { type: text.optional() },
  otherTenant: { tenant: whole.optional() },
  future: { hours: positive.optional() },
  forged: { ms: positive.optional() },
} satisfies Shapes

const RULE = z.strictObject({
  name: text.optional(),
  when: z.unknown().optional(),
  /** The most times the rule fires; default: every time it matches. */
  times: natural.optional(),
  fault: z.unknown().optional(),
  before: z.unknown().optional(),
  after: z.unknown().optional(),
  event: z.unknown().optional(),
})

export type When = Readonly<z.infer<typeof WHEN> & z.infer<typeof EVENT_WHEN>>
export type Which = z.infer<typeof WHICH>
export type ConnectionFault = ActionOf<typeof CONNECTION_FAULTS>
export type Fault = ActionOf<typeof FAULTS>
export type Motion = ActionOf<typeof MOTIONS>
export type EventAction = ActionOf<typeof EVENT_ACTIONS>
export type MotionTarget = Readonly<z.infer<z.ZodObject<typeof TARGET>>>

export interface Rule {
  readonly name?: string | undefined
  readonly when?: When | undefined
  readonly times?: number | undefined
  readonly fault?: Fault | readonly Fault[] | undefined
  readonly before?: Motion | readonly Motion[] | undefined
  readonly after?: Motion | readonly Motion[] | undefined
  /** A rule for events doesn't affect requests: it has none of the three above. */
  readonly event?: EventAction | readonly EventAction[] | undefined
}

export const isConnectionFault = (fault: Fault): fault is ConnectionFault =>
  Object.hasOwn(CONNECTION_FAULTS, fault.kind)

export function list<T>(items: T | readonly T[] | undefined): readonly T[] {
  if (items === undefined) return []
  return Array.isArray(items) ? (items as readonly T[]) : [items as T]
}

/** The rules of a script, or an error that names the wrong key and what belongs there. */
export function checkRules(value: unknown): readonly Rule[] {
  const rules = isFields(value) && 'rules' in value ? value['rules'] : value
  if (!Array.isArray(rules)) throw wrong('rules', 'an array of rules')
  for (const [index, rule] of rules.entries()) {
    const at = `rules[${index}]`
    checkObject(rule, at, RULE)
    const isOfEvents = rule.event !== undefined
    if (rule.when !== undefined) checkObject(rule.when, `${at}.when`, isOfEvents ? EVENT_WHEN : WHEN)
    if (isOfEvents)
      for (const other of ['fault', 'before', 'after'])
        if (rule[other] !== undefined) throw wrong(`${at}.${other}`, 'in a rule without event')
    checkActions(rule.event, `${at}.event`, EVENT_ACTIONS)
    checkActions(rule.fault, `${at}.fault`, FAULTS)
    checkActions(rule.before, `${at}.before`, MOTIONS)
    checkActions(rule.after, `${at}.after`, MOTIONS)
  }
  return rules as readonly Rule[]
}

function checkActions(value: unknown, at: string, kinds: Readonly<Shapes>): void {
  for (const [index, action] of list(value).entries()) {
    const place = Array.isArray(value) ? `${at}[${index}]` : at
    if (!isFields(action)) throw wrong(place, 'an object with a kind')
    const { kind, ...rest } = action
    const shape = typeof kind === 'string' && Object.hasOwn(kinds, kind) ? kinds[kind] : undefined
    if (shape === undefined) throw wrong(`${place}.kind`, `one of ${Object.keys(kinds).join(', ')}`)
    checkObject(rest, place, z.strictObject(shape))
  }
}

function checkObject(value: unknown, at: string, schema: z.ZodObject): void {
  if (!isFields(value)) throw wrong(at, 'an object')
  const issue = schema.safeParse(value).error?.issues[0]
  if (issue === undefined) return
  if (issue.code === 'unrecognized_keys') {
    const known = Object.keys(schema.shape).join(', ') || 'none'
    throw new Error(`sandbox script: unknown key ${at}.${issue.keys[0]}; known here: ${known}`)
  }
  throw wrong(`${at}.${String(issue.path[0])}`, issue.message)
}

const wrong = (key: string, expected: string): Error =>
  new Error(`sandbox script: ${key} must be ${expected}`)
