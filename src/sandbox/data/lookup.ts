/**
 * How working shops find the records for a task, and how they remove one. Used by work.ts, upkeep.ts and paperwork.ts.
 */
import { resources } from '../../../schema/index.js'
import type { ApiRecord } from '../records/json.js'
import { TAGS } from '../records/resources.js'
import type { Moment } from './moment.js'
import type { Order } from './order.js'
import type { ShopFacts, World } from './world.js'

/** One thing that a shop does. Returns false when no record allows it. */
export type Task = (world: World, shop: ShopFacts, at: Moment) => boolean

const NEWEST = 50

/** One of the newest records. */
export const recent = (world: World, resource: string): ApiRecord | undefined =>
  recentLike(world, resource, () => true)

/** One of the newest records that fits. */
export function recentLike(
  { store, tenant, random }: World,
  resource: string,
  fits: (record: ApiRecord) => boolean,
): ApiRecord | undefined {
  const newest = store.collection(tenant, resource).newest(0, NEWEST)
  while (newest.length > 0) {
    const [entry] = newest.splice(Math.floor(random.next() * newest.length), 1)
    const record = entry === undefined ? undefined : store.stored(tenant, resource, entry.key)
    if (record !== undefined && fits(record)) return record
  }
  return undefined
}

/** An order that isn't closed yet, in one of these states. */
export function orderIn(world: World, ...states: readonly string[]): Order | undefined {
  for (const id of world.random.sample([...world.open].slice(-40), 8)) {
    const order = world.store.stored(world.tenant, 'repair_orders', id) as ApiRecord | Order | undefined
    if (order === undefined) world.open.delete(id)
    else if (states.includes(String((order as Order).state))) return order as Order
  }
  return undefined
}

/**
 * The ids of all records that refer to this one, newest first. It searches texts, because parsing them all would take
 * seconds.
 */
export function referring({ store, tenant }: World, resource: string, field: string, id: number): number[] {
  const reference = new RegExp(`"${field}":${id}[,}]`)
  const collection = store.collection(tenant, resource)
  const entries = collection.newest(0, collection.size)
  return entries.filter(({ text }) => reference.test(text)).map(({ key }) => key)
}

/** Removes a record and its tags. */
export function erase(world: World, resource: string, id: number): boolean {
  const { store, tenant } = world
  const type = resources[resource]?.entity
  for (const tag of referring(world, TAGS, 'taggable_id', id))
    if (store.stored(tenant, TAGS, tag)?.['taggable_type'] === type) store.remove(tenant, TAGS, tag)
  return store.remove(tenant, resource, id)
}
