/*
 * How long a window of the rate limit lasts, remembered from run to run. The source tells when a window ends, and not how
 * long it is: a run that begins late in a window would take it for a short one, and expect several times as many requests.
 */

import type { Rate } from '../source/rate/knownrate.js'
import { readMeta, storeMeta } from '../warehouse/state/meta.js'
import type { Warehouse, Writer } from '../warehouse/warehouse.js'

/** In sync_meta. */
const markName = 'rate window'

/** The longest window seen under this limit. */
interface SeenWindow {
  readonly limit: number
  readonly seconds: number
  /** When the last one seen ends, in ms since the epoch; 0 if an older version kept the length. */
  readonly resetsAt: number
}

async function readSeen(warehouse: Warehouse): Promise<SeenWindow | undefined> {
  if (!(await warehouse.has('sync_meta'))) return undefined
  const value = await readMeta(warehouse, markName)
  return value === null ? undefined : { resetsAt: 0, ...(JSON.parse(value) as Omit<SeenWindow, 'resetsAt'>) }
}

const lengthened = (rate: Rate, seen: SeenWindow | undefined): Rate =>
  rate.window_known || seen?.limit !== rate.limit || seen.seconds <= rate.window_seconds
    ? rate
    : { ...rate, window_seconds: seen.seconds }

/** The rate limit, with the longest window that any run has seen under it. */
export async function withSeenLength(warehouse: Warehouse, rate: Rate): Promise<Rate> {
  const seen = await readSeen(warehouse)
  return { ...lengthened(rate, seen), window_seen: rate.window_known || seen?.limit === rate.limit }
}

/** Windows whose ends differ by less are the same one: the source tells its end to the second. */
const sameWindowMs = 2000

/** What was seen, unless this window's end shows that it was too long: between two ends lies a whole window, or several. */
function corrected(seen: SeenWindow | undefined, resetsAt: number): SeenWindow | undefined {
  const between = seen ? resetsAt - seen.resetsAt : 0
  if (!seen || between < sameWindowMs || seen.seconds * 1000 < between + sameWindowMs) return seen
  return { ...seen, seconds: Math.round(between / 1000) }
}

/** The same; and stores the length for later runs if this one knows better. `resetsAt`: in ms since the epoch. */
export async function keepSeenLength(warehouse: Writer, rate: Rate, resetsAt: number): Promise<Rate> {
  const seen = await readSeen(warehouse)
  const now = lengthened(rate, corrected(seen, resetsAt))
  const isSame = seen?.limit === now.limit && Math.abs(resetsAt - seen.resetsAt) < sameWindowMs
  if (isSame && seen.seconds === now.window_seconds) return now
  const kept: SeenWindow = { limit: now.limit, seconds: now.window_seconds, resetsAt }
  await warehouse.write([storeMeta(warehouse.db, markName, JSON.stringify(kept))])
  return now
}
