/** Counts the requests of one source; the source that it was split from counts them too. */
export class Counter {
  requests = 0
  retries = 0
  rateLimited = 0
  bytes = 0

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

  answered(status: number | undefined, bytes: number): void {
    if (status === 429) this.rateLimited++
    this.bytes += bytes
    this.parent?.answered(status, bytes)
  }
}
