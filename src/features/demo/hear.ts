/* One change of the demo that the source tells of: from there to the warehouse by its event. */
import { resources } from '../../../schema/index.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import { rootTable } from '../../engine/warehouse/database.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { Sandbox, StoreChange } from '../../sandbox/index.js'
import type { CommandContext } from '../../shell/command.js'
import { eventSettings } from '../events/settings.js'
import { Hearing } from '../listen/hearing.js'

export interface HeardChange {
  /** From the change to its row; undefined where it did not come in time. */
  readonly seconds: number | undefined
  /** The verdict of the walk that brought it. */
  readonly completeness: string
}

/** Milliseconds for which the row is waited for, and between two looks. */
export const hearPatience = 10_000
const betweenLooks = 20

export async function hearChange(context: CommandContext, sandbox: Sandbox): Promise<HeardChange> {
  const { clock, config, invocation } = context
  const { signal } = invocation.signals
  const warehouse = await context.readyWarehouse()
  const settings = { ...eventSettings(config), port: 0 }
  const hearing = await Hearing.open(context, warehouse, { settings, rings: true })
  try {
    sandbox.subscribe(hearing.url)
    const began = clock.nowMicros()
    const changed = changeAnnounced(sandbox)
    while (!signal.aborted && clock.nowMicros() - began < BigInt(hearPatience) * 1000n) {
      await clock.sleep(betweenLooks, signal)
      const completeness = await verdictOn(warehouse, changed, fromMicros(began))
      if (completeness) return { seconds: Number(clock.nowMicros() - began) / 1e6, completeness }
    }
    return { seconds: undefined, completeness: '' }
  } finally {
    await hearing.close()
  }
}

/** Lets a shop work until it has changed something of which there is an event. */
function changeAnnounced(sandbox: Sandbox): StoreChange {
  const [tenant = 0] = sandbox.tenantIds
  for (;;) {
    const changes = sandbox.work(1, tenant)
    const changed = changes.find(
      ({ resource, action }) => resources[resource]?.announced === true && action !== 'deleted',
    )
    if (changed) return changed
  }
}

/** The verdict of the walk that has brought the record; undefined as long as it is not there, or the walk at work. */
async function verdictOn(
  warehouse: Warehouse,
  { tenant, resource, id }: StoreChange,
  since: string,
): Promise<string | undefined> {
  const row = await warehouse.read((db) =>
    db
      .selectFrom(rootTable({ name: resource }))
      .select('updated_at')
      .where('tenant_id', '=', tenant)
      .where('id', '=', id)
      .where('updated_at', '>=', since)
      .executeTakeFirst(),
  )
  if (!row) return undefined
  const walk = await warehouse.read((db) =>
    db
      .selectFrom('sync_run_cursors')
      .select('completeness')
      .where('tenant_id', '=', tenant)
      .where('resource', '=', resource)
      .where('finished_at', '>=', since)
      .executeTakeFirst(),
  )
  return walk?.completeness ?? undefined
}
