import { type Clock, printInstant } from '../instant.js'
import type { RequestInfo } from './request.js'

export interface RequestLine {
  readonly method: string
  readonly url: string
  readonly path: string
  readonly tenant: number | null
  readonly resource: string | null
  readonly id: number | null
  readonly page: number | null
  readonly per_page: number | null
  readonly updated_after: string | null
  /** The sandbox clock when the request came. */
  readonly time: string
  /** null while it is not answered, or when the connection was dropped without one. */
  status: number | null
}

/** So that a sandbox which runs for weeks does not grow. */
const KEPT = 200_000

/** Every request that came, oldest first. */
export class Journal {
  readonly lines: RequestLine[] = []
  #n = 0

  next(): number {
    this.#n += 1
    return this.#n
  }

  open(info: RequestInfo, clock: Clock): RequestLine {
    const { method, url, path, tenant, resource, id, page } = info
    const line: RequestLine = {
      method,
      url,
      path,
      tenant,
      resource,
      id,
      page,
      per_page: info.perPage,
      updated_after: info.updatedAfter,
      time: printInstant(clock.nowMicros()),
      status: null,
    }
    this.lines.push(line)
    if (this.lines.length > KEPT) this.lines.splice(0, KEPT / 2)
    return line
  }

  clear(): void {
    this.lines.length = 0
    this.#n = 0
  }
}
