import type { Int64 } from '../../../schema/resource.js'
import type { Sighting } from './observed.js'

/**
 * Whether one response shows that the list is not newest first. Within a response nothing can have moved. A record that
 * was seen before may stand at a second place, which need not be in order.
 */
export function isOutOfOrder(
  sightings: readonly Sighting[],
  wasSeen: (id: Int64 | string) => boolean = () => false,
): boolean {
  let last: string | undefined
  for (const { id, updatedAt } of sightings) {
    if (updatedAt === '' || (typeof id === 'string' && !id.startsWith('!')) || wasSeen(id)) continue
    if (last !== undefined && updatedAt > last) return true
    last = updatedAt
  }
  return false
}
