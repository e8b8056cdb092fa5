/*
 * One process at a time tells the entries. Of two runs that end at once, both would otherwise tell the same changes, and
 * dbt would build beside another dbt.
 */
import { HeldTurn } from '../../engine/warehouse/lease/heldturn.js'
import type { Writer } from '../../engine/warehouse/warehouse.js'
import type { CommandContext } from '../../shell/command.js'

/** Milliseconds between two attempts. */
const betweenAttempts = 500

/**
 * Does the work when no other process tells. undefined: it was still telling after `patience` milliseconds, or this
 * program should end. The next run tells what is left, so giving up loses nothing.
 */
export async function inTurn<T>(
  { clock, invocation }: Pick<CommandContext, 'clock' | 'invocation'>,
  warehouse: Writer,
  patience: number,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const { signal } = invocation.signals
  const turn = new HeldTurn(warehouse, 'then turn')
  const began = clock.nowMicros()
  while (await turn.take()) {
    if (signal.aborted || Number(clock.nowMicros() - began) / 1000 > patience) return undefined
    await clock.sleep(betweenAttempts, signal)
  }
  try {
    return await work()
  } finally {
    await turn.end()
  }
}
