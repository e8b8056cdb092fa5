import { Worker } from 'node:worker_threads'
import { Bug } from '../../../errors.js'
import type { Table } from '../../../model/tables.js'
import type { Applied, Batch } from '../../apply.js'
import { batchMessage, errorOf, type WriterReply } from './messages.js'

interface Waiting {
  readonly resolve: (applied: Applied) => void
  readonly reject: (error: unknown) => void
}

/** Room for the rows of a page or two: what the thread holds is short-lived, and its heap must not grow on garbage. */
const youngMegabytes = 16

/** The thread that applies batches, seen from the one that reads and parses. Started when first needed. */
export class WriterThread {
  readonly #waiting = new Map<number, Waiting>()
  /** Resources whose tables the thread knows. */
  readonly #told = new Set<string>()
  #thread: Worker | undefined
  #number = 0

  /** `url`: of the warehouse. */
  constructor(private readonly url: string) {}

  /** Threads load compiled files; where the sources run as they are (tests), everything stays in one thread. */
  static readonly entry: URL | undefined = import.meta.url.endsWith('.ts')
    ? undefined
    : new URL('./main.js', import.meta.url)

  apply(tables: readonly Table[], embedded: readonly Table[], batch: Batch): Promise<Applied> {
    const number = ++this.#number
    const plan = this.#told.has(batch.resource) ? undefined : { tables, embedded }
    const message = batchMessage(number, plan, batch)
    return new Promise((resolve, reject) => {
      this.#thread ??= this.#start()
      this.#told.add(batch.resource)
      this.#waiting.set(number, { resolve, reject })
      this.#thread.ref()
      // Its rows are shared, not handed over: a batch whose transaction fails is sent again.
      this.#thread.postMessage(message)
    })
  }

  /** Starts the thread before it is needed: it takes as long as some pages. */
  warm(): void {
    if (!WriterThread.entry || this.#thread) return
    this.#thread = this.#start()
    this.#thread.unref()
  }

  async close(): Promise<void> {
    const thread = this.#thread
    this.#thread = undefined
    if (!thread) return
    const ended = new Promise((resolve) => thread.once('exit', resolve))
    thread.ref()
    thread.postMessage('close')
    await ended
  }

  #start(): Worker {
    if (!WriterThread.entry) throw new Bug('There is no compiled thread')
    const thread = new Worker(WriterThread.entry, {
      workerData: this.url,
      resourceLimits: { maxYoungGenerationSizeMb: youngMegabytes },
    })
    thread.on('message', (reply: WriterReply) => this.#receive(thread, reply))
    thread.on('error', (error) => this.#lose(thread, error))
    thread.on('exit', (code) => this.#lose(thread, new Bug(`The writer thread ended with ${code}`)))
    return thread
  }

  #receive(thread: Worker, reply: WriterReply): void {
    const waiting = this.#waiting.get(reply.number)
    this.#waiting.delete(reply.number)
    if (this.#waiting.size === 0) thread.unref()
    if ('failure' in reply) waiting?.reject(errorOf(reply.failure))
    else waiting?.resolve(reply.applied)
  }

  #lose(thread: Worker, error: unknown): void {
    if (this.#thread === thread) this.#thread = undefined
    this.#told.clear()
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}
