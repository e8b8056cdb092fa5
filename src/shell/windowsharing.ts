import type { WindowSharing } from '../engine/source/rate/siblings.js'
import type { SourceUse } from './command.js'

/** The row by which a command shares the rate limit's windows; undefined if it is the only one to use them. */
export async function windowSharing({ siblings, warehouse }: SourceUse): Promise<WindowSharing | undefined> {
  if (!siblings || !warehouse) return undefined
  const { sharedWindow } = await import('../engine/warehouse/sharedwindow.js')
  return { siblings, row: sharedWindow(warehouse) }
}
