import { Inbox } from '../src/features/events/inbox.js'
import { withOpen } from './kit.js'

/** A query on the inbox of a warehouse: what `shopsync listen` has received. */
export const inbox = <T>(url: string, question: Parameters<typeof Inbox.prototype.read<T>>[0]): Promise<T> =>
  withOpen(url, async (warehouse) => {
    const opened = await Inbox.open(warehouse)
    try {
      return await opened.read(question)
    } finally {
      await opened.close()
    }
  })
