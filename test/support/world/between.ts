import type { ListRequest, Page, Source } from '../harness/runs.js'

type Around = (source: Source) => Source

/** A source some of whose methods are replaced. */
export const replacing =
  (instead: (its: Source) => Partial<Source>): Around =>
  (source) =>
    new Proxy(source, {
      get: (its, name) => {
        if (name === 'tagged') return () => replacing(instead)(its.tagged())
        const value = (Reflect.get(instead(its), name) ?? Reflect.get(its, name)) as unknown
        return typeof value === 'function' ? value.bind(its) : value
      },
    })

/** What a page knows about its numbers, read while its body is still available. */
function keepNumbers(page: Page): Page {
  const [tokens, isOdd] = [page.tokens(), page.isOdd()]
  return { ...page, tokens: () => tokens, isOdd: () => isOdd }
}

/** A source that passes each list request to a function, which may query the real source. */
export const between = (asked: (request: ListRequest, ask: () => Promise<Page>) => Promise<Page>): Around =>
  replacing((its) => {
    const list = (request: ListRequest): Promise<Page> => asked(request, () => its.take(request, keepNumbers))
    return { list, take: async (request, make) => make(await list(request)) }
  })
