import type { ListRequest, Page, PlainRequest, Source } from '../harness/runs.js'

/** What a page knows about its numbers, read while its body is still available. */
function keepNumbers(page: Page): Page {
  const [tokens, isOdd] = [page.tokens(), page.isOdd()]
  return { ...page, tokens: () => tokens, isOdd: () => isOdd }
}

type Strings = Parameters<Source['strings']>[0]

/** A source that passes each list request to a function, which may query the real source. */
export class Between implements Source {
  constructor(
    private readonly source: Source,
    private readonly asked: (request: ListRequest, ask: () => Promise<Page>) => Promise<Page>,
  ) {}

  get address(): Source['address'] {
    return this.source.address
  }

  get pageSize(): number {
    return this.source.pageSize
  }

  list(request: ListRequest): Promise<Page> {
    return this.asked(request, () => this.source.take(request, keepNumbers))
  }

  async take<T>(request: ListRequest, make: (page: Page) => T): Promise<T> {
    return make(await this.list(request))
  }

  item = (request: Parameters<Source['item']>[0]): ReturnType<Source['item']> => this.source.item(request)
  strings = (request: Strings): ReturnType<Source['strings']> => this.source.strings(request)
  close = (): Promise<void> => this.source.close()

  authorizations(page: number, perPage: number, signal?: AbortSignal): Promise<Page> {
    return this.source.authorizations(page, perPage, signal)
  }

  ask(question: PlainRequest): ReturnType<Source['ask']> {
    return this.source.ask(question)
  }

  stats(): ReturnType<Source['stats']> {
    return this.source.stats()
  }

  tagged(): Source {
    return new Between(this.source.tagged(), this.asked)
  }
}
