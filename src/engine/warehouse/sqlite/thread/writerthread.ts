/** The writer thread: the one write path on its own connection. It stores batches in the order in which they arrive. */
import { parentPort, workerData } from 'node:worker_threads'
import { sql } from 'kysely'
import { Bug } from '../../../base/errors.js'
import { applyBatch } from '../../store/apply.js'
import type { BatchTables } from '../../store/versionbatch.js'
import { sqliteDialect } from '../dialect.js'
import { type BatchMessage, failureOf, type WriterPlace, type WriterReply } from './messages.js'

const port = parentPort
if (!port) throw new Bug('The writer thread was started as a program')
const known = new Map<string, BatchTables>()
const { url, file } = workerData as WriterPlace

async function open(): Promise<ReturnType<typeof sqliteDialect>> {
  const dialect = sqliteDialect(url, { file })
  // The pages needed to undo a statement of many rows stay in memory; SQLite would write them to a file.
  await sql`pragma temp_store = memory`.execute(dialect.db)
  return dialect
}

const opening = open()
// The batches report it.
opening.catch(() => {})

async function reply({ to: told, batch }: BatchMessage): Promise<WriterReply> {
  if (told) known.set(batch.resource, told)
  try {
    const to = known.get(batch.resource)
    if (!to) throw new Bug(`The writer thread does not know the tables of ${batch.resource}`)
    const dialect = await opening
    const applied = await dialect
      .transaction((session) => applyBatch(dialect, session, to, batch))
      .catch((error: unknown) => Promise.reject(dialect.classify(error)))
    return { applied }
  } catch (error) {
    return { failure: failureOf(error instanceof Error ? error : new Bug(String(error))) }
  }
}

let last: Promise<void> = Promise.resolve()

port.on('message', (message: BatchMessage | 'close') => {
  last = last.then(async () => {
    if (message !== 'close') return port.postMessage(await reply(message))
    await opening.then(
      (dialect) => dialect.close(),
      () => {},
    )
    port.close()
  })
})
