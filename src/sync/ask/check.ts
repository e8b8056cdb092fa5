/*
 * The trials of `shopsync check`: credentials, clock, each tenant's access, the warehouse. A trial gives the facts that
 * it found and the exit code that they deserve; src/cli/text/check.ts puts them into words.
 */
import pLimit from 'p-limit'
import type { Int64 } from '../../../schema/resource.js'
import type { Page, Source, SourceStats } from '../../api/source.js'
import { Stop } from '../../errors.js'
import { flattenAuthorization } from '../../model/flatten/authorization.js'
import type { Model } from '../../model/registry.js'
import type { Warehouse } from '../../warehouse/warehouse.js'

type Facts =
  | { readonly of: 'configuration'; readonly file: string }
  | { readonly of: 'environment'; readonly variables: readonly string[] }
  | { readonly of: 'credentials'; readonly granted: number; readonly window: SourceStats['window'] }
  /** Milliseconds that this machine is ahead of the API; undefined when the API sends no Date. */
  | { readonly of: 'clock'; readonly skew: number | undefined }
  | { readonly of: 'grant'; readonly tenantId: Int64; readonly granted: readonly Int64[] }
  /** `readable`: what the API shows of one resource; undefined when no resource is there to ask for. */
  | { readonly of: 'tenant'; readonly tenantId: Int64; readonly readable: Readable | undefined }
  | {
      readonly of: 'warehouse'
      readonly where: string
      readonly changes: number
      readonly autoMigrate: boolean
    }
  | { readonly of: 'failure'; readonly what: string; readonly error: unknown }

interface Readable {
  readonly resource: string
  readonly records: number
}

/** One trial and its outcome. `exitCode`: 0 when all is well, else that of the command. */
export type Trial = Facts & { readonly exitCode: 0 | 1 | 2 | 3 }

export const failure = (what: string, error: unknown, exitCode: 1 | 2 | 3): Trial => ({
  of: 'failure',
  what,
  error,
  exitCode,
})

/** A wrong configuration is told first, then what keeps a run from starting, then the rest. */
export const worstExit = (checks: readonly Trial[]): number =>
  [2, 3, 1].find((code) => checks.some(({ exitCode }) => exitCode === code)) ?? 0

export interface ApiCheck {
  readonly source: Source
  readonly model: Model
  /** Tenants that the configuration names; null: all. */
  readonly tenants: readonly Int64[] | null
  readonly nowMicros: () => bigint
  readonly signal: AbortSignal
}

/** Tries the credentials; where the API accepts them, the clock and the access of each tenant. */
export async function checkApi(options: ApiCheck): Promise<Trial[]> {
  const granted = new Set<Int64>()
  let page: Page | undefined
  try {
    for (let number = 1; !page || number <= page.totalPages; number++) {
      page = await options.source.authorizations(number, options.signal)
      for (const record of page.records) {
        const { row } = flattenAuthorization(record)
        if (row) granted.add(row.tenant_id)
      }
      if (page.records.length === 0) break
    }
  } catch (error) {
    options.signal.throwIfAborted()
    return [failure('credentials', error, 3)]
  }
  const { window } = options.source.stats()
  const wanted = [...granted].filter((tenant) => options.tenants?.includes(tenant) ?? true)
  const limit = pLimit(4)
  const tenants = await Promise.all(wanted.map((tenant) => limit(() => checkTenant(options, tenant))))
  return [
    { of: 'credentials', granted: granted.size, window, exitCode: granted.size > 0 ? 0 : 1 },
    clock(options, page),
    ...ungranted(options, [...granted]),
    ...tenants,
  ]
}

const tolerableSkew = 120_000

/** A wrong clock loses no record, but makes ages and leases wrong. */
function clock({ nowMicros }: ApiCheck, page: Page | undefined): Trial {
  const server = page?.serverDate
  if (server === undefined) return { of: 'clock', skew: undefined, exitCode: 0 }
  const skew = Number(nowMicros() - server) / 1000
  return { of: 'clock', skew, exitCode: Math.abs(skew) < tolerableSkew ? 0 : 1 }
}

const ungranted = ({ tenants }: ApiCheck, granted: readonly Int64[]): Trial[] =>
  (tenants ?? [])
    .filter((tenantId) => !granted.includes(tenantId))
    .map((tenantId) => ({ of: 'grant', tenantId, granted, exitCode: 1 }))

/** Sends the cheapest request that shows whether a tenant's records can be read. */
async function checkTenant({ source, model, signal }: ApiCheck, tenantId: Int64): Promise<Trial> {
  const probe = model.list.find(
    ({ enabled, resource }) => enabled && resource.documented && resource.list === 'records',
  )
  if (!probe) return { of: 'tenant', tenantId, readable: undefined, exitCode: 0 }
  try {
    const { total } = await source.list({
      tenantId,
      path: probe.path,
      updatedAfter: '1970-01-01T00:00:00.000000Z',
      page: 1,
      perPage: 1,
      priority: 'lookup',
      signal,
    })
    return { of: 'tenant', tenantId, readable: { resource: probe.name, records: total }, exitCode: 0 }
  } catch (error) {
    signal.throwIfAborted()
    return failure(`tenant ${tenantId}`, error, error instanceof Stop ? 3 : 1)
  }
}

/** Tries whether the warehouse can be reached and written, and whether its tables are up to date. */
export async function checkWarehouse(open: () => Promise<Warehouse>, autoMigrate: boolean): Promise<Trial> {
  try {
    const warehouse = await open()
    await warehouse.check({ creates: autoMigrate })
    const changes = (await warehouse.plan()).length
    const exitCode = changes > 0 && !autoMigrate ? 1 : 0
    return { of: 'warehouse', where: warehouse.where, changes, autoMigrate, exitCode }
  } catch (error) {
    return failure('warehouse', error, error instanceof Stop && error.exitCode === 2 ? 2 : 3)
  }
}
