/* The metrics of the configured warehouse. Used by `shopsync schedule`, and after each run. */
import { describeError, isExpected, outsideCode } from '../../engine/base/errors.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { CommandContext } from '../../shell/command.js'
import { packageVersion } from '../../shell/package.js'
import { metricsSettings } from './metricssettings.js'

/** All metrics as text. */
export async function metricsOf(
  { config, model, clock }: CommandContext,
  warehouse: Warehouse,
): Promise<string> {
  const [{ metricsText }, { alertStateSettings }, { staleAfterNow }] = await Promise.all([
    import('./metrics.js'),
    import('./alertstatesettings.js'),
    import('../targets/stretchedbound.js'),
  ])
  const { maxTenants, labels } = metricsSettings(config)
  const settings = alertStateSettings(config, model, clock)
  return metricsText({
    ...settings,
    staleAfterMs: await staleAfterNow(warehouse, settings),
    warehouse,
    maxTenants,
    labels,
    version: packageVersion(),
    nowMicros: clock.nowMicros(),
  })
}

/** Writes `metrics.textfile`, if configured. If the file can't be written, the run isn't affected. */
export async function writeMetrics(context: CommandContext): Promise<void> {
  const { textfile } = metricsSettings(context.config)
  if (textfile === undefined) return
  try {
    const warehouse = await context.open('there')
    if (warehouse === undefined) return
    const { writeTextfile } = await import('./textfile.js')
    await writeTextfile(textfile, await metricsOf(context, warehouse), context.config.folder)
  } catch (error) {
    if (!isExpected(error) && outsideCode(error) === undefined) throw error
    const found = describeError(error)
    context.log.warn(
      { textfile, error: found },
      'The metrics were not written: expected a file in a folder that this user may write (metrics.textfile)',
    )
  }
}
