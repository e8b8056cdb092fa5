/*
 * What a run has done so far, added up from its events: for the progress line, and for the message after an
 * interruption. Used by src/shell/execute.ts.
 */
import { count, firstOf, plural } from '../engine/base/format.js'
import type { CursorReport, Observer } from '../engine/run/runreport.js'

type Begun = Parameters<NonNullable<Observer['begun']>>[0]
type PageEvent = Parameters<NonNullable<Observer['page']>>[0]

export interface ProgressCounts {
  readonly tenants: number
  readonly cursors: number
  /** Cursors that ended, including failed ones. */
  readonly cursorsDone: number
  readonly records: number
  /** Cursors that have started and aren't complete: records handled so far, and records expected. */
  readonly underWay: readonly {
    readonly tenantId: PageEvent['tenantId']
    readonly resource: string
    readonly done: number
    readonly expected: number
  }[]
}

/** Work that doesn't belong to a cursor. */
export interface Step {
  readonly what: string
  readonly done: number
  /** 0 if unknown. */
  readonly total: number
}

/** Adds up the events of a run. */
export class Tracker implements Observer {
  #tenants = 0
  #cursors = 0
  #records = 0
  readonly #finished = new Set<string>()
  readonly #stopped: PageEvent[] = []
  readonly #pages = new Map<string, PageEvent>()
  /** Records in all lists that were started. */
  #expected = 0
  #handled = 0
  #begun = 0
  #current: Begun | undefined
  #step: Step | undefined

  planned(tenants: number, cursors: number): void {
    this.#tenants = tenants
    this.#cursors = cursors
    this.#step = undefined
  }

  begun(cursor: Begun): void {
    this.#current = cursor
    this.#step = undefined
  }

  step(what: string, done: number, total: number): void {
    this.#step = { what, done, total }
  }

  /** What is under way alongside the cursors, or before them. */
  get aside(): Step | undefined {
    return this.#step
  }

  /** The list that was started last, or showed the last page. */
  get current(): Begun | undefined {
    return this.#current
  }

  page(shown: PageEvent): void {
    // Records that are read again count again, but a list can't be further than its end.
    const event = { ...shown, done: Math.min(shown.done, shown.expected) }
    const name = `${event.tenantId} ${event.resource}`
    const before = this.#pages.get(name)
    if (!before) this.#begun += 1
    this.#records += event.records
    this.#current = event
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

  counts(): ProgressCounts {
    return {
      tenants: this.#tenants,
      cursors: this.#cursors,
      cursorsDone: this.#finished.size,
      records: this.#records,
      underWay: [...this.#stopped, ...this.#pages.values()],
    }
  }

  /**
   * The share of the work that is done, 0 to 1. A list that hasn't been started counts as long as the average of the
   * others.
   */
  share(): number {
    if (this.#cursors === 0 || this.#begun === 0) return 0
    const all = this.#expected + (this.#expected / this.#begun) * Math.max(0, this.#cursors - this.#begun)
    return all > 0 ? Math.min(1, this.#handled / all) : this.#finished.size / this.#cursors
  }
}

const shownCursors = 10

/** Where the next run resumes an interrupted run. */
export function resumption({ cursors, cursorsDone, records, underWay }: ProgressCounts): string {
  if (cursors === 0) return 'no list was started; the next run starts over'
  const done = Math.max(0, cursorsDone - underWay.length)
  const head = `${count(done)} of ${plural(cursors, 'cursor')} done, ${plural(records, 'record')} read`
  if (underWay.length === 0) return `${head}; the next run resumes where this one stopped`
  const places = firstOf(
    underWay,
    shownCursors,
    ({ tenantId, resource, done, expected }) =>
      `tenant ${tenantId}, ${resource}: record ${done} of ${expected}`,
    (others) => `and ${count(others)} more`,
  )
  return `${head}; the next run resumes at\n${places}`
}
