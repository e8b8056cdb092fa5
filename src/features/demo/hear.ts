/* One change in the demo that the source announces: its way to the warehouse by its event. */
import { resources } from '../../../schema/index.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import { rootTable } from '../../engine/warehouse/database.js'
import { lastOfCursor } from '../../engine/warehouse/state/runcursors.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { Sandbox, StoreChange } from '../../sandbox/index.js'
import type { CommandContext } from '../../shell/command.js'
import { Hearing } from '../events/hearing.js'
import { eventSettings } from '../events/settings.js'

export interface HeardChange {
  /** From the change to its row; undefined if it didn't come in time. */
  readonly seconds: number | undefined
  /** The verdict of the walk that fetched it. */
  readonly completeness: string
}

/** How long to wait for the row, and between two checks, in milliseconds. */
export const hearPatience = 10_000
const betweenLooks = 20

export async function hearChange(context: CommandContext, sandbox: Sandbox): Promise<HeardChange> {
  const { clock, config, invocation } = context
  const { signal } = invocation.signals
  const warehouse = await context.open('create')
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

/** Lets a shop work until it has changed something that is announced by an event. */
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

/** The verdict of the walk that fetched the record; undefined while it isn't there or the walk is still running. */
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
  const [walk] = await lastOfCursor(warehouse, { tenantId: tenant, resource }, 1, (eb) =>
    eb('finished_at', '>=', since),
  )
  return walk?.completeness ?? undefined
}
