/*
 * The progress of a command, as one line on the terminal: how much is done, how long the rest takes, what is under way.
 */

import { visible } from '../engine/base/escape.js'
import { count, plural, span } from '../engine/base/format.js'
import type { Observer } from '../engine/run/runreport.js'
import type { SourceStats } from '../engine/source/source.js'
import type { CommandContext } from './command.js'
import { Tracker } from './tracker.js'
import { shortened, widthOf } from './width.js'

/* Shows the progress of work if a person sits at a terminal. */

/**
 * Starts to show what the tracker knows. Returns a function that stops it. Logs go to the same terminal, above the
 * line.
 */
export function showProgress(
  context: CommandContext,
  tracker: Tracker,
  stats: () => SourceStats | undefined,
): () => void {
  const { io, out } = context.invocation
  const { stderr } = io
  if (!stderr.isTTY || out.quiet) return () => undefined
  const screen = { write: (text: string) => void stderr.write(text), width: () => stderr.columns || 80 }
  const progress = new ProgressDisplay(tracker, screen, stats)
  progress.draw()
  const { writeLog } = context
  context.writeLog = (text) => progress.around(() => writeLog(text))
  const { around } = out
  out.around = (write) => progress.around(write)
  context.invocation.signals.cleanUp = () => progress.stop()
  return () => {
    progress.stop()
    out.around = around
    context.writeLog = writeLog
    context.invocation.signals.cleanUp = undefined
  }
}

/** Does work that no run records, with a progress display. */
export async function shown<T>(
  context: CommandContext,
  {
    what,
    stats = () => undefined,
  }: { readonly what?: string; readonly stats?: () => SourceStats | undefined },
  work: (observer: Observer) => Promise<T>,
): Promise<T> {
  const tracker = new Tracker()
  if (what !== undefined) tracker.step(what, 0, 0)
  const stop = showProgress(context, tracker, stats)
  try {
    return await work({
      planned: (tenants, cursors) => tracker.planned(tenants, cursors),
      begun: (cursor) => tracker.begun(cursor),
      page: (event) => tracker.page(event),
      cursor: (report) => tracker.cursor(report),
      step: (of, done, total) => tracker.step(of, done, total),
    })
  } finally {
    stop()
  }
}

const clearLine = '\r\u001B[2K'
const betweenDraws = 100
/** How long a list takes isn't known before a few have arrived: a guess from less would be wrong by a factor. */
const leastShare = 0.02
const leastWorked = 2000
/** For rate-limit windows of unknown length. */
const usualWindow = 60_000

/**
 * Milliseconds that the rest takes. undefined while unknown. The rest continues at the pace so far, but no faster than
 * the rate limit allows: a run that is quick until the limit is used up must not promise to stay so, and one that waits
 * continues as quickly as before.
 */
export function timeToGo({
  share,
  worked,
  now,
  stats: { requests, window },
}: {
  /** From 0 to 1. */
  readonly share: number
  /** In milliseconds since the work began, minus the time spent waiting for the rate limit. */
  readonly worked: number
  readonly now: number
  readonly stats: Pick<SourceStats, 'requests' | 'window'>
}): number | undefined {
  if (share < leastShare || worked < leastWorked) return undefined
  const byPace = (worked / share) * (1 - share)
  const left = Math.round((requests / share) * (1 - share))
  if (!window || left <= window.remaining) return byPace
  const reset = Math.max(0, window.resetsAt - now)
  const later = left - window.remaining
  const limit = Math.max(1, window.limit)
  // The requests in the last window need no further window, even if there are a whole window's worth.
  const whole = Math.ceil(later / limit) - 1
  const ofTheLast = (later - whole * limit) / left
  const waits = reset + whole * (window.length ?? usualWindow)
  return Math.max(byPace, waits + byPace * ofTheLast)
}

const bar = (share: number, columns: number): string => {
  const full = Math.round(share * columns)
  return '━'.repeat(full) + '─'.repeat(columns - full)
}

const percent = (share: number): string => `${Math.floor(share * 100)}%`

/** The parts that fit, first ones first. */
function fitted(parts: readonly string[], columns: number): string {
  let line = ''
  for (const part of parts.filter((text) => text !== '')) {
    const longer = line === '' ? part : `${line} · ${part}`
    if (widthOf(longer) > columns) break
    line = longer
  }
  return line === '' ? shortened(parts.find((text) => text !== '') ?? '', columns) : line
}

/** One line on the terminal with the progress of a command. `stop` removes the line. */
export class ProgressDisplay {
  readonly #started: number
  #drawn = 0
  #ticked: number
  #waited = 0
  #shown = false
  readonly #timer: NodeJS.Timeout

  constructor(
    private readonly tracker: Tracker,
    private readonly screen: {
      write(text: string): void
      /** Columns of the terminal. */
      width(): number
    },
    private readonly stats: () => SourceStats | undefined,
    private readonly now: () => number = Date.now,
  ) {
    this.#started = now()
    this.#ticked = this.#started
    this.#timer = setInterval(() => this.draw(), 250)
    this.#timer.unref()
  }

  draw(): void {
    const now = this.now()
    const { window } = this.stats() ?? {}
    if (window && window.remaining <= 0) this.#waited += now - this.#ticked
    this.#ticked = now
    if (now - this.#drawn < betweenDraws) return
    this.#drawn = now
    this.screen.write(`${clearLine}${visible(this.line(now))}`)
    this.#shown = true
  }

  /** Writes other text to the same terminal: removes the line, which reappears with its next draw. */
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
    const columns = Math.max(10, this.screen.width() - 1)
    return fitted(this.#parts(now, Math.min(24, Math.floor(columns / 5))), columns)
  }

  #parts(now: number, barColumns: number): string[] {
    const elapsed = now - this.#started
    const step = this.tracker.aside
    if (step) {
      if (step.total === 0) return [`${step.what} … ${span(elapsed)}`]
      const share = step.done / step.total
      const amounts = `${count(step.done)} of ${count(step.total)}`
      return [`${bar(share, barColumns)} ${percent(share)}`, step.what, amounts]
    }
    const { cursors, cursorsDone, records } = this.tracker.counts()
    if (cursors === 0) return [`listing the tenants … ${span(elapsed)}`]
    const share = this.tracker.share()
    const { current } = this.tracker
    const stats = this.stats()
    const toGo = stats && timeToGo({ share, worked: elapsed - this.#waited, now, stats })
    return [
      `${bar(share, barColumns)} ${percent(share)}`,
      toGo === undefined ? '' : `about ${span(toGo)} to go`,
      spentText(stats, now),
      current ? `tenant ${current.tenantId}, ${current.resource}` : '',
      `${count(cursorsDone)} of ${count(cursors)} cursors`,
      records > 0 ? plural(records, 'record') : '',
      leftText(stats),
    ]
  }

  #clear(): void {
    if (this.#shown) this.screen.write(clearLine)
    this.#shown = false
  }
}

const spentText = (stats: SourceStats | undefined, now: number): string =>
  stats?.window && stats.window.remaining <= 0
    ? `rate limit used up, more in ${span(Math.max(0, stats.window.resetsAt - now))}`
    : ''

const leftText = (stats: SourceStats | undefined): string =>
  stats?.window && stats.window.remaining > 0
    ? `${count(stats.window.remaining)} of ${count(stats.window.limit)} requests left`
    : ''
