/**
 * Moves one member of `_extra` into a column, and back. Both sides are JSON text whose numbers haven't been parsed.
 * src/engine/warehouse/pendingmoves.ts uses it when the configuration turns an unknown field into a column or reverses
 * that.
 */
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

/** The member that a column's value becomes. `value`: as the database returns it. Numbers and JSON may come as text. */
export function memberOfValue(value: unknown, kind: Kind): string {
  if (kind === 'boolean') return value === true || value === 1 ? 'true' : 'false'
  return ['text', 'timestamp', 'day'].includes(kind) ? JSON.stringify(value) : String(value)
}

/** What the database returns for a field as text; null if it has none. `kind`: of its column; `json` for a member. */
export function fieldText(value: unknown, kind: Kind): string | null {
  if (value === null || value === undefined) return null
  if (kind === 'boolean') return memberOfValue(value, kind)
  const { value: text } =
    kind === 'json' ? valueOfMember(String(value), 'text', 'numeric') : convert.text(value)
  return text === null ? null : String(text)
}
