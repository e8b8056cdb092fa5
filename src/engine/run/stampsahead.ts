/*
 * What stamps ahead of the clocks mean for one cursor: which stored watermark still counts, what is reported, what is
 * stored. The incremental walk uses it, and `verify` for the watermark.
 */
import { type Clocks, possibleUntil } from '../list/clocks.js'
import { isWholeFrom } from '../list/cutpoint.js'
import type { WalkOutcome } from '../list/types.js'
import { recordedWatermarks } from '../warehouse/state/runcursors.js'
import type { Warehouse } from '../warehouse/warehouse.js'
import type { CursorRun } from './tenant.js'

/**
 * The watermark to walk from. One that is ahead of both clocks hides every change until that time; it was set by a
 * version that believed the records' stamps, or by a wrong clock. `ask`: returns the clocks at a request.
 */
export async function believedWatermark(
  cursor: CursorRun<Warehouse>,
  stored: string | null,
  ask: () => Promise<Clocks | undefined>,
): Promise<string | null> {
  // Up to 0.2.0, a list whose only record isn't shown ended with the floor of a first load.
  if (stored === null || isWholeFrom(stored)) return null
  if (stored <= cursor.now()) return stored
  const clocks = await ask()
  const until = clocks ? possibleUntil(clocks) : stored
  if (stored <= until) return stored
  const { planned: watermark } = await recordedWatermarks(cursor.warehouse, cursor.key, until)
  cursor.warn(
    'The watermark is ahead of the clocks of the source and of this machine; walking from an earlier one',
    { watermark: stored, walks_from: watermark },
  )
  return watermark
}

/**
 * Where a planned walk starts, before the overlap is subtracted: at the watermark of the last planned walk. Rings go
 * back less far and move the watermark, so a walk that started there would miss records that became visible later than
 * rings expect. `believed`: the cursor's watermark, if it can be trusted.
 */
export async function plannedWatermark(
  { state, warehouse, key }: CursorRun<Warehouse>,
  believed: string | null,
): Promise<string | null> {
  if (believed === null) return null
  const stored = state?.planned_watermark ?? null
  if (stored !== null) return stored < believed ? stored : believed
  // No planned walk has ended since the column was added. Too early a start costs one longer walk.
  const { planned, isRung } = await recordedWatermarks(warehouse, key, believed)
  return planned ?? (isRung ? null : believed)
}

/** Warns once about records that are stamped ahead. While a cursor has such records, `status` shows them. */
export function warnOfStamps({ state, warn }: CursorRun, { ahead }: WalkOutcome): void {
  if (!ahead || state?.stamps_ahead_until) return
  warn(
    "Records are stamped ahead of the source's clock; every run reads them again until that time has passed",
    { ...ahead },
  )
}

export const stampsAheadColumns = ({ ahead }: WalkOutcome) => ({
  stamps_ahead: ahead?.records ?? null,
  stamps_ahead_until: ahead?.until ?? null,
})
