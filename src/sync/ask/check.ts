/*
 * The trials of `shopsync check`: credentials, clock, each tenant's access, each resource, the warehouse, the source's
 * ways. A trial gives the facts that it found and the exit code that they deserve; src/cli/text/check.ts puts them into
 * words. A fault is found once: a resource that fails is not the fault of each tenant that was asked for it.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Page } from '../../api/source.js'
import type { SourceAddress } from '../../config/address.js'
import { Stop } from '../../errors.js'
import { flattenAuthorization } from '../../model/flatten/authorization.js'
import type { ResourceModel } from '../../model/registry.js'
import { isSame, readBelonging } from '../../warehouse/belonging.js'
import { readProbe, storeProbe } from '../../warehouse/probes.js'
import type { Warehouse } from '../../warehouse/warehouse.js'
import { AccessCheck, type ApiCheck } from './access.js'
import { changesBetween, type Probe, type ProbeTarget, probeSource } from './probe.js'
import { failure, type Trial } from './trials.js'

/** What came of asking the API; `largest`: the list that a probe should ask about. */
export interface ApiTrials {
  readonly trials: readonly Trial[]
  readonly largest: { readonly tenantId: Int64; readonly resource: ResourceModel } | undefined
}

/** Tries the credentials; where the API accepts them, the clock, the access of each tenant, and each resource. */
export async function checkApi(options: ApiCheck): Promise<ApiTrials> {
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
    return { trials: [failure('credentials', error, 3)], largest: undefined }
  }
  const { window } = options.source.stats()
  const wanted = [...granted].filter((tenant) => options.tenants?.includes(tenant) ?? true)
  const access = await new AccessCheck(options).run(wanted)
  const trials: Trial[] = [
    { of: 'credentials', granted: granted.size, window, exitCode: granted.size > 0 ? 0 : 1 },
    clock(options, page),
    ...ungranted(options, [...granted]),
    ...access.trials,
  ]
  return { trials, largest: access.largest }
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

/** Tries whether the warehouse can be reached and written, has room, and whether its tables are up to date. */
export async function checkWarehouse(open: () => Promise<Warehouse>, autoMigrate: boolean): Promise<Trial> {
  try {
    const warehouse = await open()
    await warehouse.check({ creates: autoMigrate })
    const changes = (await warehouse.plan()).length
    const exitCode = changes > 0 && !autoMigrate ? 1 : 0
    return { of: 'warehouse', where: warehouse.where, changes, autoMigrate, exitCode }
  } catch (error) {
    return failure('warehouse', error, error instanceof Stop && error.exitCode !== 4 ? error.exitCode : 3)
  }
}

/** Whether the warehouse belongs to the source that is asked; nothing where it does, or belongs to none. */
export async function checkOwner(warehouse: Warehouse, asked: SourceAddress): Promise<Trial[]> {
  const owner = await readBelonging(warehouse)
  if (owner === undefined || isSame(owner, asked)) return []
  return [{ of: 'belonging', owner, asked, exitCode: 2 }]
}

/**
 * Asks about the source's ways, compares them with those that the last probe found, and keeps what it found in a
 * warehouse that has the table for it (`keepIn`).
 */
export async function checkWays(target: ProbeTarget, keepIn: Warehouse | undefined): Promise<Trial[]> {
  const probe = await probeSource(target)
  if (!probe) return []
  const has = keepIn !== undefined && (await keepIn.has('sync_source'))
  const before = has ? ((await readProbe(keepIn)) as Probe | null) : null
  const changes = before === null ? [] : changesBetween(before.answers, probe.answers)
  if (has) await keepIn.write([storeProbe(keepIn, probe, probe.asked_at)])
  const { by_id, totals } = probe.answers
  const isBroken = (by_id !== null && by_id !== 'works') || totals === 'more_without_filter'
  return [{ of: 'probe', probe, changes, exitCode: isBroken ? 1 : 0 }]
}
