/** The writer thread: the one write path, on a connection of its own. Batches are applied in the order they come. */
import { parentPort, workerData } from 'node:worker_threads'
import { sql } from 'kysely'
import { Bug } from '../../../errors.js'
import { applyBatch } from '../../apply.js'
import { sqliteDialect } from '../dialect.js'
import { type BatchMessage, batchOf, failureOf, type ResourceTables, type WriterReply } from './messages.js'

const port = parentPort
if (!port) throw new Bug('The writer thread was started as a program')
const plans = new Map<string, ResourceTables>()
const dialect = sqliteDialect(String(workerData))
// What a statement of many rows would need to be undone is some pages, which SQLite writes to a file otherwise.
await sql`pragma temp_store = memory`.execute(dialect.db)

async function reply(letter: BatchMessage): Promise<WriterReply> {
  const { number, plan } = letter
  if (plan) plans.set(letter.rest.resource, plan)
  try {
    const known = plans.get(letter.rest.resource)
    if (!known) throw new Bug(`Nobody told the writer thread the tables of ${letter.rest.resource}`)
    const batch = batchOf(letter)
    const applied = await dialect.transaction((session) =>
      applyBatch(dialect, known.tables, known.embedded, session, batch),
    )
    return { number, applied }
  } catch (error) {
    return { number, failure: failureOf(dialect.classify(error)) }
  }
}

let last: Promise<void> = Promise.resolve()

port.on('message', (message: BatchMessage | 'close') => {
  last = last.then(async () => {
    if (message !== 'close') return port.postMessage(await reply(message))
    await dialect.close()
    port.close()
  })
})
