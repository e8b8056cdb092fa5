/**
 * The floor of SQLite: fetch, parse and flatten here, write in a thread. (In one thread it is a third slower; with the
 * parse in the writer's thread as well, a quarter.)
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { pages } from './fetch.js'
import { flatten } from './flatten.js'
import type { Load } from './load.js'
import { pack } from './packed.js'
import { recordsOf } from './parse.js'

/** Pages on their way to the thread at most. */
const ahead = 3

export async function load(given: Load): Promise<void> {
  const workerData = { path: given.url.slice('sqlite:'.length), columns: given.columns }
  const thread = new Worker(new URL('./sqlitethread.js', import.meta.url), { workerData })
  const failed = new Promise<never>((_, reject) => thread.once('error', reject))
  let under = 0
  let free: (() => void) | undefined
  thread.on('message', () => {
    under--
    free?.()
  })
  for await (const { tenant, resource, body } of pages(given)) {
    const packed = pack(tenant, resource, flatten(tenant, resource, recordsOf(body)))
    while (under >= ahead) {
      const next = new Promise<void>((resolve) => {
        free = resolve
      })
      await Promise.race([next, failed])
    }
    under++
    thread.postMessage(packed, [packed.kinds.buffer, packed.numbers.buffer])
  }
  thread.postMessage(null)
  await once(thread, 'exit')
}
