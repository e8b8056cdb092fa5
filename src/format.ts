import { toMicros } from './timestamp.js'

/* Numbers, times and tables as people read them. */

export const count = (value: number | bigint): string =>
  String(value).replaceAll(/\B(?=(\d{3})+(?!\d))/g, ',')

export const dollars = (cents: number): string => {
  const sign = cents < 0 ? '-' : ''
  const whole = Math.abs(Math.round(cents))
  return `${sign}${count(Math.floor(whole / 100))}.${String(whole % 100).padStart(2, '0')}`
}

const units = [
  { name: 'd', seconds: 86_400 },
  { name: 'h', seconds: 3600 },
  { name: 'min', seconds: 60 },
  { name: 's', seconds: 1 },
] as const

/** A length of time by its two largest units: `4.2 s`, `3 min 5 s`, `2 d 4 h`. */
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

export const plural = (amount: number, noun: string): string =>
  `${count(amount)} ${amount === 1 ? noun : many(noun)}`

const many = (noun: string): string =>
  noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : noun.endsWith('s') ? `${noun}es` : `${noun}s`

export interface Heading {
  readonly title: string
  readonly align?: 'left' | 'right'
}

const width = (text: string): number => [...text].length

/** A plain table: aligned columns, a rule below the headings, no frame; the same on a terminal and in a pipe. */
export function table(headings: readonly Heading[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map(({ title }, i) =>
    rows.reduce((most, row) => Math.max(most, width(row[i] ?? '')), width(title)),
  )
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, i) => {
        const gap = ' '.repeat(Math.max(0, (widths[i] ?? 0) - width(cell)))
        return headings[i]?.align === 'right' ? gap + cell : cell + gap
      })
      .join('  ')
      .trimEnd()
  const rule = widths.map((size) => '─'.repeat(size)).join('  ')
  return [line(headings.map(({ title }) => title)), rule, ...rows.map(line)].join('\n')
}

export const indent = (text: string, by = '  '): string => text.replaceAll(/^(?=.)/gm, by)

/** A canonical timestamp to the second. */
export const atSecond = (timestamp: string): string =>
  `${timestamp.slice(0, 10)} ${timestamp.slice(11, 19)} UTC`

/** Milliseconds from a canonical timestamp to now. */
export const since = (timestamp: string, nowMicros: bigint): number =>
  Number((nowMicros - toMicros(timestamp)) / 1000n)
