/* Pages of the report for the HTTP server of `shopsync schedule`, each made in its own thread. */
import { existsSync } from 'node:fs'
import { Worker } from 'node:worker_threads'
import type { Clock } from '../../engine/base/clock.js'
import { Bug, Stop } from '../../engine/base/errors.js'
import type { PageAnswer, PageCall } from './page.js'

/** For how many microseconds a page is served again. */
const keep = 15_000_000n

/** Next to entry.ts, which a bundle of the program puts next to this file. */
const thread = (): URL => {
  const bundled = new URL('./pagethread.js', import.meta.url)
  return existsSync(bundled) ? bundled : new URL('../../pagethread.js', import.meta.url)
}

export class PageMaker {
  #making: Promise<string> | undefined
  #madeAt = 0n
  #isClosed = false
  #worker: Worker | undefined

  constructor(
    private readonly call: PageCall,
    private readonly clock: Clock,
    /** Called with a fault of ours: the other pages and the jobs go on. */
    private readonly survive: (error: unknown) => void,
  ) {}

  /** The page. Requests that come while one is being made get that one. */
  page(): Promise<string> {
    const now = this.clock.nowMicros()
    if (this.#making && (this.#worker || now - this.#madeAt < keep)) return this.#making
    this.#making = this.#make()
    return this.#making
  }

  async #make(): Promise<string> {
    const worker = new Worker(thread(), { workerData: this.call })
    this.#worker = worker
    try {
      const answer = await new Promise<PageAnswer>((resolve, reject) => {
        worker.once('message', resolve)
        worker.once('error', reject)
        worker.once('exit', () => reject(new Bug('The thread ended without a page')))
      }).catch((error: unknown) => {
        if (!this.#isClosed) this.survive(error)
        throw error
      })
      if ('page' in answer) {
        this.#madeAt = this.clock.nowMicros()
        return answer.page
      }
      throw new Stop(`The report could not be made: ${answer.error}`, { exitCode: 1 })
    } finally {
      this.#worker = undefined
      await worker.terminate()
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.#worker?.terminate()
  }
}
