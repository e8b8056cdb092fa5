/** Every integer of fewer digits is exact as a double. */
const wideDigits = 16
const wideInteger = /":(\d{16,})(?=[,}\]])/g
const [quote, colon] = [34, 58]
const isDigit = (byte = 0): boolean => byte >= 48 && byte <= 57

/** Whether a member's value is an integer of 16 digits or more. A run of so many digits lies on a multiple of 16. */
function holdsWideInteger(bytes: Buffer): boolean {
  for (let at = 0; at < bytes.length; at += wideDigits) {
    if (!isDigit(bytes[at])) continue
    let [first, last] = [at, at]
    while (isDigit(bytes[first - 1])) first--
    if (bytes[first - 1] !== colon || bytes[first - 2] !== quote) continue
    while (isDigit(bytes[last + 1])) last++
    if (last - first + 1 >= wideDigits && bytes[last + 1] !== 46) return true
  }
  return false
}

/**
 * The records of a page. Where it holds integers beyond 2^53, each becomes text with a blank before its digits: SQLite and
 * BigInt read both as the same integer, and `_extra` tells it from text (`printed`).
 */
export function recordsOf(body: Buffer): unknown[] {
  const text = body.toString('utf8')
  const exact = holdsWideInteger(body) ? text.replace(wideInteger, '":" $1"') : text
  return (JSON.parse(exact) as { results: unknown[] }).results
}

/** JSON text with the wide integers as numbers again. */
export const printed = (value: object): string => JSON.stringify(value).replace(/" (\d{16,})"/g, '$1')
