import { sql } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { snapshotColumns, snapshotQuery } from '../../../schema/snapshot.js'
import { plural } from '../../engine/base/format.js'
import { reportSettings } from '../../engine/config/reportsection.js'
import type { Dependencies } from '../../engine/run/runcontext.js'
import type { CursorChoice } from '../../engine/run/runreport.js'
import { now } from '../../engine/run/tenant.js'
import { openLease, type WriterLease } from '../../engine/warehouse/lease/openlease.js'
import { remembered } from '../../engine/warehouse/state/failedworks.js'
import type { Writer } from '../../engine/warehouse/warehouse.js'
import type { CommandContext } from '../../shell/command.js'
import { type ViewSettings, viewWords, withTables } from '../analytics/viewwords.js'
import { refreshNow } from '../analytics/work.js'

/** What `shopsync snapshot` has done. */
interface Snapshot {
  readonly status: 'ok'
  readonly run_id: string
  readonly started_at: string
  readonly finished_at: string
  /** Shops for which a row was written. */
  readonly shops: number
}

type Needs = Pick<Dependencies, 'warehouse' | 'clock' | 'leaseMs'> & {
  readonly signal?: AbortSignal
  readonly settings: ViewSettings
}

/** Writes today's row for each shop, as the only writer of the warehouse. Sends no request. */
async function takeSnapshot(needs: Needs, choice: Pick<CursorChoice, 'tenants'>): Promise<Snapshot> {
  await using lease = await openLease(needs, 'snapshot')
  const taken = await snapshotStep(needs, lease, choice)
  lease.throwIfLost()
  return taken
}

/** Like `takeSnapshot`, but under an existing lease. */
export async function snapshotStep(
  { clock, settings, signal }: Pick<Needs, 'clock' | 'settings' | 'signal'>,
  { runId, warehouse }: Pick<WriterLease, 'runId' | 'warehouse'>,
  { tenants }: Pick<CursorChoice, 'tenants'>,
): Promise<Snapshot> {
  const started_at = now({ clock })
  const trying = { what: 'snapshot', warehouse, now: started_at, signal } as const
  const shops = await remembered(trying, () => writeSnapshot(warehouse, { ...settings, tenants }))
  return { status: 'ok', run_id: runId, started_at, finished_at: now({ clock }), shops }
}

export const snapshotSettings = ({ model, config }: CommandContext): ViewSettings => {
  const { unlisted } = reportSettings(config)
  return { model, unlisted }
}

/** Stores the state of the shops, using the current days of their zones. */
export async function snapshotOf(
  context: CommandContext,
  choice: Pick<CursorChoice, 'tenants'>,
): Promise<Snapshot> {
  const { clock, invocation } = context
  const warehouse = await context.open('create')
  await refreshNow(context, warehouse)
  const settings = snapshotSettings(context)
  return takeSnapshot({ warehouse, clock, settings, signal: invocation.signals.signal }, choice)
}

const table = 'daily_snapshots'
const key: readonly string[] = ['tenant_id', 'shop_id', 'day']

/**
 * Stores today's state of each shop in `daily_snapshots`: the API keeps no history, and what isn't stored now can never
 * be charted. A second snapshot on the same day replaces the first. Returns for how many shops a row was written.
 */
async function writeSnapshot(
  warehouse: Writer,
  options: ViewSettings & {
    /** null: all. */
    readonly tenants: readonly Int64[] | null
  },
): Promise<number> {
  const words = warehouse.dialect.views().sql
  const query = withTables(snapshotQuery(viewWords(words, options)), words, options)
  const columns = snapshotColumns.map((name) => sql.ref(name))
  const fresh = snapshotColumns.filter((name) => !key.includes(name))
  const { tenants } = options
  const chosen = tenants === null ? sql`true` : sql`snapshot.tenant_id in (${sql.join(tenants)})`
  const statement = sql`insert into ${sql.raw(words.table(table))} (${sql.join(columns)})
    select ${sql.join(columns)} from (${sql.raw(query)}) as snapshot where ${chosen}
    on conflict (${sql.join(key.map((name) => sql.ref(name)))})
    do update set ${sql.join(fresh.map((name) => sql`${sql.ref(name)} = ${sql.ref(`excluded.${name}`)}`))}`
  return warehouse.write([statement.compile(warehouse.db)])
}

export const snapshotText = ({ shops }: Snapshot): string =>
  shops === 0
    ? 'snapshot: no shops yet, so nothing was recorded. Type shopsync sync first'
    : `snapshot: recorded where ${plural(shops, 'shop')} ${shops === 1 ? 'stands' : 'stand'} today, in daily_snapshots`
