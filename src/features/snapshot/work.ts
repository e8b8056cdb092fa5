import { asWriter, type Dependencies, now, type WriterLease } from '../../engine/run/runcontext.js'
import type { CursorChoice } from '../../engine/run/runreport.js'
import { remembered } from '../../engine/warehouse/failedworks.js'
import type { ViewSettings } from '../analytics/viewwords.js'
import { writeSnapshot } from './sql.js'

/** What `shopsync snapshot` has done. */
export interface Snapshot {
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

/** Writes today's row of each shop, as the only writer of the warehouse. Sends no request. */
export function takeSnapshot(needs: Needs, choice: Pick<CursorChoice, 'tenants'>): Promise<Snapshot> {
  return asWriter(needs, 'snapshot', (lease) => snapshotStep(needs, lease, choice))
}

/** As `takeSnapshot`, under a lease that is held already. */
export async function snapshotStep(
  { warehouse, clock, settings, signal }: Needs,
  { runId, fence }: WriterLease,
  { tenants }: Pick<CursorChoice, 'tenants'>,
): Promise<Snapshot> {
  const started_at = now({ clock })
  const trying = { what: 'snapshot', warehouse, fence, now: started_at, signal } as const
  const shops = await remembered(trying, () => writeSnapshot(warehouse, { ...settings, tenants, fence }))
  return { status: 'ok', run_id: runId, started_at, finished_at: now({ clock }), shops }
}
