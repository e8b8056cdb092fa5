/**
 * The time in a transcript. It stands still for its reader: it moves only where a line says so. While it is played the
 * clock goes on, faster or slower, so whatever is told of a stretch is told as of its beginning.
 */
import { span } from '../../../../src/engine/base/format.js'
import { restoreTimeOfDay, setTimeOfDay } from '../shiftedclock.js'

/** When every transcript begins: a Monday, a day like others in every time zone. */
const begins = Date.parse('2026-03-02T09:00:00Z')

/** Of the source's first records: what is earlier is no reading of the clock, however long a transcript takes. */
export const lastChange = '2026-01-01T00:00:00Z'

interface Stretch {
  readonly from: number
  /** When the next one began; not yet for the last one. */
  to?: number
}

const instants = /\b\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?Z?/g
const spans = /\b(?:\d+ (?:d|h|min)(?: \d+ (?:h|min|s))?|\d+(?:\.\d)? s)\b/g

const unit = { d: 86_400_000, h: 3_600_000, min: 60_000, s: 1000 } as const

function lengthOf(text: string): number {
  const parts = [...text.matchAll(/(\d+(?:\.\d)?) (\w+)/g)]
  return parts.reduce((sum, [, amount, name]) => sum + Number(amount) * unit[name as keyof typeof unit], 0)
}

/** What the source vouches for ends a little before it was asked. */
const early = 5000

export class PlayedTime {
  readonly #stretches: Stretch[] = [{ from: begins }]

  constructor() {
    setTimeOfDay(begins)
  }

  advance(milliseconds: number): void {
    const last = this.#last
    last.to = Date.now()
    const from = last.from + milliseconds
    if (from < last.to)
      throw new Error('It took longer to play what was before than the time that is to pass')
    this.#stretches.push({ from })
    setTimeOfDay(from)
  }

  /** When the present stretch began. */
  get begun(): number {
    return this.#last.from
  }

  end(): void {
    restoreTimeOfDay()
  }

  /** The text as it would be if nothing had taken any time. */
  told(text: string): string {
    return text
      .replaceAll(/\b(expires by itself at )\S+Z/g, '$1<within a minute>')
      .replaceAll(instants, (found) => this.#instant(found))
      .replaceAll(spans, (found) => this.#span(found))
  }

  /** Of a stretch's beginning, or whole hours from it: settings and schedules add and take away whole ones. */
  #instant(found: string): string {
    const zone = found.endsWith('Z') ? 'Z' : ''
    const digits = found.length - zone.length
    const at = Date.parse(`${found.slice(0, 10)}T${found.slice(11, digits)}Z`)
    if (at < Date.parse(lastChange)) return found
    const shownTo = digits === 16 ? 60_000 : 1000
    const told = this.#stretches
      .map((stretch) => {
        const hours = Math.floor((at + shownTo + early - stretch.from) / unit.h)
        const exact = stretch.from + hours * unit.h
        return at <= exact + endOf(stretch) - stretch.from ? exact : undefined
      })
      .findLast((exact) => exact !== undefined)
    if (told === undefined) return found
    const exact = new Date(told).toISOString().replace('Z', '000')
    return `${exact.slice(0, 10)}${found[10]}${exact.slice(11, digits)}${zone}`
  }

  #span(found: string): string {
    if (/^\S+ s$/.test(found)) return '<duration>'
    const took = Math.max(...this.#stretches.map((stretch) => endOf(stretch) - stretch.from)) + early
    const least = lengthOf(found) - took
    const most = lengthOf(found) + shownTo(found) + took
    const passed = this.#stretches.map(({ from }) => this.#last.from - from)
    const whole = Math.floor(most / wholeOf(found)) * wholeOf(found)
    const near = [...passed, whole].find((one) => one > 0 && least <= one && one <= most)
    if (near !== undefined) return span(near)
    return lengthOf(found) <= took || found.endsWith(' s') ? '<duration>' : found
  }

  get #last(): Stretch {
    return this.#stretches.at(-1) as Stretch
  }
}

/** `2 d` may be an hour more, and `2 h` a minute. */
const shownTo = (found: string): number =>
  found.includes('d') ? unit.h : found.includes('h') ? unit.min : unit.s

/** What may be told as `1 d 23 h`, `1 h 59 min`, or `30 min 1 s`: transcripts speak of whole 5 minutes. */
const wholeOf = (found: string): number => (found.includes('d') ? unit.d : 5 * unit.min)

const endOf = ({ to }: Stretch): number => to ?? Date.now()
