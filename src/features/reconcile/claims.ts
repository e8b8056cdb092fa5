/*
 * What a cursor claims; `verify` only checks that. It claims to be complete up to some time, and whether its deletions
 * were checked recently. What came or went since then does not count as a difference.
 */
import { toMicros } from '../../engine/base/timestamp.js'
import { statusSettings } from '../../engine/config/attention.js'
import type { CursorRun, Run } from '../../engine/run/tenant.js'
import { now } from '../../engine/run/tenant.js'
import type { Cursor } from '../../engine/warehouse/state/cursors.js'
import { firstLoadedAt } from '../../engine/warehouse/state/runcursors.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'

/** Whether no walk of the cursor has completed yet. */
export const isNeverWalked = (state: Cursor | undefined): boolean =>
  !state || (state.watermark === null && state.last_success_at === null)

const day = 86_400_000
/** Milliseconds, if not configured: the default of config/schema.ts. */
const usualKeep = 90 * day

const uncheckedAfter = ({ config }: Pick<Run, 'config'>): number =>
  statusSettings(config).deletesUncheckedAfter

/** Whether a moment is within `status.deletesUncheckedAfter`; a moment in the future means nothing. */
export function isRecent(run: Pick<Run, 'config' | 'clock'>, moment: string | null | undefined): boolean {
  if (moment === null || moment === undefined) return false
  const age = toMicros(now(run)) - toMicros(moment)
  return age >= 0n && age <= BigInt(uncheckedAfter(run)) * 1000n
}

/**
 * Whether the cursor's deletions were checked recently. A first load is such a check: what it fetched existed. If the
 * history doesn't reach back far enough, a first load can't be told from a later one.
 */
export async function areDeletesChecked({
  key,
  run,
  state,
  warehouse,
}: CursorRun<Warehouse>): Promise<boolean> {
  const checked = state?.deletes_checked_at ?? null
  if (checked !== null) return isRecent(run, checked)
  if ((run.config.history?.keep ?? usualKeep) <= uncheckedAfter(run)) return false
  return isRecent(run, await firstLoadedAt(warehouse, key))
}
