/* What an event says, as far as we trust it: which record of which tenant it names, and nothing of its contents. */
import { isUtf8 } from 'node:buffer'
import { createHash } from 'node:crypto'
import type { Int64 } from '../../../schema/resource.js'
import { canonical } from '../../engine/base/timestamp.js'
import { parseJson } from '../../engine/source/http/exactjson.js'

export interface ReceivedEvent {
  readonly id: string
  /** `payload.type`. */
  readonly type: string
  /** What follows the last dot of `event`. */
  readonly action: string
  readonly recordId: Int64
  readonly tenantId: Int64
  /** Canonical timestamps; null if there is no readable one. */
  readonly version: string | null
  readonly triggeredAt: string | null
}

/** A body that isn't an event; the message says what was found instead. */
export class NoEvent extends Error {}

const longestId = 200
/** Kept texts are only for people to look at; the source's own are much shorter. */
const longestWord = 100

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const largest = 2n ** 63n - 1n

function integer(value: unknown): Int64 | undefined {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : undefined
  return typeof value === 'bigint' && value <= largest && value >= -largest ? value : undefined
}

/** Half of a surrogate pair becomes U+FFFD, as it would on its way to a database. */
const wellFormed = (text: string): string => Buffer.from(text, 'utf8').toString('utf8')

/** Text that every database accepts. */
const isPlain = (text: string): boolean => !text.includes('\0') && text === wellFormed(text)

const word = (value: unknown): string =>
  typeof value === 'string' ? wellFormed(value.replaceAll('\0', '')).slice(0, longestWord) : ''

const keyOf = (id: string): string =>
  id.length <= longestId && isPlain(id) ? id : createHash('sha256').update(id, 'utf8').digest('hex')

const time = (value: unknown): string | null => (typeof value === 'string' ? canonical(value) : null)

function parse(body: Buffer): unknown {
  if (!isUtf8(body)) throw new NoEvent('Found bytes that are not UTF-8, expected JSON')
  try {
    return parseJson(body).value
  } catch {
    throw new NoEvent('Found no JSON')
  }
}

/** Throws NoEvent. */
export function understand(body: Buffer): ReceivedEvent {
  const event = parse(body)
  if (!isObject(event)) throw new NoEvent('Found no JSON object')
  const { id, event: name, timestamp } = event
  if (typeof id !== 'string' || id === '') throw new NoEvent('Found no text "id"')
  const payload = isObject(event['payload']) ? event['payload'] : {}
  const recordId = integer(payload['id'])
  if (recordId === undefined) throw new NoEvent('Found no integer "payload.id"')
  const tenantId = integer(payload['tenant_id'])
  if (tenantId === undefined) throw new NoEvent('Found no integer "payload.tenant_id"')
  const data = isObject(payload['data']) ? payload['data'] : {}
  const text = typeof name === 'string' ? name : ''
  return {
    id: keyOf(id),
    type: word(payload['type']),
    action: word(text.slice(text.lastIndexOf('.') + 1)),
    recordId,
    tenantId,
    version: time(data['updated_at']),
    triggeredAt: time(timestamp),
  }
}
