/* What a program that stays up tells monitoring about itself and its warehouse. Used by `schedule` and `worker`. */
import { performance } from 'node:perf_hooks'
import { describeError } from '../../engine/base/errors.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { CommandContext } from '../../shell/command.js'
import { inTime } from '../../shell/intime.js'
import { packageVersion } from '../../shell/package.js'
import type { Watched } from '../../shell/statusserver.js'
import { openIncidents } from './openincidents.js'
import { metricsOf } from './writemetrics.js'

interface Reached {
  readonly ready: boolean
  readonly warehouse: string
  /** How many are open; null if unknown. */
  readonly incidents: number | null
}

/** Whether the warehouse answers in time, and whether it needs attention. */
async function reach(warehouse: Warehouse, signal: AbortSignal): Promise<Reached> {
  const away = (found: string): Reached => ({ ready: false, warehouse: found, incidents: null })
  if (warehouse.dialect.file.isGone() || signal.aborted) return away('it was replaced or removed')
  return inTime(warehouse.read((db) => openIncidents(warehouse, db))).then(
    ({ length }): Reached => ({ ready: true, warehouse: 'ok', incidents: length }),
    (error: unknown) => away(describeError(error)),
  )
}

/** `signal`: has fired when the warehouse was replaced. `ready`: what /ready says besides. */
export function watchedBy(
  context: CommandContext,
  {
    warehouse,
    signal,
    ready,
  }: { readonly warehouse: Warehouse; readonly signal: AbortSignal; readonly ready: () => object },
): Watched {
  let metrics: Promise<string> | undefined
  return {
    health: () => ({
      status: 'ok',
      version: packageVersion(),
      up_seconds: Math.round(performance.now() / 1000),
    }),
    ready: async () => ({ ...(await reach(warehouse, signal)), ...ready() }),
    metrics: () => {
      // Those who ask again meanwhile wait for the same answer: a database that is away doesn't collect questions.
      metrics ??= metricsOf(context, warehouse).finally(() => {
        metrics = undefined
      })
      return inTime(metrics)
    },
  }
}
