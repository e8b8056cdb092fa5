/* What the database returns for a member of `_extra`, whose numbers haven't been parsed, or for a field as text. */
import type { Kind } from '../../../../schema/resource.js'
import { type NumberForm, NumberToken } from '../../base/numbertoken.js'
import { type Converted, convert } from './convert.js'

const NUMBER = /^-?\d/

function parsed(text: string): unknown {
  return NUMBER.test(text) ? new NumberToken(text) : (JSON.parse(text) as unknown)
}

/** The column's value, as flatten makes it from the field. `text`: the member. */
export function valueOfMember(text: string, kind: Kind, form: NumberForm): Converted {
  const value = parsed(text)
  if (value === null) return { value: null, reason: null, replaced: false }
  // The warehouse already holds this text, so it can be stored, and it keeps its digits.
  if (kind === 'json') return { value: text, reason: null, replaced: false }
  return convert[kind](value, form)
}

/** What the database returns for a field as text; null if it has none. `kind`: of its column; `json` for a member. */
export function fieldText(value: unknown, kind: Kind): string | null {
  if (value === null || value === undefined) return null
  if (kind === 'boolean') return value === true || value === 1 ? 'true' : 'false'
  const { value: text } =
    kind === 'json' ? valueOfMember(String(value), 'text', 'numeric') : convert.text(value)
  return text === null ? null : String(text)
}
