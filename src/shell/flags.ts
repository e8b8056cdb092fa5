import { Stop } from '../engine/base/errors.js'

/* Parses values of flags, whose type is unknown when commander returns them. */

/** The values of a flag that may be repeated. */
export const listOf = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : [])

/** The whole number that a flag has. undefined without the flag. */
export function wholeNumber(
  flag: string,
  value: unknown,
  { from = 0, to, example }: { readonly from?: number; readonly to?: number; readonly example: number },
): number | undefined {
  if (value === undefined) return undefined
  const number = /^\d+$/.test(String(value)) ? Number(value) : Number.NaN
  if (number >= from && number <= (to ?? Number.MAX_SAFE_INTEGER)) return number
  const range = to !== undefined ? ` from ${from} to ${to}` : from > 0 ? `, ${from} or more` : ''
  throw new Stop(`Found ${flag} "${value}", expected a whole number${range}`, {
    exitCode: 2,
    hint: `Type ${to === undefined ? 'for example ' : ''}${flag} ${example}`,
  })
}
