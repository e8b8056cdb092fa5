/* The same source with something around its requests: where whole lists begin, or after how many requests work ends. */
import { setMaxListeners } from 'node:events'
import type { ListRequest, Source } from '../source/source.js'
import { timeIsOver } from './ending.js'

interface Around {
  /** Called before each request. If it throws, the request isn't sent. */
  readonly before?: () => void
  /** Sends a list request. `source`: for requests besides it, which count as part of the same work. */
  readonly list?: <T>(
    request: ListRequest,
    send: (asked: ListRequest) => Promise<T>,
    source: Source,
  ) => Promise<T>
}

export function aroundSource(source: Source, around: Around): Source {
  const { before, list = (request, send) => send(request) } = around
  const sent = async <T>(send: () => Promise<T>): Promise<T> => {
    before?.()
    return send()
  }
  return {
    get address() {
      return source.address
    },
    get pageSize() {
      return source.pageSize
    },
    list: (request) => sent(() => list(request, (asked) => source.list(asked), source)),
    take: (request, make) => sent(() => list(request, (asked) => source.take(asked, make), source)),
    item: (request) => sent(() => source.item(request)),
    strings: (request) => sent(() => source.strings(request)),
    authorizations: (...asked) => sent(() => source.authorizations(...asked)),
    ask: (question) => sent(() => source.ask(question)),
    stats: () => source.stats(),
    tagged: () => aroundSource(source.tagged(), around),
    close: () => source.close(),
  }
}

/** A source that ends the work on it after a number of requests, as a time limit does: then `signal` fires. */
export function limitedRequests(
  source: Source,
  requests: number,
  signal: AbortSignal,
): { readonly source: Source; readonly signal: AbortSignal } {
  const limit = new AbortController()
  const both = AbortSignal.any([signal, limit.signal])
  // Every request under way listens to it.
  setMaxListeners(0, both)
  let left = requests
  const before = (): void => {
    if (--left < 0) limit.abort(timeIsOver())
    both.throwIfAborted()
  }
  return { source: aroundSource(source, { before }), signal: both }
}
