/**
 * The current time by the source's clock and by ours. No record can be stamped later, so a stamp beyond both says
 * nothing about what the walk has read. The walk caps its ceiling with these clocks, engine/run the stored watermark.
 */
import { addMicros } from '../base/timestamp.js'
import { forever } from './cutpoint.js'
import { newest, type ObservedRecord } from './observed.js'

/** The two clocks at one response. Canonical timestamps. */
export interface Clocks {
  /** The source's `Date`, to the end of its second. null if the source sends none. */
  readonly source: string | null
  /** Our clock when the request was sent. */
  readonly own: string
}

/** How far apart two machines' clocks may be when nothing is wrong. */
const minute = 60_000_000n

/**
 * The latest stamp that a walk relies on: the earlier of the two clocks. If a clock is slow, the next walks read some
 * records again. If a watermark ran ahead, every later change would go unread, which was judged worse.
 */
export const believedUntil = (clocks: Clocks | undefined): string => {
  if (!clocks) return forever
  return clocks.source !== null && clocks.source < clocks.own ? clocks.source : clocks.own
}

/** The time at the source when it answered: a record stamped later didn't change just now. */
export const sourceTime = (clocks: Clocks | undefined): string => clocks?.source ?? clocks?.own ?? forever

/** The later of the two clocks: a watermark beyond it can't be true. */
export const possibleUntil = ({ source, own }: Clocks): string =>
  source !== null && source > own ? source : own

/** Records of a response that are stamped at least a minute ahead of the source's clock. */
export function stampedAhead(
  observed: readonly ObservedRecord[],
  clocks: Clocks | undefined,
): readonly ObservedRecord[] {
  const now = sourceTime(clocks)
  if (!observed.some(({ updatedAt }) => updatedAt > now)) return []
  const from = addMicros(now, minute)
  return observed.filter(({ updatedAt }) => updatedAt >= from)
}

/** The newest `updated_at` of a response that can be true. null if it shows no record. */
export function ceilingOf(page: {
  readonly observed: readonly ObservedRecord[]
  readonly clocks?: Clocks
}): string | null {
  const [top, limit] = [newest(page.observed), believedUntil(page.clocks)]
  if (top === '') return null
  return top < limit ? top : limit
}
