/* Programs that stay up end when the file of their warehouse is replaced. Used by `listen` and `schedule`. */
import type { Clock } from '../../engine/base/clock.js'
import { hasWentBack, wentBack } from '../../engine/warehouse/fence.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'

/** Milliseconds between two looks at the file. */
const betweenLooks = 1000

/**
 * Fires when the signal does, or when the file was replaced or removed. A program that goes on would answer from a file
 * that nobody else sees; started again, it opens the one that is there and checks which source it belongs to.
 */
export function untilReplaced(
  { dialect, where }: Pick<Warehouse, 'dialect' | 'where'>,
  clock: Clock,
  signal: AbortSignal,
): AbortSignal {
  const ended = new AbortController()
  const look = async (): Promise<void> => {
    while (!signal.aborted && !dialect.isGone()) await clock.sleep(betweenLooks, signal)
    ended.abort(
      signal.aborted
        ? signal.reason
        : wentBack(`The file of the warehouse ${where} was replaced or removed while this program was up`),
    )
  }
  void look()
  return ended.signal
}

/** Throws what `untilReplaced` fired with, unless it was the program's own signal. */
export function throwIfReplaced({ reason }: AbortSignal): void {
  if (hasWentBack(reason)) throw reason
}
