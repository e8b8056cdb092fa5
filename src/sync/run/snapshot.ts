import { writeSnapshot } from '../../analytics/snapshot.js'
import type { ViewSettings } from '../../analytics/words.js'
import { fromMicros } from '../../timestamp.js'
import { asWriter, type Dependencies } from './context.js'
import type { CursorChoice } from './report.js'

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
export function takeSnapshot(needs: Needs, { tenants }: Pick<CursorChoice, 'tenants'>): Promise<Snapshot> {
  const { warehouse, clock, settings } = needs
  const now = (): string => fromMicros(clock.nowMicros())
  const started_at = now()
  return asWriter(needs, 'snapshot', async ({ runId, fence }) => {
    const shops = await writeSnapshot(warehouse, { ...settings, tenants, fence })
    return { status: 'ok', run_id: runId, started_at, finished_at: now(), shops }
  })
}
