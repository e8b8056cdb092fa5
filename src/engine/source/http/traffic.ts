import { Distribution } from '../../base/distribution.js'

/** Upper bounds of the ranges in which response times are counted, in seconds. */
export const answerBounds = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60] as const

/** One request that was sent, and its result. */
interface SentRequest {
  /** Its priority, as the throttle knows it. */
  readonly purpose: string
  /** undefined if no response came. */
  readonly status: number | undefined
  /** From when it was sent to the end of its response. */
  readonly seconds: number
}

/** The requests of one source, by purpose and result. */
export class Traffic {
  readonly #answers = new Map<string, { purpose: string; status: string; requests: number }>()
  readonly #times = new Map<string, Distribution>()

  take({ purpose, status, seconds }: SentRequest): void {
    const text = status === undefined ? 'none' : String(status)
    const name = `${purpose} ${text}`
    const answer = this.#answers.get(name)
    if (answer) answer.requests++
    else this.#answers.set(name, { purpose, status: text, requests: 1 })
    const times = this.#times.get(purpose) ?? new Distribution(answerBounds)
    this.#times.set(purpose, times)
    times.take(Math.max(0, seconds))
  }

  /** `status`: `none` if no response came. */
  get answers(): readonly { readonly purpose: string; readonly status: string; readonly requests: number }[] {
    return [...this.#answers.values()]
  }

  /** In seconds. */
  get times(): ReadonlyMap<string, Distribution> {
    return this.#times
  }
}

/** Counts the requests of one source. They also count toward the source that it was split off from. */
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
