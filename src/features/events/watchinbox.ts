/* The inbox as those see it who only read or watch: there or not, and readable or not. It is never made for them. */
import { isExpected } from '../../engine/base/errors.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { Inbox } from './inbox.js'

/** The inbox is there and can't be read: it is damaged, belongs to another user, or lacks a right. */
export interface UnreadableInbox {
  readonly unreadable: string
  readonly advice: string
}

export const isUnreadable = (found: object): found is UnreadableInbox => 'unreadable' in found

/**
 * For everything that shows or watches: events are optional, so if they can't be read, that is part of the answer, and
 * all else is shown. undefined if events have never been received here.
 */
export async function watchInbox<T extends object>(
  warehouse: Pick<Warehouse, 'dialect'>,
  work: (inbox: Inbox) => Promise<T>,
): Promise<T | UnreadableInbox | undefined> {
  try {
    const inbox = await Inbox.there(warehouse)
    return await (inbox && work(inbox).finally(() => inbox.close()))
  } catch (error) {
    if (!isExpected(error)) throw error
    return {
      unreadable: `The received events cannot be read: ${error.message.replace(/^The warehouse /, '')}`,
      advice:
        'Give them the owner and permissions of the warehouse. If they are damaged, move the file away: shopsync listen makes a new one, and every sync reads what its events named',
    }
  }
}
