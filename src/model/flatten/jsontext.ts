/**
 * JSON text that both warehouses can hold: bigints exact, U+0000 and lone surrogates replaced, depth bounded. Used by the
 * slow path for json columns, `_extra`, quarantine and drift.
 */

/** Postgres refuses a jsonb some thousand levels deep, and the whole batch fails with it. */
export const MAX_DEPTH = 500

const LONE = /\p{Surrogate}/gu

export const hasNul = (text: string): boolean => text.includes('\u0000')

/** Half of a character, which no encoding of text can hold. */
export const hasLoneSurrogate = (text: string): boolean => text.search(LONE) !== -1

/** Postgres cannot hold U+0000: it becomes U+FFFD. */
export const withoutNul = (text: string): string => text.replaceAll('\u0000', '\ufffd')

/** The text as jsonb can hold it: without U+0000 and lone surrogates. */
export const storable = (text: string): string => withoutNul(text).replace(LONE, '\ufffd')

/** At most `length` UTF-16 units, never half a character. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text
  const last = text.charCodeAt(length - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length)
}

function isDeep(value: unknown, left: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (left === 0) return true
  for (const item of Object.values(value)) if (isDeep(item, left - 1)) return true
  return false
}

/** Whether the value nests deeper than a warehouse can hold. */
export const tooDeep = (value: unknown): boolean => isDeep(value, MAX_DEPTH)

const holdsBigint = (value: unknown): boolean =>
  typeof value === 'bigint' ||
  (typeof value === 'object' && value !== null && Object.values(value).some(holdsBigint))

interface JsonWriter {
  readonly clean: (text: string) => string
}

function write(value: unknown, writer: JsonWriter): string {
  if (typeof value === 'bigint') return value.toString()
  if (typeof value === 'string') return JSON.stringify(writer.clean(value))
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  if (Array.isArray(value)) return `[${value.map((item) => write(item, writer)).join(',')}]`
  const members = Object.entries(value).map(
    ([name, item]) => `${JSON.stringify(writer.clean(name))}:${write(item, writer)}`,
  )
  return `{${members.join(',')}}`
}

const asIs: JsonWriter = { clean: (text) => text }

/** The value as it came, for people to read in quarantine and in drift. U+0000 and lone surrogates stay as escapes. */
export function rawJson(value: unknown): string {
  if (tooDeep(value)) return '"[nested too deeply to be shown]"'
  return write(value, asIs)
}

export interface JsonText {
  /** null: nested too deeply. */
  readonly text: string | null
  /** A character of the value could not be stored as it came and became U+FFFD. */
  readonly replaced: boolean
}

/** `careful`: the body held U+0000 or lone surrogates. `depth`: how many levels the value may nest. */
export function jsonText(value: unknown, careful: boolean, depth = MAX_DEPTH): JsonText {
  if (isDeep(value, depth)) return { text: null, replaced: false }
  if (!careful)
    return { text: holdsBigint(value) ? write(value, asIs) : JSON.stringify(value), replaced: false }
  let replaced = false
  const clean = (text: string): string => {
    const good = storable(text)
    if (good !== text) replaced = true
    return good
  }
  return { text: write(value, { clean }), replaced }
}
