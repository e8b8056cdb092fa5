/**
 * The time zone of each shop, kept in `report_zones`. The configuration's zone for the shop takes precedence, then the
 * shop's own, then the configuration's zone for all shops. Only differences are written.
 */
import { type CompiledQuery, sql } from 'kysely'
import type { Stored } from '../../../schema/derive.js'
import { zoneField } from '../../../schema/naming.js'
import type { Int64 } from '../../../schema/resource.js'
import { exact } from '../../engine/base/int64.js'
import type { ReportConfig } from '../../engine/config/reportsection.js'
import { isTimeZone } from '../../engine/config/timezone.js'
import { type Db, rootTable } from '../../engine/warehouse/database.js'
import type { Rules } from '../../engine/warehouse/store/derived.js'
import { minutesBetween } from '../../engine/warehouse/store/learnedrules.js'
import type { Warehouse, Writer } from '../../engine/warehouse/warehouse.js'
import { railsZones } from './railstimezones.js'
import { endDay, shopTime } from './shopday.js'
import { withAnalytics } from './tables.js'

/*
 * The settings of derived tables: the unit of tax rates, and the days of each shop's time zone. The warehouse asks for
 * them whenever a command starts to write, since the configuration or the shops' own zones may have changed.
 */

type RuleConfig = ZoneSettings & Pick<ReportConfig, 'taxRates'>

/** The shops of each tenant whose zone differs from the default, as JSON. */
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

function rulesOf({ taxRates, timeZone }: RuleConfig, zones: readonly ShopZone[], nowMicros: bigint): Rules {
  const end = endDay(nowMicros)
  const zoneOf = zoneFinder(zones)
  const others = zonesByTenant(zones, timeZone)
  return {
    of: (tenantId: Int64) => ({
      taxRates,
      shopTime: (shopId: Stored, instant: string) => shopTime(zoneOf(tenantId, shopId), instant, end),
      minutesBetween,
    }),
    textOf: (tenantId: Int64) => {
      const shops = others.get(String(tenantId))
      return JSON.stringify({ taxRates, timeZone, shops })
    },
  }
}

/** Reads the zones that shops give for themselves, for all tenants or one; the configuration takes precedence. */
export async function readRules(
  warehouse: Warehouse,
  report: RuleConfig,
  nowMicros: bigint,
  tenantId?: Int64,
): Promise<Rules> {
  return rulesOf(report, await readZones(warehouse, report, tenantId), nowMicros)
}

/** Where a shop's zone comes from. `unknown`: the shop's own zone has an unknown name, so the default applies. */
type ZoneOrigin = 'configuration' | 'shop' | 'default' | 'unknown'

interface ShopZone {
  readonly tenantId: Int64
  readonly shopId: Int64
  readonly zone: string
  readonly origin: ZoneOrigin
}

/** The current zones, and what changed. */
export interface ZonesNow {
  readonly zones: readonly ShopZone[]
  /** Rows whose zone has changed, or that are gone. Tenant 0 and shop 0: every shop without a row. */
  readonly changed: readonly ShopZone[]
}

type ZoneSettings = Pick<ReportConfig, 'timeZone' | 'shopTimeZones'>

/** The IANA name that a text means: an IANA name itself, or a Rails name. */
export function zoneNamed(text: string): string | undefined {
  const name = text.trim()
  if (isTimeZone(name)) return name
  return Object.hasOwn(railsZones, name) ? railsZones[name] : undefined
}

const keyOf = ({ tenantId, shopId }: Pick<ShopZone, 'tenantId' | 'shopId'>): string => `${tenantId}/${shopId}`

/** The zones that shops give for themselves, for all tenants or one. */
async function saidByShops(warehouse: Warehouse, only?: Int64): Promise<readonly ShopZone[]> {
  const { resource, field } = zoneField
  const columns = warehouse.model.tableByName.get(resource)?.columns ?? []
  const isColumn = columns.some(({ name }) => name === field)
  const { extra } = warehouse.dialect.sql
  const value = isColumn ? sql<string | null>`${sql.ref(field)}` : extra.member(field)
  const { rows } = await warehouse.read((db) =>
    db.executeQuery(
      db
        .selectFrom(rootTable({ name: resource }))
        .select(['tenant_id', 'id', sql<string | null>`${value}`.as('zone')])
        .where((eb) => (only === undefined ? eb.lit(true) : eb('tenant_id', '=', only)))
        .where(isColumn ? sql<boolean>`${sql.ref(field)} is not null` : extra.has(field))
        .compile(),
    ),
  )
  return rows.flatMap(({ tenant_id, id, zone }) => {
    const text = isColumn ? zone : textOf(zone)
    if (text === null || text.trim() === '') return []
    const named = zoneNamed(text)
    return { tenantId: tenant_id, shopId: id, zone: named ?? '', origin: named ? 'shop' : 'unknown' }
  })
}

/** The string in a JSON text; null for other kinds of values. */
function textOf(json: string | null): string | null {
  const value: unknown = json === null ? null : JSON.parse(json)
  return typeof value === 'string' ? value : null
}

const everyShop = { tenantId: 0, shopId: 0 }

function wantedZones(settings: ZoneSettings, said: readonly ShopZone[]): Map<string, ShopZone> {
  const { timeZone, shopTimeZones } = settings
  const wanted = new Map<string, ShopZone>()
  const put = (zone: ShopZone): unknown => wanted.set(keyOf(zone), zone)
  put({ ...everyShop, zone: timeZone, origin: 'default' })
  for (const zone of said) put(zone.origin === 'unknown' ? { ...zone, zone: timeZone } : zone)
  for (const [shop, zone] of Object.entries(shopTimeZones)) {
    const [tenantId = '0', shopId = '0'] = shop.split('/')
    put({ tenantId: exact(BigInt(tenantId)), shopId: exact(BigInt(shopId)), zone, origin: 'configuration' })
  }
  return wanted
}

async function storedZones(warehouse: Warehouse): Promise<ShopZone[]> {
  const rows = await warehouse.read((db) =>
    withAnalytics(db).selectFrom('report_zones').selectAll().execute(),
  )
  return rows.map(({ tenant_id, shop_id, zone, origin }) => ({
    tenantId: tenant_id,
    shopId: shop_id,
    zone: zone ?? '',
    origin: (origin ?? 'default') as ZoneOrigin,
  }))
}

const storing = (db: Db, { tenantId, shopId, zone, origin }: ShopZone): CompiledQuery =>
  withAnalytics(db)
    .insertInto('report_zones')
    .values({ tenant_id: tenantId, shop_id: shopId, zone, origin })
    .onConflict((c) => c.columns(['tenant_id', 'shop_id']).doUpdateSet({ zone, origin }))
    .compile()

const removing = (db: Db, { tenantId, shopId }: ShopZone): CompiledQuery =>
  withAnalytics(db)
    .deleteFrom('report_zones')
    .where((eb) => eb.and({ tenant_id: tenantId, shop_id: shopId }))
    .compile()

/** The current zones; `report_zones` may not have them yet. */
const readZones = async (
  warehouse: Warehouse,
  settings: ZoneSettings,
  tenantId?: Int64,
): Promise<readonly ShopZone[]> => [...wantedZones(settings, await saidByShops(warehouse, tenantId)).values()]

/** Updates `report_zones`. */
export async function refreshZones(warehouse: Writer, settings: ZoneSettings): Promise<ZonesNow> {
  const stored = await storedZones(warehouse)
  const wanted = wantedZones(settings, await saidByShops(warehouse))
  const before = new Map(stored.map((zone) => [keyOf(zone), zone]))
  const gone = stored.filter((zone) => !wanted.has(keyOf(zone)))
  const differing = [...wanted.values()].filter((zone) => {
    const known = before.get(keyOf(zone))
    return known?.zone !== zone.zone || known.origin !== zone.origin
  })
  if (gone.length + differing.length > 0)
    await warehouse.write([
      ...gone.map((zone) => removing(warehouse.db, zone)),
      ...differing.map((zone) => storing(warehouse.db, zone)),
    ])
  const moved = differing.filter((zone) => before.get(keyOf(zone))?.zone !== zone.zone)
  return { zones: [...wanted.values()], changed: [...gone, ...moved] }
}

/** Looks up the zone of a shop among zones. */
export function zoneFinder(zones: readonly ShopZone[]): (tenantId: Int64, shopId: unknown) => string {
  const byShop = new Map(zones.map((zone) => [keyOf(zone), zone.zone]))
  const usual = byShop.get(keyOf(everyShop)) ?? 'UTC'
  return (tenantId, shopId) => byShop.get(`${tenantId}/${shopId}`) ?? usual
}
