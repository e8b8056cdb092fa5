/* What analytics does for the rest of the program, according to its configuration. */
import { createHash } from 'node:crypto'
import type { Int64 } from '../../../schema/resource.js'
import { reportSettings } from '../../engine/config/reportsection.js'
import { sourceAddress } from '../../engine/config/sourceaddress.js'
import { isSame, readSourceIdentity } from '../../engine/warehouse/state/sourceidentity.js'
import type { Rules } from '../../engine/warehouse/store/derived.js'
import type { Warehouse, Writer } from '../../engine/warehouse/warehouse.js'
import type { CommandContext } from '../../shell/command.js'
import { programDigest } from '../../shell/package.js'
import type { ViewsMade, ViewsWanted } from './makeviews.js'
import type { ZonesNow } from './zones.js'

const digest = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 20)

/** The views for analysts, as configured. */
export function viewsWanted({ model, config }: Pick<CommandContext, 'model' | 'config'>): ViewsWanted {
  const report = reportSettings(config)
  const program = programDigest()
  const inputs = program && digest(JSON.stringify([program, config.resources, report]))
  return { model, schema: report.schema, unlisted: report.unlisted, inputs }
}

/** Updates the views. Problems are logged and don't affect the command. */
export async function makeViewsOf(
  context: CommandContext,
  warehouse: Writer,
  wanted = viewsWanted(context),
): Promise<ViewsMade> {
  const { makeViews } = await import('./makeviews.js')
  const belongsHere = async (): Promise<boolean> => {
    const owner = await readSourceIdentity(warehouse)
    return owner !== undefined && isSame(owner, sourceAddress(context.config.api))
  }
  const views = await makeViews(warehouse, { ...wanted, belongsHere })
  for (const { message, hint } of views.troubles) context.log.warn({ hint }, message)
  return views
}

/** The views of a copy of some tenants, which has zones and names of theirs and as yet no calendar. */
export async function makeViewsOfPart(context: CommandContext, warehouse: Writer): Promise<void> {
  const [{ refreshCalendar }, { withAnalytics }] = await Promise.all([
    import('./calendar.js'),
    import('./tables.js'),
  ])
  const rows = await warehouse.read((db) =>
    withAnalytics(db).selectFrom('report_zones').select('zone').distinct().execute(),
  )
  const { timeZone } = reportSettings(context.config)
  const zones = [timeZone, ...rows.flatMap(({ zone }) => zone ?? [])]
  await refreshCalendar(warehouse, zones, timeZone, context.clock.nowMicros())
  // In `report.schema` they would meet the original's.
  await makeViewsOf(context, warehouse, { ...viewsWanted(context), schema: undefined })
}

/** Updates zones, calendar and tenant names; runs do this by themselves. */
export async function refreshNow(
  { clock, config }: Pick<CommandContext, 'clock' | 'config'>,
  warehouse: Writer,
): Promise<ZonesNow> {
  const { refreshAnalytics } = await import('./refresh.js')
  const nowMicros = (): bigint => clock.nowMicros()
  return refreshAnalytics({ warehouse, report: reportSettings(config), nowMicros })
}

/** Only commands that write load the settings of derived tables: the time zone code takes a while to load. */
export async function rulesNow(
  { clock, config }: CommandContext,
  warehouse: Warehouse,
  tenantId: Int64 | undefined,
): Promise<Rules> {
  const { readRules } = await import('./zones.js')
  return readRules(warehouse, reportSettings(config), clock.nowMicros(), tenantId)
}
