/**
 * The settings of derived tables: the unit of the tax rates, and the days of each shop's time zone. The warehouse asks for
 * them whenever somebody begins to write, since the configuration or the shops' own zones may have changed.
 */
import type { Stored } from '../../../schema/derive.js'
import type { Int64 } from '../../../schema/resource.js'
import type { Model } from '../../engine/model/resourcemodel.js'
import type { Rules } from '../../engine/warehouse/derived.js'
import { minutesBetween } from '../../engine/warehouse/learnedrules.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { ReportConfig } from './settings.js'
import { dayOf, endDay } from './shopday.js'
import { readZones, type ShopZone, type ZoneSettings, zoneFinder } from './zones.js'

export type RuleConfig = ZoneSettings & Pick<ReportConfig, 'taxRates'>

/** The shops of each tenant whose zone is another one than that of all shops, as JSON. */
function zonesByTenant(zones: readonly ShopZone[], usual: string): Map<string, Record<string, string>> {
  const found = new Map<string, Record<string, string>>()
  const sorted = zones.toSorted((a, b) => (a.shopId < b.shopId ? -1 : 1))
  for (const { tenantId, shopId, zone } of sorted) {
    if (zone === usual) continue
    const shops = found.get(String(tenantId)) ?? {}
    shops[String(shopId)] = zone
    found.set(String(tenantId), shops)
  }
  return found
}

export function rulesOf(
  { taxRates, timeZone }: RuleConfig,
  zones: readonly ShopZone[],
  nowMicros: bigint,
): Rules {
  const end = endDay(nowMicros)
  const zoneOf = zoneFinder(zones)
  const others = zonesByTenant(zones, timeZone)
  return {
    of: (tenantId: Int64) => ({
      taxRates,
      dayOf: (shopId: Stored, instant: string) => dayOf(zoneOf(tenantId, shopId), instant, end),
      minutesBetween,
    }),
    textOf: (tenantId: Int64) => {
      const shops = others.get(String(tenantId))
      return JSON.stringify({ taxRates, timeZone, ...(shops && { shops }) })
    },
  }
}

/** Reads what the shops, of all tenants or of one, say of themselves; what the configuration says goes before it. */
export async function readRules(
  warehouse: Warehouse,
  model: Model,
  report: RuleConfig,
  nowMicros: bigint,
  tenantId?: Int64,
): Promise<Rules> {
  return rulesOf(report, await readZones(warehouse, model, report, tenantId), nowMicros)
}
