/*
 * Why a run ends before its work is done: a signal, its time limit, or a command that needs the whole warehouse. Work in
 * progress is committed, unfinished cursors are skipped, and the next run continues with them. Used by the run and by the
 * command line.
 */
import type { Clock } from '../base/clock.js'
import { Stop } from '../base/errors.js'
import type { Reason } from '../base/reasons.js'

export type Ending = Extract<Reason, 'interrupted' | 'time_limit' | 'wanted'>

/** What a signal fires with when a run's time is up. */
export const timeIsOver = (): Stop =>
  new Stop('The time limit ended the run; the next run starts with the cursors that have waited longest', {
    exitCode: 1,
    code: 'time_limit',
  })

/** Why the signal fired. null if it hasn't. */
export function endingOf(signal: AbortSignal): Ending | null {
  if (!signal.aborted) return null
  const { reason } = signal
  const code = reason instanceof Stop ? (reason.details.code ?? null) : null
  return isCut(code) ? code : 'interrupted'
}

/** Whether a run was cut short by its own time limit, or made room for another command: nobody asked it to end for good. */
export const isCut = (reason: Reason | null): reason is 'time_limit' | 'wanted' =>
  reason === 'time_limit' || reason === 'wanted'

/** What a run with a time limit listens to. `using` stops the timer. */
export interface TimeLimit extends Disposable {
  readonly signal: AbortSignal
  /** When it fires, in ms since the epoch. undefined without a limit. */
  readonly endsAt?: number | undefined
  readonly timeLimited: boolean
}

/** A signal that fires when the given one does, or after this many milliseconds. */
export function timeLimit(
  milliseconds: number | undefined,
  { clock, signal }: { readonly clock: Clock; readonly signal: AbortSignal },
): TimeLimit {
  if (milliseconds === undefined) return { signal, timeLimited: false, [Symbol.dispose]: () => {} }
  const limit = new AbortController()
  const done = new AbortController()
  void clock.sleep(milliseconds, done.signal).then(() => {
    if (!done.signal.aborted) limit.abort(timeIsOver())
  })
  return {
    signal: AbortSignal.any([signal, limit.signal]),
    timeLimited: true,
    endsAt: Number(clock.nowMicros() / 1000n) + milliseconds,
    [Symbol.dispose]: () => done.abort(),
  }
}
