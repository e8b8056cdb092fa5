/*
 * How long a list may wait where the rate limit is too small for `polling.atLeast` (docs/scale.md, What a round
 * polls). Only a round knows the limit, so each one stores what it saw: `status`, alerts, metrics and reports read it here,
 * or they would call lists stale that wait no longer than was promised.
 */

import type { FreshnessSettings } from '../../engine/config/targetsection.js'
import type { Reader } from '../../engine/warehouse/database.js'
import { readMeta, removeMeta, storeMeta } from '../../engine/warehouse/state/meta.js'
import type { Warehouse, Writer } from '../../engine/warehouse/warehouse.js'
import { boundOf } from './pollranking.js'

const hourMs = 3_600_000
/** In sync_meta. */
const markName = 'stretched polling'

/** What stretches the bound: so many lists, and so many requests an hour. */
interface Room {
  readonly lists: number
  readonly windowAnHour: number
}

/** A bound longer than `polling.atLeast`, for all lists. */
export interface StretchedBound {
  readonly lists: number
  /** Requests an hour that the rate limit gives, and of which half must suffice for `polling.atLeast`. */
  readonly window: number
  readonly needed_for_bound: number
  readonly longest_wait_seconds: number
}

/** Requests an hour of which half poll every list within so many hours. */
export const neededForBound = (lists: number, atLeast: number): number => Math.ceil((2 * lists) / atLeast)

function stretchedBy(
  room: Room,
  { atLeast }: Pick<FreshnessSettings, 'atLeast'>,
): StretchedBound | undefined {
  const hours = atLeast / hourMs
  const bound = boundOf(hours, room)
  if (bound <= hours) return undefined
  return {
    lists: room.lists,
    window: Math.floor(room.windowAnHour),
    needed_for_bound: neededForBound(room.lists, hours),
    longest_wait_seconds: Math.round(bound * 3600),
  }
}

async function readRoom(warehouse: Reader): Promise<Room | undefined> {
  const value = await readMeta(warehouse, markName)
  return value === null ? undefined : (JSON.parse(value) as Room)
}

/** Stores what a round over all lists saw, if that stretches the bound; otherwise removes what earlier ones stored. */
export async function keepRoom(
  warehouse: Writer,
  settings: FreshnessSettings,
  room: { readonly lists: number; readonly windowAnHour: number | undefined },
): Promise<void> {
  const { lists, windowAnHour } = room
  const seen = windowAnHour === undefined ? undefined : { lists, windowAnHour }
  const wanted = seen && stretchedBy(seen, settings) ? JSON.stringify(seen) : undefined
  const known = await readRoom(warehouse)
  if ((known && JSON.stringify(known)) === wanted) return
  const { db } = warehouse
  await warehouse.write([wanted === undefined ? removeMeta(db, markName) : storeMeta(db, markName, wanted)])
}

/** The stretched bound; undefined without targets, and while `polling.atLeast` holds. */
export async function stretchedBound(
  warehouse: Warehouse,
  settings: FreshnessSettings | undefined,
): Promise<StretchedBound | undefined> {
  if (!settings || !(await warehouse.has('sync_meta'))) return undefined
  const room = await readRoom(warehouse)
  return room && stretchedBy(room, settings)
}

/** From what age on a list is stale, in milliseconds: `status.staleAfter`, or the stretched bound and a round of an hour. */
export async function staleAfterNow(
  warehouse: Warehouse,
  {
    staleAfterMs,
    targets,
  }: { readonly staleAfterMs: number; readonly targets?: FreshnessSettings | undefined },
): Promise<number> {
  const stretched = await stretchedBound(warehouse, targets)
  return stretched ? Math.max(staleAfterMs, stretched.longest_wait_seconds * 1000 + hourMs) : staleAfterMs
}
