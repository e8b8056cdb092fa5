/**
 * Moves items from one record to another with their ids, as happens to services when orders are merged or split. Used
 * by script/motion.ts, and by tests.
 */
import { resources } from '../../../schema/index.js'
import { parseInstant } from '../instant.js'
import { type ApiRecord, isFields } from './json.js'
import type { Store } from './store.js'

interface Transfer {
  readonly from: number
  readonly to: number
  /** How many items to move, from the first. */
  readonly n: number
  /** Which of the two records gets new stamps. */
  readonly stamps: 'both' | 'to' | 'none'
}

/** The array of a resource's records whose items can move to another record. */
const movingArray = (resource: string): string | undefined =>
  Object.entries(resources[resource]?.fields ?? {}).find(
    ([, member]) => member.type === 'many' && member.moves,
  )?.[0]

const itemsOf = (record: ApiRecord | undefined, array: string): readonly unknown[] => {
  const items = record?.[array]
  return Array.isArray(items) ? items.filter(isFields) : []
}

/** Whether the record has items that can move. */
export const hasMovable = (store: Store, tenant: number, resource: string, id: number): boolean =>
  itemsOf(store.stored(tenant, resource, id), movingArray(resource) ?? '').length > 0

/** Moves items to the end of another record's. Does nothing if one of the records doesn't exist. */
export function transfer(store: Store, tenant: number, resource: string, move: Transfer): void {
  const { from, to, n, stamps } = move
  const array = movingArray(resource)
  const [giving, taking] = [store.stored(tenant, resource, from), store.stored(tenant, resource, to)]
  if (array === undefined || giving === undefined || taking === undefined || from === to) return
  const items = itemsOf(giving, array)
  const change = (record: ApiRecord, left: readonly unknown[], isStamped: boolean): void => {
    const at = isStamped ? store.stamp() : parseInstant(record.updated_at)
    store.change(tenant, resource, record.id, { [array]: left }, at)
  }
  change(giving, items.slice(n), stamps === 'both')
  change(taking, [...itemsOf(taking, array), ...items.slice(0, n)], stamps !== 'none')
}
