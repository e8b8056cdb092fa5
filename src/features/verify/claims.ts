/*
 * What a cursor claims, so that `verify` holds nothing else against it: up to when it is complete, and whether its
 * deletions were checked lately. What came or went since then is no difference.
 */
import { toMicros } from '../../engine/base/timestamp.js'
import type { ReadingCursor, Run } from '../../engine/run/tenant.js'
import { now } from '../../engine/run/tenant.js'
import type { CursorState } from '../../engine/warehouse/cursors.js'
import { firstLoadedAt } from '../../engine/warehouse/runs.js'
import { statusSettings } from '../status/settings.js'

/** Whether no walk of the cursor has ended yet. */
export const isNeverWalked = (state: CursorState | undefined): boolean =>
  !state || (state.watermark === null && state.lastSuccessAt === null)

type Rules = Pick<Run, 'config' | 'clock'>

const day = 86_400_000
/** Milliseconds, where the configuration does not say: that of config/schema.ts. */
const usualKeep = 90 * day

const uncheckedAfter = ({ config }: Pick<Rules, 'config'>): number =>
  statusSettings(config).deletesUncheckedAfter

/** Whether a moment lies within `status.deletesUncheckedAfter`; one that lies ahead of now says nothing. */
export function isRecent(run: Rules, moment: string | null | undefined): boolean {
  if (moment === null || moment === undefined) return false
  const age = toMicros(now(run)) - toMicros(moment)
  return age >= 0n && age <= BigInt(uncheckedAfter(run)) * 1000n
}

/**
 * Whether deletions of the cursor were checked lately. A first load is such a check: what it brought was there. Where the
 * history does not reach as far back, nobody can tell a first load from a later one.
 */
export async function areDeletesChecked({ key, run, state, warehouse }: ReadingCursor): Promise<boolean> {
  const checked = state?.deletesCheckedAt ?? null
  if (checked !== null) return isRecent(run, checked)
  if ((run.config.history?.keep ?? usualKeep) <= uncheckedAfter(run)) return false
  return isRecent(run, await firstLoadedAt(warehouse, key))
}
