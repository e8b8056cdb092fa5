/* A source that ends the work on it after a number of requests, as a time limit does. */
import { setMaxListeners } from 'node:events'
import type { ItemRequest, ListRequest, Page, PlainRequest, Source } from '../source/source.js'
import { timeIsOver } from './ending.js'

/** What all tags of one source count together. */
interface Count {
  left: number
  readonly limit: AbortController
}

export class CountedRequests implements Source {
  private constructor(
    private readonly source: Source,
    /** Fires when the given one does, or at the first request too many. */
    readonly signal: AbortSignal,
    private readonly count: Count,
  ) {}

  static of(source: Source, requests: number, signal: AbortSignal): CountedRequests {
    const limit = new AbortController()
    const both = AbortSignal.any([signal, limit.signal])
    // Every request under way listens to it.
    setMaxListeners(0, both)
    return new CountedRequests(source, both, { left: requests, limit })
  }

  #one(): void {
    this.count.left--
    if (this.count.left < 0) this.count.limit.abort(timeIsOver())
    this.signal.throwIfAborted()
  }

  get address(): Source['address'] {
    return this.source.address
  }

  get pageSize(): number {
    return this.source.pageSize
  }

  async list(request: ListRequest): Promise<Page> {
    this.#one()
    return this.source.list(request)
  }

  async take<T>(request: ListRequest, make: (page: Page) => T): Promise<T> {
    this.#one()
    return this.source.take(request, make)
  }

  async item(request: ItemRequest): ReturnType<Source['item']> {
    this.#one()
    return this.source.item(request)
  }

  async strings(request: Omit<ItemRequest, 'id'>): ReturnType<Source['strings']> {
    this.#one()
    return this.source.strings(request)
  }

  async authorizations(page: number, perPage: number, signal?: AbortSignal): Promise<Page> {
    this.#one()
    return this.source.authorizations(page, perPage, signal)
  }

  async ask(question: PlainRequest): ReturnType<Source['ask']> {
    this.#one()
    return this.source.ask(question)
  }

  stats(): ReturnType<Source['stats']> {
    return this.source.stats()
  }

  tagged(): Source {
    return new CountedRequests(this.source.tagged(), this.signal, this.count)
  }

  close(): Promise<void> {
    return this.source.close()
  }
}
