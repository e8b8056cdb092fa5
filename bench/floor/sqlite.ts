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

/** Pages on their way to the thread at most. */
const ahead = 3

export async function load({ source, tenants, url, columns, updatedAfter }: Load): Promise<number> {
  const workerData = { path: url.slice('sqlite:'.length), columns }
  const thread = new Worker(new URL('./sqlitethread.js', import.meta.url), { workerData })
  const failed = new Promise<never>((_, reject) => thread.once('error', reject))
  let [rows, under] = [0, 0]
  let free: (() => void) | undefined
  thread.on('message', () => {
    under--
    free?.()
  })
  for await (const { tenant, body } of pages(source, tenants, updatedAfter)) {
    const packed = pack(tenant, flatten(body).tables)
    rows += packed.counts.reduce((sum, count) => sum + count, 0)
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
  return rows
}
