/* `shopsync listen`, and what it has received. */
import type { ChildProcess } from 'node:child_process'
import { Inbox } from '../src/features/events/inbox.js'
import { type Installed, withOpen } from './kit.js'

/** Once it is ready; `address`: where it takes events. */
export async function listening(
  installed: Installed,
): Promise<{ readonly child: ChildProcess; readonly address: string }> {
  const child = installed.start('listen', '--port', '0')
  const address = await new Promise<string>((resolve, reject) => {
    child.stdout?.on('data', (chunk: Buffer) => {
      const found = /https?:\/\/\S+\/webhooks/.exec(chunk.toString())?.[0]
      if (found) resolve(found)
    })
    child.once('exit', (code) => reject(new Error(`shopsync listen ended with ${code}`)))
  })
  return { child, address }
}

/** A query on the inbox of a warehouse. */
export const inbox = <T>(url: string, question: Parameters<typeof Inbox.prototype.read<T>>[0]): Promise<T> =>
  withOpen(url, async (warehouse) => {
    const opened = await Inbox.open(warehouse)
    try {
      return await opened.read(question)
    } finally {
      await opened.close()
    }
  })
