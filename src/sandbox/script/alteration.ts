import type { Answer } from '../http/request.js'
import { encode, isFields } from '../records/json.js'
import { corrupt } from './corruption.js'
import type { Fault, Which } from './rules.js'

export type RecordFault = Extract<Fault, { kind: 'fields' | 'enums' | 'alter' | 'corrupt' }>
type Envelope = Record<string, unknown>

/** An integer (or any other token) that goes into the JSON text as it is written here. */
class Raw {
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
}

/** Changes the envelope of a list; answers that are no lists stay as they are. */
export function alterEnvelope(answer: Answer, change: (envelope: Envelope) => Envelope): Answer {
  const found = parsed(answer)
  return found !== undefined && Array.isArray(found['results'])
    ? { ...answer, body: encode(change(found)) }
    : answer
}

/** Changes the records of a list, or the one record that was asked for. */
export function alterRecords(answer: Answer, fault: RecordFault): Answer {
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

function parsed(answer: Answer): Envelope | undefined {
  try {
    const value: unknown = JSON.parse(answer.body.toString())
    return isFields(value) ? value : undefined
  } catch {
    return undefined
  }
}

function isChosen(which: Which = 'all', index: number): boolean {
  if (which === 'all') return true
  return 'first' in which ? index < which.first : which.includes(index)
}

/** JSON text with raw tokens in place of their marks. */
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

/** One record, several (duplicates) or none in its place. */
function alterRecord(record: unknown, fault: RecordFault): unknown[] {
  if (!isFields(record)) return [record]
  switch (fault.kind) {
    case 'fields':
      return [withField(record, fault.name ?? 'sandbox_novelty', fault.value ?? 'new', fault.nested ?? false)]
    case 'enums':
      return [withEnums(record, fault.value ?? 'novel')]
    case 'alter':
      return [alterPath(record, steps(fault.path), fault)]
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

/** The fields whose enumerations the document calls extensible. */
const EXTENSIBLE = new Set(['preferred_contact_type', 'hazmat_rating'])

function withEnums(record: Envelope, value: string): Envelope {
  const changed = Object.entries(record).map(([key, item]): [string, unknown] => {
    const isType = key === 'type' && (item === 'PartInventory' || item === 'CoreInventory')
    if (EXTENSIBLE.has(key) || isType) return [key, value]
    if (key === 'inspections' && Array.isArray(item))
      return [
        key,
        item.map((one: unknown) => (isFields(one) && 'state' in one ? { ...one, state: value } : one)),
      ]
    if (Array.isArray(item))
      return [key, item.map((one: unknown) => (isFields(one) ? withEnums(one, value) : one))]
    return [key, isFields(item) && key === 'service' ? withEnums(item, value) : item]
  })
  return Object.fromEntries(changed)
}

type Alter = Extract<Fault, { kind: 'alter' }>

/** `services[*].labors[0].hours` as keys, positions and `*`. */
function steps(path: string): string[] {
  return path.split(/[.[\]]+/).filter((step) => step !== '')
}

function alterPath(value: unknown, [step, ...rest]: string[], fault: Alter): Envelope {
  const altered = Array.isArray(value) ? [...(value as unknown[])] : isFields(value) ? { ...value } : value
  if (step === undefined || typeof altered !== 'object' || altered === null) return altered as Envelope
  const fields = altered as Envelope
  for (const key of step === '*' ? Object.keys(fields) : [step]) {
    if (rest.length > 0) fields[key] = alterPath(fields[key], rest, fault)
    else if (fault.remove === true) delete fields[key]
    else fields[key] = fault.raw === undefined ? fault.to : new Raw(fault.raw)
  }
  return fields
}
