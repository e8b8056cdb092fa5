/**
 * Faults that change records or the envelope of a list. Used by faults.ts.
 */
import type { HttpResponse } from '../http/response.js'
import { encode, isFields } from '../records/json.js'
import { corrupt } from './corruption.js'
import type { Fault, Which } from './rules.js'

type RecordFault = Extract<Fault, { kind: 'fields' | 'enums' | 'alter' | 'corrupt' }>
type Envelope = Record<string, unknown>

/** A token that goes into the JSON text exactly as the script has it, such as an integer beyond 2^64. */
class Raw {
  constructor(readonly text: string) {}
}

/** Changes the envelope of a list. Other responses don't change. */
export function alterEnvelope(answer: HttpResponse, change: (envelope: Envelope) => Envelope): HttpResponse {
  const found = parsed(answer)
  return found !== undefined && Array.isArray(found['results'])
    ? { ...answer, body: print(change(found)) }
    : answer
}

/** Changes the chosen records of a list, or the one record of an item. */
export function alterRecords(answer: HttpResponse, fault: RecordFault): HttpResponse {
  const found = parsed(answer)
  if (found === undefined) return answer
  if (Array.isArray(found['results'])) {
    const results = (found['results'] as unknown[]).flatMap((record, index) =>
      isChosen(fault.records, index) ? alterRecord(record, fault) : [record],
    )
    return { ...answer, body: print({ ...found, results }) }
  }
  return isChosen(fault.records, 0) ? { ...answer, body: print(alterRecord(found, fault)[0]) } : answer
}

/** The body as an object. undefined if it isn't one. */
export function parsed(answer: HttpResponse): Envelope | undefined {
  try {
    const value: unknown = JSON.parse(markedNumbers(answer.body.toString()), asRaw)
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Strings, which stay, and numbers. */
const tokens = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** Marks numbers that an earlier fault has written in its own way: parsing would round them, or rewrite them. */
const markedNumbers = (text: string): string =>
  text.replace(tokens, (token) =>
    token.startsWith('"') || String(Number(token)) === token ? token : `"@@number:${token}@@"`,
  )

const asRaw = (_key: string, value: unknown): unknown => {
  const [, token] = typeof value === 'string' ? (/^@@number:(.*)@@$/.exec(value) ?? []) : []
  return token === undefined ? value : new Raw(token)
}

function isChosen(which: Which = 'all', index: number): boolean {
  if (which === 'all') return true
  return 'first' in which ? index < which.first : which.includes(index)
}

/** JSON text: each raw token is encoded as a marked string and replaced afterwards. */
function print(value: unknown): string {
  const raws: string[] = []
  const marked = encode(replaceRaws(value, raws))
  return marked.replace(/"@@raw:(\d+)@@"/g, (_whole, index: string) => raws[Number(index)] ?? 'null')
}

function replaceRaws(value: unknown, raws: string[]): unknown {
  if (value instanceof Raw) return `@@raw:${raws.push(value.text) - 1}@@`
  if (Array.isArray(value)) return value.map((item) => replaceRaws(item, raws))
  if (!isFields(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, replaceRaws(item, raws)]))
}

/** What replaces this record: two for a duplicate. */
function alterRecord(record: unknown, fault: RecordFault): unknown[] {
  if (!isFields(record)) return [record]
  switch (fault.kind) {
    case 'fields':
      return [withField(record, fault.name ?? 'sandbox_novelty', fault.value ?? 'new', fault.nested ?? false)]
    case 'enums':
      return [withEnums(record, fault.value ?? 'novel')]
    case 'alter':
      return [alterPath(record, steps(fault.path), altered(fault))]
    case 'corrupt':
      return corrupt(record, fault.how)
  }
}

function withField(record: Envelope, name: string, value: unknown, nested: boolean): Envelope {
  const deeper = (item: unknown): unknown =>
    Array.isArray(item) ? item.map(deeper) : isFields(item) ? withField(item, name, value, true) : item
  const fields = nested
    ? Object.fromEntries(Object.entries(record).map(([key, item]) => [key, deeper(item)]))
    : record
  return { ...fields, [name]: value }
}

/** The paths of the enumerations that the document calls extensible. */
const EXTENSIBLE = [
  'preferred_contact_type',
  'hazmat_rating',
  'type',
  'inspections[*].state',
  'services[*].inspections[*].state',
  'service.inspections[*].state',
].map(steps)

function withEnums(record: Envelope, value: string): Envelope {
  const change: Change = (old) => (typeof old === 'string' ? value : old)
  return EXTENSIBLE.reduce((changed, path) => alterPath(changed, path, change), record)
}

/** Returns the new value; undefined removes the field. */
type Change = (old: unknown) => unknown

function altered({ remove, raw, to }: Extract<Fault, { kind: 'alter' }>): Change {
  const value = remove === true ? undefined : raw === undefined ? to : new Raw(raw)
  return () => value
}

/** The steps of a path such as `services[*].labors[0].hours`: keys, positions and `*`. */
function steps(path: string): string[] {
  return path.split(/[.[\]]+/).filter((step) => step !== '')
}

function alterPath<T>(value: T, [step, ...rest]: readonly string[], change: Change): T {
  if (step === undefined || typeof value !== 'object' || value === null) return value
  const fields = (Array.isArray(value) ? [...(value as unknown[])] : { ...value }) as Envelope
  for (const key of step === '*' ? Object.keys(fields) : [step]) {
    const made = rest.length > 0 ? alterPath(fields[key], rest, change) : change(fields[key])
    if (made === undefined) delete fields[key]
    else fields[key] = made
  }
  return fields as T
}
