/** What kind of JSON value something is. */
export function isJsonObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The kind of a JSON value for a message, never its content. */
export function kindOf(value: unknown): string {
  if (value === undefined) return 'missing'
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'number') return Number.isInteger(value) ? `the number ${value}` : 'a fraction'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
