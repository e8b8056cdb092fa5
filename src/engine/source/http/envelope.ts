import { Bug, Retry } from '../../base/errors.js'
import { isJsonObject, kindOf } from '../../base/jsonkind.js'
import { NumberToken } from '../../base/numbertoken.js'
import type { ListRequest, Page, Reply } from '../source.js'

/**
 * A page of a list, for as long as it is needed. Code that keeps the page must not keep its body, which is as large
 * again, and a long-pending promise is old and keeps alive what it resolves to.
 */
export class AcceptedPage {
  #page: Page | undefined
  #body: Pick<Reply, 'tokens' | 'isOdd'> | undefined

  /** Throws Retry if the response isn't such a page. */
  constructor(
    { value, ...answer }: Reply,
    { page, perPage, isCounted = false }: Pick<ListRequest, 'page' | 'perPage' | 'isCounted'>,
  ) {
    const envelope = readEnvelope(value, page, perPage)
    if (envelope.isUncounted && isCounted) throw new Retry('found no "total_count", expected a whole number')
    const body = () => {
      if (this.#body) return this.#body
      throw new Bug('The numbers of a page were asked for after its body was released')
    }
    this.#body = answer
    const tokens = (): readonly unknown[] =>
      (body().tokens() as { readonly results: readonly unknown[] }).results
    this.#page = { ...answer, page, ...envelope, tokens, isOdd: () => body().isOdd() }
  }

  /** Can be called once. */
  make<T>(of: (page: Page) => T): T {
    const page = this.#page
    this.#page = undefined
    if (!page) throw new Bug('A page was asked for after it was released')
    try {
      return of(page)
    } finally {
      this.#body = undefined
    }
  }
}

/** Throws Retry, which names the problem, if `value` isn't an envelope or is the envelope of another page. */
function readEnvelope(
  value: unknown,
  page: number,
  perPage: number,
): Pick<Page, 'records' | 'total' | 'totalPages' | 'isUncounted'> {
  if (!isJsonObject(value)) throw wrong(`found ${kindOf(value)}`)
  const records = value.results
  if (!Array.isArray(records)) throw wrong(`"results" is ${kindOf(records)}`)
  const total = count(value.total_count)
  if (total === undefined) return { records, ...totalOf(records.length, page, perPage), isUncounted: true }
  const totalPages = count(value.total_pages) ?? Math.ceil(total / perPage)
  const current = value.current_page ?? undefined
  if (current === undefined || count(current) === page) return { records, total, totalPages }
  // Some sources answer a page past the end with their last one, and say so.
  const isBehind = (page - 1) * perPage >= total && (count(current) ?? page) < page
  if (isBehind) return { records: [], total, totalPages }
  throw new Retry(`Requested page ${page}, but the response says it is page ${shown(current)}`)
}

/** A full page may be followed by another. */
function totalOf(shown: number, page: number, perPage: number): { total: number; totalPages: number } {
  const isFull = shown >= perPage
  const total = (page - 1) * perPage + shown + (isFull ? 1 : 0)
  return { total, totalPages: isFull ? page + 1 : page }
}

/** A whole number from 0 up. The API documentation says number; a numeric string loses nothing, so it is accepted too. */
function count(value: unknown): number | undefined {
  const isText = typeof value === 'string' && /^\d{1,15}$/.test(value)
  const number = isText ? Number(value) : value instanceof NumberToken ? Number(value.text) : value
  return typeof number === 'number' && Number.isSafeInteger(number) && number >= 0 ? number : undefined
}

function shown(value: unknown): string {
  return String(count(value) ?? kindOf(value))
}

function wrong(found: string): Retry {
  return new Retry(`Not a list: ${found}; expected an object with "results" (array)`)
}
