import { endOfSecond, fromMicros, toMicros } from '../base/timestamp.js'
import { epoch } from '../list/cutpoint.js'
import type { WalkPlan, WalkProgress } from '../list/types.js'
import type { Cursor } from '../warehouse/state/cursors.js'

/** The progress of an interrupted walk, and its mode: a sync doesn't continue the walk of a full sync. */
interface StoredWalk extends WalkProgress {
  readonly mode: WalkMode
  /** The refill that the walk carries out (Cursor.refill). */
  readonly refill?: string | null | undefined
}

/** What earlier runs left of a cursor's walks. */
export type Interrupted = Pick<Cursor, 'walk' | 'refill' | 'refill_walk'>

export type WalkMode = 'sync' | 'full'

/**
 * `news`: what is new, although the list has to be read whole, because another walk of the run does that. `quick`: only
 * what is new, because a cursor is due between its planned walks. It goes back no further than records come late, and
 * doesn't touch the progress of a planned walk.
 */
export type AskedWalk = WalkMode | 'news' | 'quick'

/** A walk as it begins. */
export interface BegunWalk {
  readonly floor: string
  readonly mode: WalkMode
  /** Why the whole list is read once. null if it isn't. */
  readonly refill: string | null
  /**
   * A quick walk keeps no progress: if it is cut short, it starts over, and the progress of a planned walk isn't
   * touched.
   */
  readonly isQuick: boolean
  /** It fetches what is new after the cursor's first walk, which was resumed. */
  readonly isSecond: boolean
}

const isOfNews = (asked: AskedWalk): asked is 'news' | 'quick' => asked === 'news' || asked === 'quick'

/** Why a walk reads the list whole, whatever the run was asked to do. null if it doesn't. */
export const refillOf = (state: Interrupted | undefined, asked: AskedWalk): string | null =>
  isOfNews(asked) ? null : (state?.refill ?? null)

export function walkMode(state: Interrupted | undefined, asked: AskedWalk): WalkMode {
  if (isOfNews(asked)) return 'sync'
  return state?.refill ? 'full' : asked
}

/** A cursor whose planned walk was interrupted continues it: a quick one would read the same again. */
export const isQuick = (state: Interrupted | undefined, asked: AskedWalk): boolean =>
  asked === 'quick' && storedWalk(state, 'walk')?.mode !== 'sync'

function storedWalk(state: Interrupted | undefined, slot: 'walk' | 'refill_walk'): StoredWalk | undefined {
  return (state?.[slot] as StoredWalk | null | undefined) ?? undefined
}

/** The progress of the interrupted walk, if a walk that begins this way continues it. `isFirst`: without a watermark. */
export function progressFor(
  state: Interrupted | undefined,
  { floor, mode, refill }: BegunWalk,
  isFirst: boolean,
): StoredWalk | undefined {
  const progress = storedWalk(state, refill === null ? 'walk' : 'refill_walk')
  if (progress?.floor !== floor || (progress.mode !== mode && !isFirst)) return undefined
  // Its pages were stored before the table that needs the refill was created.
  return (progress.refill ?? null) === refill ? progress : undefined
}

/** How many records an interrupted walk still had to read. */
export const remaining = (state: Interrupted | undefined, slot: 'walk' | 'refill_walk' = 'walk'): number =>
  storedWalk(state, slot)?.below ?? 0

/** 0001-01-01: no earlier instant can be expressed. */
const firstMicros = toMicros('0001-01-01T00:00:00.000000Z')

/**
 * Where a walk starts: the watermark minus the overlap, for records that become visible late. Always at the last
 * microsecond of a second, where "newer than" means the same at whatever precision the source prints (docs/dev/api.md,
 * Timestamps).
 */
export function floorOf(watermark: string | null, overlapMs: number): string {
  if (watermark === null) return epoch
  const from = toMicros(watermark) - BigInt(overlapMs) * 1000n - 1_000_000n
  return from < firstMicros ? epoch : endOfSecond(fromMicros(from))
}

/** A walk from that floor, and where the walk after it would start. */
export const walkPlan = (pageSizes: readonly number[], floor: string, overlapMs: number): WalkPlan => ({
  floor,
  nextFloor: (ceiling) => floorOf(ceiling, overlapMs),
  pageSizes,
})
