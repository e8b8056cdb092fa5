/** Whether pages really went to SQLite's writer thread: counts the messages that this process sends to threads. */
import { Worker } from 'node:worker_threads'

let sent = 0
const original = Worker.prototype.postMessage
Worker.prototype.postMessage = function (this: Worker, ...given: Parameters<Worker['postMessage']>): void {
  // A string tells a thread to close; every other message is a page.
  if (typeof given[0] === 'object') sent++
  original.apply(this, given)
}

/** How many pages this process has sent to writer threads since it started. */
export const pagesToThreads = (): number => sent
