/*
 * Shows the progress of work where somebody sits at a terminal. Used by every command that may take long: what writes
 * passes the events of its work to the observer, what asks one long question only says what it is doing.
 */

import type { Observer } from '../engine/run/runreport.js'
import type { SourceStats } from '../engine/source/source.js'
import type { CommandContext } from './command.js'
import { ProgressDisplay } from './progress.js'
import { Tracker } from './tracker.js'

/** Begins to show what the tracker knows; returns what ends it. Logs go to the same terminal, above the line. */
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
  context.invocation.signals.cleanUp = () => progress.stop()
  return () => {
    progress.stop()
    context.writeLog = writeLog
    context.invocation.signals.cleanUp = undefined
  }
}

/** Does work that no run records, under the eyes of the display. */
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
