import { toMillis } from './timestamp.js'

/* One format for numbers, times and lists wherever a person reads them: command output and the bench. */

const beforeThousands = /\B(?=(\d{3})+$)/g

/**
 * Formats whole numbers without Intl, which takes a hundredth of a second for its first number; every command prints a
 * few.
 */
export const count = (value: number | bigint): string =>
  typeof value === 'bigint' || Number.isSafeInteger(value)
    ? String(value).replaceAll(beforeThousands, ',')
    : value.toLocaleString('en-US')

export const plural = (amount: number, noun: string): string =>
  `${count(amount)} ${amount === 1 ? noun : many(noun)}`

/** One word of a shell command line. */
export const word = (text: string): string =>
  /^[\w./:@=+-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`

/** `a`, `a and b`, `a, b and c`; from the fifth on, their number. */
export function joinedNames(names: readonly string[], most = 4): string {
  const all = names.length > most ? [...names.slice(0, most - 1), `${names.length - most + 1} more`] : names
  return all.length < 2 ? all.join('') : `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`
}

const many = (noun: string): string =>
  /[^aeiou]y$/.test(noun) ? `${noun.slice(0, -1)}ies` : noun.endsWith('s') ? `${noun}es` : `${noun}s`

const units = [
  { name: 'd', seconds: 86_400 },
  { name: 'h', seconds: 3600 },
  { name: 'min', seconds: 60 },
  { name: 's', seconds: 1 },
] as const

/** A duration in its two largest units: `4.2 s`, `3 min 5 s`, `2 d 4 h`. */
export function span(milliseconds: number): string {
  if (milliseconds < 9950) return `${(Math.max(0, milliseconds) / 1000).toFixed(1)} s`
  let rest = Math.round(milliseconds / 1000)
  const parts: string[] = []
  for (const { name, seconds } of units) {
    const amount = Math.floor(rest / seconds)
    rest -= amount * seconds
    if (amount > 0) parts.push(`${amount} ${name}`)
    else if (parts.length > 0) break
  }
  return parts.slice(0, 2).join(' ')
}

/** A canonical timestamp to the minute, for tables whose headings say UTC. */
export const atMinute = (timestamp: string): string => `${timestamp.slice(0, 10)} ${timestamp.slice(11, 16)}`

/** A canonical timestamp to the second. */
export const atSecond = (timestamp: string): string =>
  `${timestamp.slice(0, 10)} ${timestamp.slice(11, 19)} UTC`

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const

/** `Nov 22`: of a day or a canonical timestamp. */
export const dayOfMonth = (day: string): string =>
  `${months[Number(day.slice(5, 7)) - 1] ?? ''} ${Number(day.slice(8, 10))}`

/** Milliseconds from a canonical timestamp to now. */
export const since = (timestamp: string, nowMicros: bigint): number =>
  Math.round(Number(nowMicros) / 1000 - toMillis(timestamp))

/** How far apart two machines' clocks may be when nothing is wrong. */
export const clocksApartMs = 60_000

/**
 * Milliseconds from a canonical timestamp to now. undefined if it is ahead of now: a wrong clock wrote it, and its age
 * is unknown.
 */
export function ageOf(timestamp: string, nowMicros: bigint): number | undefined {
  const age = since(timestamp, nowMicros)
  return age <= -clocksApartMs ? undefined : Math.max(0, age)
}

/** Whether the timestamp is older than that. An unknown age counts as too old: calling it fresh was judged worse. */
export const isOlderThan = (timestamp: string, nowMicros: bigint, milliseconds: number): boolean =>
  (ageOf(timestamp, nowMicros) ?? Number.POSITIVE_INFINITY) > milliseconds

/** How long ago a moment was, for people. */
export function ago(timestamp: string, nowMicros: bigint): string {
  const age = ageOf(timestamp, nowMicros)
  return age === undefined ? `at ${atSecond(timestamp)}, ahead of this machine's clock` : `${span(age)} ago`
}

/**
 * Shortens the requests in a text for people: the list and its page instead of a whole address with encoded times. The
 * log and --json keep the address.
 */
export const shortRequests = (text: string): string =>
  text.replaceAll(/GET (\/[^\s?,:)]*)(\?[^\s,:)]*)?/g, (_, path: string, query = '') => {
    const list = path.replace(/^.*\/(?:tenants|partners)\/[^/]+\//, '')
    const page = /[?&]page=(\d+)/.exec(query)?.[1] ?? '1'
    return `GET ${list}${page === '1' ? '' : `, page ${page}`}`
  })

export const indent = (text: string, by = '  '): string => text.replaceAll(/^(?=.)/gm, by)

/** Joins the non-empty parts, with an empty line between them. */
export const paragraphs = (parts: readonly string[]): string =>
  parts.filter((part) => part !== '').join('\n\n')

/** The first items of a list; `more` says how many are left out. */
export function firstOf<T>(
  items: readonly T[],
  most: number,
  line: (item: T) => string,
  more: (others: number) => string,
): string {
  const lines = items.slice(0, most).map(line)
  if (items.length > most) lines.push(more(items.length - most))
  return indent(lines.join('\n'))
}

export const withArticle = (noun: string): string => `${/^[aeiou]/.test(noun) ? 'an' : 'a'} ${noun}`

/** `line item`, from `line_items`. */
export const singularOf = (table: string): string => table.replaceAll('_', ' ').replace(/s$/, '')
