import { endOfSecond, fromMicros, toMicros } from '../base/timestamp.js'
import { epoch } from '../list/cutpoint.js'
import { decodeIds } from '../list/idset.js'
import type { WalkPlan, WalkProgress } from '../list/types.js'
import {
  type CursorState,
  type Reader,
  readWalkParts,
  type WalkKey,
  type WalkSlot,
} from '../warehouse/cursors.js'
import { quickOverlapOf } from './lateness.js'
import type { CursorRun } from './tenant.js'

/** The progress of an interrupted walk, and its mode: a sync doesn't continue the walk of a full sync. */
interface StoredWalk extends WalkProgress {
  readonly mode: WalkMode
  /** The refill that the walk carries out (CursorState.refill). */
  readonly refill?: string | null
}

export type WalkMode = 'sync' | 'full'

/**
 * `news`: what is new, although the list has to be read whole, because another walk of the run does that. `quick`: only
 * what is new, because a cursor is due between its planned walks. It goes back no further than records come late, and
 * doesn't touch the progress of a planned walk.
 */
export type AskedWalk = WalkMode | 'news' | 'quick'

const isOfNews = (asked: AskedWalk): asked is 'news' | 'quick' => asked === 'news' || asked === 'quick'

/** Why a walk reads the list whole, whatever the run was asked to do. null if it doesn't. */
export const refillOf = (state: CursorState | undefined, asked: AskedWalk): string | null =>
  isOfNews(asked) ? null : (state?.refill ?? null)

export function walkMode(state: CursorState | undefined, asked: AskedWalk): WalkMode {
  if (isOfNews(asked)) return 'sync'
  return state?.refill ? 'full' : asked
}

/** A cursor whose planned walk was interrupted continues it: a quick one would read the same again. */
export const isQuick = (state: CursorState | undefined, asked: AskedWalk): boolean =>
  asked === 'quick' && storedWalk(state, 'walk')?.mode !== 'sync'

function storedWalk(state: CursorState | undefined, slot: WalkSlot): StoredWalk | undefined {
  const stored = slot === 'walk' ? state?.walk : state?.refillWalk
  return (stored as StoredWalk | null | undefined) ?? undefined
}

/** A walk as it begins. `isFirst`: the cursor has no watermark. */
interface BegunWalk {
  readonly floor: string
  readonly mode: WalkMode
  readonly isFirst: boolean
  readonly refill: string | null
}

/** The interrupted walk, if a walk that begins this way continues it. */
export async function resumable(
  warehouse: Reader,
  key: WalkKey,
  state: CursorState | undefined,
  { floor, mode, isFirst, refill }: BegunWalk,
): Promise<WalkPlan['resume']> {
  const progress = storedWalk(state, key.slot)
  if (progress?.floor !== floor || (progress.mode !== mode && !isFirst)) return undefined
  // Its pages were stored before the table that needs the refill was created.
  if ((progress.refill ?? null) !== refill) return undefined
  const parts = await readWalkParts(warehouse, key, progress.part)
  const all = (name: 'ids' | 'entered') => parts.flatMap((part) => decodeIds(part[name] ?? ''))
  return { progress, ids: all('ids'), entered: all('entered') }
}

/** How many records an interrupted walk still had to read. */
export const remaining = (state: CursorState | undefined, slot: WalkSlot = 'walk'): number =>
  storedWalk(state, slot)?.below ?? 0

/** 0001-01-01: no earlier instant can be expressed. */
const firstMicros = toMicros('0001-01-01T00:00:00.000000Z')

/**
 * Where a walk starts: the watermark minus the overlap, for records that become visible late. Always at the last
 * microsecond of a second, where "newer than" means the same at whatever precision the source prints (docs/api.md,
 * Timestamps).
 */
export function floorOf(watermark: string | null, overlapMs: number): string {
  if (watermark === null) return epoch
  const from = toMicros(watermark) - BigInt(overlapMs) * 1000n - 1_000_000n
  return from < firstMicros ? epoch : endOfSecond(fromMicros(from))
}

/** The same for a quick walk, which goes back less far. */
export const quickFloor = ({ run, resource }: CursorRun, watermark: string | null): string =>
  floorOf(watermark, quickOverlapOf(run.config.sync.overlap, run.lateness, resource.name))

/** A walk from that floor, and where the walk after it would start. */
export const walkPlan = (pageSizes: readonly number[], floor: string, overlapMs: number): WalkPlan => ({
  floor,
  nextFloor: (ceiling) => floorOf(ceiling, overlapMs),
  pageSizes,
})
