/** Whether pages really went to SQLite's writer thread: counts the messages that this process sends to threads. */
import { Worker } from 'node:worker_threads'

let sent = 0
const original = Worker.prototype.postMessage
Worker.prototype.postMessage = function (this: Worker, ...given: Parameters<Worker['postMessage']>): void {
  // A thread is told to close by a word; every other message is a page.
  if (typeof given[0] === 'object') sent++
  original.apply(this, given)
}

/** Pages that this process has sent to writer threads since it began. */
export const pagesToThreads = (): number => sent
