import { isExpected } from '../../engine/base/errors.js'
import { keepSeenLength } from '../../engine/run/windowlength.js'
import { rateOf } from '../../engine/source/rate/knownrate.js'
import type { CommandContext, FinishedWork } from '../../shell/command.js'

/** Every run stores what it has learned: a plan, and a run that begins late in a window, have seen too little of it. */
export async function keepAfterRun(
  context: CommandContext,
  { onRecord, exitCode }: FinishedWork,
): Promise<void> {
  const stats = context.openedSource?.stats()
  if (!onRecord || exitCode > 1 || !stats?.window) return
  const told = rateOf(stats, 0, Number(context.clock.nowMicros() / 1000n))
  try {
    const warehouse = await context.open('there')
    if (told && warehouse) await keepSeenLength(warehouse, told, stats.window.resetsAt)
  } catch (error) {
    // A run is as good without it.
    if (!isExpected(error)) throw error
  }
}
