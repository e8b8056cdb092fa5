/**
 * JSON text that both warehouses can hold: bigints exact, U+0000 and lone surrogates replaced, depth bounded. Used by
 * the slow path for json columns, `_extra`, quarantine and drift.
 */

import { fitsNumeric, type NumberForm, NumberToken } from '../../base/numbertoken.js'

/** Postgres rejects a jsonb that is a few thousand levels deep, and the whole batch fails with it. */
export const MAX_DEPTH = 500

const LONE = /\p{Surrogate}/gu

export const hasNul = (text: string): boolean => text.includes('\u0000')

/** Half of a character, which no text encoding can hold. */
export const hasLoneSurrogate = (text: string): boolean => text.search(LONE) !== -1

/** Postgres can't hold U+0000, so it becomes U+FFFD. */
export const withoutNul = (text: string): string => text.replaceAll('\u0000', '\ufffd')

/** The text in a form that jsonb can hold: without U+0000 and lone surrogates. */
export const storable = (text: string): string => withoutNul(text).replace(LONE, '\ufffd')

/** At most `length` UTF-16 units, without splitting a character. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text
  const last = text.charCodeAt(length - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length)
}

function isDeep(value: unknown, left: number): boolean {
  if (value instanceof NumberToken) return false
  if (typeof value !== 'object' || value === null) return false
  if (left === 0) return true
  for (const item of Object.values(value)) if (isDeep(item, left - 1)) return true
  return false
}

/** Whether the value is nested deeper than a warehouse can hold. */
const tooDeep = (value: unknown): boolean => isDeep(value, MAX_DEPTH)

/** Whether the value contains numbers that JSON.stringify can't print. */
const holdsExact = (value: unknown): boolean =>
  typeof value === 'bigint' ||
  value instanceof NumberToken ||
  (typeof value === 'object' && value !== null && Object.values(value).some(holdsExact))

interface JsonWriter {
  readonly clean: (text: string) => string
  readonly token: (text: string) => string
}

function write(value: unknown, writer: JsonWriter): string {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof NumberToken) return writer.token(value.text)
  if (typeof value === 'string') return JSON.stringify(writer.clean(value))
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map((item) => write(item, writer)).join(',')}]`
  const members = Object.entries(value).map(
    ([name, item]) => `${JSON.stringify(writer.clean(name))}:${write(item, writer)}`,
  )
  return `{${members.join(',')}}`
}

const asSent = (text: string): string => text
const asIs: JsonWriter = { clean: asSent, token: asSent }
/** As JSON.parse, with bigints for wide integers, would read it: the same text, however the record was read. */
const asRead: JsonWriter = {
  clean: asSent,
  token: (text) => (/^-?\d+$/.test(text) ? String(BigInt(text)) : (JSON.stringify(Number(text)) ?? 'null')),
}

/** Tells records without an id apart, also when a page is read a second time for its digits. */
export const readJsonText = (value: unknown): string =>
  tooDeep(value) ? rawJson(value) : write(value, asRead)

/** The value as it came, for people to read in quarantine and in drift. U+0000 and lone surrogates stay escaped. */
export function rawJson(value: unknown): string {
  if (tooDeep(value)) return '"[nested too deeply to be shown]"'
  return write(value, asIs)
}

type JsonText =
  | { readonly text: null; readonly reason: string; readonly replaced: false }
  /** `replaced`: a character of the value couldn't be stored as it came and became U+FFFD. */
  | { readonly text: string; readonly reason: null; readonly replaced: boolean }

const refused = (reason: string): JsonText => ({ text: null, reason, replaced: false })

/** A value as JSON text that a warehouse can hold. Numbers stay as they were sent. */
export function jsonText(
  value: unknown,
  {
    careful,
    form,
    depth = MAX_DEPTH,
  }: {
    /** The body contained U+0000 or lone surrogates. */
    readonly careful: boolean
    /** How the warehouse holds the numbers in its JSON. */
    readonly form: NumberForm
    /** How many levels deep the value may be. */
    readonly depth?: number
  },
): JsonText {
  if (isDeep(value, depth)) return refused('nested too deeply')
  if (!careful && !holdsExact(value)) return { text: JSON.stringify(value), reason: null, replaced: false }
  let replaced = false
  let fits = true
  const clean = (text: string): string => {
    const good = storable(text)
    if (good !== text) replaced = true
    return good
  }
  const token = (text: string): string => {
    if (form === 'numeric' && !fitsNumeric(text)) fits = false
    return text
  }
  const text = write(value, { clean: careful ? clean : asSent, token })
  return fits ? { text, reason: null, replaced } : refused('a number that numeric cannot hold')
}
