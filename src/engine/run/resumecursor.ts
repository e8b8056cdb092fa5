import { endOfSecond, fromMicros, toMicros } from '../base/timestamp.js'
import { epoch, unixEpoch } from '../walk/cutpoint.js'
import { decodeIds } from '../walk/idset.js'
import { pageSizes } from '../walk/pagesize.js'
import type { WalkPlan, WalkProgress } from '../walk/types.js'
import {
  type CursorState,
  type Reader,
  readWalkParts,
  type WalkKey,
  type WalkSlot,
} from '../warehouse/cursors.js'
import type { Run } from './tenant.js'

/** The progress of a walk that was cut short, and its mode: a sync does not continue the walk of a full sync. */
export interface StoredWalk extends WalkProgress {
  readonly mode: WalkMode
  /** The demand that the walk fills (CursorState.refill). */
  readonly refill?: string | null
}

export type WalkMode = 'sync' | 'full'

/**
 * `news`: what is new, though the list has to be read whole: another walk of the run does that.
 * `quick`: what is new, and nothing besides: a cursor is due between its planned walks. It goes back no further than
 * records come late, and leaves the progress of a planned walk as it is.
 */
export type AskedWalk = WalkMode | 'news' | 'quick'

const isOfNews = (asked: AskedWalk): asked is 'news' | 'quick' => asked === 'news' || asked === 'quick'

/** Why a walk reads the list whole, whatever the run was asked for; null where it does not. */
export const refillOf = (state: CursorState | undefined, asked: AskedWalk): string | null =>
  isOfNews(asked) ? null : (state?.refill ?? null)

export function walkMode(state: CursorState | undefined, asked: AskedWalk): WalkMode {
  if (isOfNews(asked)) return 'sync'
  return state?.refill ? 'full' : asked
}

/** A cursor whose planned walk was cut short goes on with it: a quick one would read the same again. */
export const isQuick = (state: CursorState | undefined, asked: AskedWalk): boolean =>
  asked === 'quick' && storedWalk(state, 'walk')?.mode !== 'sync'

export function storedWalk(state: CursorState | undefined, slot: WalkSlot): StoredWalk | undefined {
  const stored = slot === 'walk' ? state?.walk : state?.refillWalk
  const walk = (stored as StoredWalk | null | undefined) ?? undefined
  // Walks of 0.1.0 began a whole list there.
  return walk?.floor === unixEpoch ? { ...walk, floor: epoch } : walk
}

/** A walk as it begins. `isFirst`: the cursor has no watermark. */
interface BegunWalk {
  readonly floor: string
  readonly mode: WalkMode
  readonly isFirst: boolean
  readonly refill: string | null
}

/** The walk that was cut short, if a walk that begins so goes on with it. */
export async function resumable(
  warehouse: Reader,
  key: WalkKey,
  state: CursorState | undefined,
  { floor, mode, isFirst, refill }: BegunWalk,
): Promise<WalkPlan['resume']> {
  const progress = storedWalk(state, key.slot)
  if (progress?.floor !== floor || (progress.mode !== mode && !isFirst)) return undefined
  // Its pages were stored before the table was created that is to be filled.
  if ((progress.refill ?? null) !== refill) return undefined
  const parts = await readWalkParts(warehouse, key, progress.part)
  const all = (name: 'ids' | 'entered') => parts.flatMap((part) => decodeIds(part[name] ?? ''))
  return { progress, ids: all('ids'), entered: all('entered') }
}

/** How many records a walk that was cut short had still before it. */
export const remaining = (state: CursorState | undefined, slot: WalkSlot = 'walk'): number =>
  storedWalk(state, slot)?.below ?? 0

/** 0001-01-01: before it, no instant has a name. */
const firstMicros = toMicros('0001-01-01T00:00:00.000000Z')

/**
 * Where a walk starts: the watermark less the overlap, for records that become visible late. Always at the last
 * microsecond of a second, where "newer than" means the same whatever precision the source prints
 * (docs/api.md, Timestamps).
 */
export function floorOf(watermark: string | null, overlapMs: number): string {
  if (watermark === null) return epoch
  const from = toMicros(watermark) - BigInt(overlapMs) * 1000n - 1_000_000n
  return from < firstMicros ? epoch : endOfSecond(fromMicros(from))
}

/** A walk from that floor, and where the walk after it would start. */
export const walkPlan = (
  { pageSizes: sizes = pageSizes }: Pick<Run, 'pageSizes'>,
  floor: string,
  overlapMs: number,
): WalkPlan => ({
  floor,
  nextFloor: (ceiling) => floorOf(ceiling, overlapMs),
  pageSizes: sizes,
})
