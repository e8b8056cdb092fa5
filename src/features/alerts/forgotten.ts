/*
 * What becomes of the incidents of a tenant that is forgotten: whoever was told of them is told that they are over, since
 * nothing will know of them afterwards. Used by `shopsync forget`.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Clock } from '../../engine/base/clock.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { ProgramPlace } from './alertcommand.js'
import { deliver } from './deliver.js'
import { installationOf, messageOf } from './message.js'
import type { AlertSettings } from './settings.js'
import { type AlertRow, openIncidentsOf } from './sql.js'
import { namedRules } from './telling.js'

interface Farewell {
  readonly alerts: AlertSettings
  readonly clock: Clock
  /** The warehouse's address without its password. */
  readonly label: string
  readonly tenantNames?: Readonly<Record<string, string>>
  readonly secrets: readonly string[]
  readonly programs: ProgramPlace
  /** Fires when the program is to end. */
  readonly signal: AbortSignal
}

/** Milliseconds; nobody can tell it later. */
const budgetMs = 15_000

/**
 * Reads what is open of the tenant, before it is erased, and returns what tells that it is over, once it is. That never
 * throws: the tenant is erased, whoever hears of it.
 */
export async function farewellOf(
  warehouse: Warehouse,
  tenantId: Int64,
  { alerts, label, tenantNames, ...how }: Farewell,
): Promise<() => Promise<void>> {
  const rules = namedRules(alerts.rules)
  const open = rules.length === 0 ? [] : await openIncidentsOf(warehouse, tenantId)
  const isTold = ({ told }: AlertRow, id: string): boolean => told[id]?.opened !== undefined
  return async () => {
    await Promise.all(
      rules.map(async (rule) => {
        const rows = open.filter((row) => isTold(row, rule.id))
        if (rows.length === 0) return
        const message = messageOf('resolved', rows, {
          ...{ runId: null, job: null, warehouse: label, tenantNames },
          name: installationOf(alerts),
        })
        await deliver(rule, message, { ...how, budgetMs })
      }),
    )
  }
}
