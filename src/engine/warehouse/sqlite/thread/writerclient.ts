/**
 * The writer thread as the main thread sees it: it stores large pages while the main thread reads and parses the next.
 * Used by sqlite/dialect.ts; the thread itself runs writerthread.ts.
 */
import { Worker } from 'node:worker_threads'
import { Bug } from '../../../base/errors.js'
import type { Applied, Batch, BatchTables } from '../../store/versionbatch.js'
import type { SqlitePage } from '../rows.js'
import { batchMessage, errorOf, type WriterPlace, type WriterReply } from './messages.js'

/** Space for the rows of a page or two: the thread's objects are short-lived, and its heap must not grow on garbage. */
const youngMegabytes = 16

/**
 * absent:  no thread runs; the first batch starts one.
 * idle:    the thread waits for batches, and doesn't keep the process alive.
 * working: batches wait for replies; the thread keeps the process alive.
 * closing: `close` was sent; the thread ends when it has stored what it has.
 *
 * If the thread fails or ends, all waiting batches are rejected, and the next batch starts another thread. If none waited,
 * closing reports it.
 */
export class WriterThread {
  /** The batches that wait for replies, in the order in which they were sent. */
  readonly #waiting: {
    readonly resolve: (applied: Applied) => void
    readonly reject: (error: unknown) => void
  }[] = []
  /** Resources whose tables the thread knows. */
  readonly #told = new Set<string>()
  #thread: Worker | undefined
  #unreported: unknown

  constructor(private readonly place: WriterPlace) {}

  apply(to: BatchTables, batch: Batch<SqlitePage>): Promise<Applied> {
    const message = batchMessage(this.#told.has(batch.resource) ? undefined : to, batch)
    return new Promise((resolve, reject) => {
      this.#thread ??= this.#start()
      this.#thread.postMessage(message)
      this.#thread.ref()
      this.#told.add(batch.resource)
      this.#waiting.push({ resolve, reject })
    })
  }

  async close(): Promise<void> {
    if (this.#unreported !== undefined) throw this.#unreported
    const thread = this.#thread
    this.#thread = undefined
    if (!thread) return
    const ended = new Promise((resolve) => thread.once('exit', resolve))
    thread.ref()
    thread.postMessage('close')
    await ended
  }

  #start(): Worker {
    const thread = new Worker(new URL('./writerthread.js', import.meta.url), {
      workerData: this.place,
      resourceLimits: { maxYoungGenerationSizeMb: youngMegabytes },
    })
    thread.on('message', (reply: WriterReply) => this.#receive(thread, reply))
    thread.on('error', (error) => this.#lose(thread, error))
    thread.on('exit', (code) => this.#lose(thread, new Bug(`The writer thread ended with ${code}`)))
    return thread
  }

  #receive(thread: Worker, reply: WriterReply): void {
    const waiting = this.#waiting.shift()
    if (this.#waiting.length === 0) thread.unref()
    if ('failure' in reply) waiting?.reject(errorOf(reply.failure))
    else waiting?.resolve(reply.applied)
  }

  #lose(thread: Worker, error: unknown): void {
    if (this.#thread === thread) {
      this.#thread = undefined
      if (this.#waiting.length === 0) this.#unreported = error
    }
    this.#told.clear()
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }
}
