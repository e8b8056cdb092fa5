import { type SentRequest, Traffic } from './traffic.js'

/** Counts the requests of one source; the source that it was split from counts them too. */
export class Counter {
  requests = 0
  retries = 0
  rateLimited = 0
  bytes = 0
  readonly traffic = new Traffic()

  constructor(private readonly parent?: Counter) {}

  child(): Counter {
    return new Counter(this)
  }

  sent(): void {
    this.requests++
    this.parent?.sent()
  }

  retried(): void {
    this.retries++
    this.parent?.retried()
  }

  answered(request: SentRequest, bytes: number): void {
    if (request.status === 429) this.rateLimited++
    this.bytes += bytes
    this.traffic.take(request)
    this.parent?.answered(request, bytes)
  }
}
