/*
 * The progress of a run for people: what a run has done so far, one line of it on the terminal, and the message after an
 * interruption. Used by src/cli/execute.ts.
 */

import type { SourceStats } from '../../api/source.js'
import { count, firstOf, span } from '../../format.js'
import type { CursorReport, Observer } from '../../sync/run/report.js'

type PageEvent = Parameters<NonNullable<Observer['page']>>[0]

export interface ProgressTally {
  readonly tenants: number
  readonly cursors: number
  /** Cursors that came to their end, failed ones included. */
  readonly cursorsDone: number
  readonly records: number
  /** Cursors that were begun and are not complete: records handled so far, and records expected. */
  readonly underWay: readonly {
    readonly tenantId: PageEvent['tenantId']
    readonly resource: string
    readonly done: number
    readonly expected: number
  }[]
}

/** Adds up the events of a run, for the progress display and for the message after an interruption. */
export class Tracker implements Observer {
  #tenants = 0
  #cursors = 0
  #records = 0
  readonly #finished = new Set<string>()
  readonly #stopped: PageEvent[] = []
  readonly #pages = new Map<string, PageEvent>()
  /** Records of all lists that were begun. */
  #expected = 0
  #handled = 0
  #begun = 0

  planned(tenants: number, cursors: number): void {
    this.#tenants = tenants
    this.#cursors = cursors
  }

  page(event: PageEvent): void {
    const name = `${event.tenantId} ${event.resource}`
    const before = this.#pages.get(name)
    if (!before) this.#begun += 1
    this.#records += event.records
    this.#expected += event.expected - (before?.expected ?? 0)
    this.#handled += event.done - (before?.done ?? 0)
    this.#pages.set(name, event)
  }

  cursor(report: CursorReport): void {
    const name = `${report.tenant_id} ${report.resource}`
    const last = this.#pages.get(name)
    if (last) this.#handled += last.expected - last.done
    else this.#begun += 1
    this.#pages.delete(name)
    if (last && report.status === 'failed') this.#stopped.push(last)
    this.#finished.add(name)
  }

  tally(): ProgressTally {
    return {
      tenants: this.#tenants,
      cursors: this.#cursors,
      cursorsDone: this.#finished.size,
      records: this.#records,
      underWay: [...this.#stopped, ...this.#pages.values()],
    }
  }

  /** Tenants all of whose cursors are done. */
  tenantsDone(): number {
    const each = this.#tenants > 0 ? this.#cursors / this.#tenants : 0
    const done = new Map<string, number>()
    for (const name of this.#finished) {
      const tenant = name.slice(0, name.indexOf(' '))
      done.set(tenant, (done.get(tenant) ?? 0) + 1)
    }
    return [...done.values()].filter((cursors) => cursors >= each).length
  }

  /** Share of the work that is done, 0 to 1. A list that was not begun counts as long as the average of the others. */
  share(): number {
    if (this.#cursors === 0 || this.#begun === 0) return 0
    const all = this.#expected + (this.#expected / this.#begun) * Math.max(0, this.#cursors - this.#begun)
    return all > 0 ? Math.min(1, this.#handled / all) : this.#finished.size / this.#cursors
  }
}

export interface Screen {
  write(text: string): void
  /** Columns of the terminal. */
  width(): number
}

const clearLine = '\r\u001B[2K'
const betweenDraws = 100

/** One line on the terminal with the progress of the run. `stop` removes the line. */
export class ProgressDisplay {
  readonly #started: number
  #drawn = 0
  #shown = false
  readonly #timer: NodeJS.Timeout

  constructor(
    private readonly tracker: Tracker,
    private readonly screen: Screen,
    private readonly stats: () => SourceStats,
    private readonly now: () => number = Date.now,
  ) {
    this.#started = now()
    this.#timer = setInterval(() => this.draw(), 250)
    this.#timer.unref()
  }

  draw(): void {
    const now = this.now()
    if (now - this.#drawn < betweenDraws) return
    this.#drawn = now
    const line = [...this.line(now)].slice(0, Math.max(10, this.screen.width() - 1)).join('')
    this.screen.write(`${clearLine}${line}`)
    this.#shown = true
  }

  /** Writes other text to the same terminal: removes the line, which comes back with its next draw. */
  around(write: () => void): void {
    this.#clear()
    write()
    this.#drawn = 0
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#clear()
  }

  line(now: number): string {
    const { tenants, cursors, cursorsDone, records } = this.tracker.tally()
    const elapsed = now - this.#started
    if (cursors === 0) return `asking which tenants there are … ${span(elapsed)}`
    const rate = elapsed > 0 ? Math.round((records * 1000) / elapsed) : 0
    return [
      `tenants ${this.tracker.tenantsDone()}/${tenants}`,
      `cursors ${cursorsDone}/${cursors}`,
      `${count(records)} records`,
      `${count(rate)}/s`,
      this.#window(now),
      this.#toGo(elapsed),
    ]
      .filter((part) => part !== '')
      .join(' · ')
  }

  #window(now: number): string {
    const { window } = this.stats()
    if (!window) return ''
    const left = `${count(window.remaining)} of ${count(window.limit)} requests left`
    return window.remaining > 0 ? left : `${left}, more in ${span(Math.max(0, window.resetsAt - now))}`
  }

  #toGo(elapsed: number): string {
    const share = this.tracker.share()
    return share < 0.02 || elapsed < 2000 ? '' : `${span((elapsed / share) * (1 - share))} to go`
  }

  #clear(): void {
    if (this.#shown) this.screen.write(clearLine)
    this.#shown = false
  }
}

const shownCursors = 10

/** Where the next run resumes a run that was interrupted. */
export function resumption({ cursors, cursorsDone, records, underWay }: ProgressTally): string {
  if (cursors === 0) return 'nothing was begun; the next run starts as this one did'
  const done = Math.max(0, cursorsDone - underWay.length)
  const head = `${done} of ${cursors} cursors are done, ${records} records were read`
  if (underWay.length === 0) return `${head}; the next run resumes where this one stopped`
  const places = firstOf(
    underWay,
    shownCursors,
    ({ tenantId, resource, done, expected }) =>
      `tenant ${tenantId}, ${resource}: record ${done} of ${expected}`,
    (others) => `and ${others} more`,
  )
  return `${head}; the next run resumes at\n${places}`
}
