/*
 * What a run keeps up to date for analysts besides the rows: the zones of shops, the calendar, the names of tenants, and
 * what follows from stored records.
 * When the run begins, since the configuration may have changed, and when it ends, since shops may have come.
 */
import { refreshAnalytics } from '../../features/analytics/refresh.js'
import type { ZonesNow } from '../../features/analytics/zones.js'
import { describeError, Skip } from '../base/errors.js'
import { settleDerived } from './catchup.js'
import type { RunContext } from './runcontext.js'

/** What follows from stored records is computed anew where the rules have changed. */
export async function beforeCursors(context: RunContext): Promise<void> {
  await refreshForAnalysts(context)
  await settleDerived(context)
}

/** Computes anew where a zone has come with the records. A run that is to end leaves that to the next one. */
export async function afterCursors(context: RunContext): Promise<void> {
  await refreshForAnalysts(context)
  if (context.signal.aborted) return
  await context.warehouse.learnRules()
  await settleDerived(context)
}

/**
 * undefined where the run's caller has no such settings. A table that refuses what is written takes nothing from the
 * rows: it is said, and tried again by the next run.
 */
async function refreshForAnalysts(context: RunContext): Promise<ZonesNow | undefined> {
  const { config, model, warehouse, clock, observer } = context
  const { report } = config
  if (!report) return undefined
  try {
    const nowMicros = (): bigint => clock.nowMicros()
    const zones = await refreshAnalytics({ warehouse, model, report, nowMicros })
    for (const { tenantId, shopId, origin } of zones.changed)
      if (origin === 'unknown')
        observer.warning?.('A shop has a time zone that nobody knows; report.timeZone holds there', {
          tenant_id: tenantId,
          shop_id: shopId,
          hint: `Set report.shopTimeZones: {"${tenantId}/${shopId}": "America/Chicago"}`,
        })
    return zones
  } catch (error) {
    if (!(error instanceof Skip)) throw error
    observer.warning?.('Days and zones for analysts are not up to date', { error: describeError(error) })
    return undefined
  }
}
