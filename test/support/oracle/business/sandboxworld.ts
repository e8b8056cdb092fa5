/** A sandbox as the oracle of the business sees it. */
import type { Sandbox } from '../../../../src/sandbox/index.js'
import type { Fields } from './amounts.js'
import type { World } from './business.js'

/** What of the section `report` decides what views show. */
export interface ReportSettings {
  readonly timeZone: string
  readonly shopTimeZones: Readonly<Record<string, string>>
  readonly tenantNames?: Readonly<Record<string, string>>
}

/** A record that was deleted after it had been stored. */
export interface Gone {
  readonly tenant: number
  readonly resource: string
  readonly record: Fields
}

/** Deletes a record at the source. */
export function remove({ store }: Sandbox, tenant: number, resource: string, id: number): Gone {
  const record = store.stored(tenant, resource, id) ?? {}
  store.remove(tenant, resource, id)
  return { tenant, resource, record }
}

const known = new Map<unknown, boolean>()
/** Whether a zone has this name: asked for each pair of orders. */
function isZone(name: unknown): name is string {
  const told = known.get(name)
  if (told !== undefined) return told
  let isOne = typeof name === 'string'
  try {
    if (isOne) new Intl.DateTimeFormat('en', { timeZone: name as string })
  } catch {
    isOne = false
  }
  known.set(name, isOne)
  return isOne
}

/** A shop has its configured zone, else the one it sends, else the report's. */
export function worldOf({ store }: Sandbox, report: ReportSettings, gone: readonly Gone[] = []): World {
  const sent = new Map(
    store.tenantIds.flatMap((tenant) =>
      store.all(tenant, 'shops').map((shop) => [`${tenant}/${shop.id}`, (shop as Fields).time_zone]),
    ),
  )
  const tenants = store.tenantIds.map((tenant) => {
    const lists = new Map<string, readonly Fields[]>()
    return {
      tenant,
      of: (resource: string): readonly Fields[] => {
        const all = lists.get(resource) ?? store.all(tenant, resource)
        lists.set(resource, all)
        return all
      },
      gone: (resource: string): readonly Fields[] =>
        gone.filter((one) => one.tenant === tenant && one.resource === resource).map(({ record }) => record),
    }
  })
  return {
    tenants,
    zoneOf: (tenant, shop) => {
      const own = sent.get(`${tenant}/${shop}`)
      return report.shopTimeZones[`${tenant}/${shop}`] ?? (isZone(own) ? own : report.timeZone)
    },
    // To the second, as the views' is: a minute that ends within it has passed for both or for neither.
    get now() {
      return `${new Date().toISOString().slice(0, 19)}.000Z`
    },
    tenantNames: report.tenantNames ?? {},
  }
}
