import { type MicrosClock, printInstant } from '../instant.js'
import type { RequestFacts } from './request.js'

type Logged = Pick<RequestFacts, 'method' | 'url' | 'path' | 'tenant' | 'resource' | 'id' | 'page'>

export interface RequestLine extends Logged {
  readonly per_page: number | null
  readonly updated_after: string | null
  /** The time of the sandbox clock when the request arrived. */
  readonly time: string
  /** null until the request is answered, and forever if the connection broke first. */
  status: number | null
}

/** A sandbox that runs for weeks must not grow. */
const KEPT = 200_000

/** All requests, oldest first. */
export class Journal {
  readonly lines: RequestLine[] = []
  #n = 0

  next(): number {
    this.#n += 1
    return this.#n
  }

  open(facts: RequestFacts, clock: MicrosClock): RequestLine {
    const { n: _n, headers: _headers, perPage: per_page, updatedAfter: updated_after, ...rest } = facts
    const time = printInstant(clock.nowMicros())
    const line: RequestLine = { ...rest, per_page, updated_after, time, status: null }
    this.lines.push(line)
    if (this.lines.length > KEPT) this.lines.splice(0, KEPT / 2)
    return line
  }

  clear(): void {
    this.lines.length = 0
    this.#n = 0
  }
}
