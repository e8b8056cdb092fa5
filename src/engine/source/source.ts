/**
 * The API as the rest of the product sees it: read only, one request in, one answer out. Implemented by client.ts over
 * HTTP; used by everything in src/engine/run, and by commands that ask the API.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { SourceAddress } from '../config/sourceaddress.js'
import type { Traffic } from './http/traffic.js'
import type { Flow } from './rate/flow.js'

/** Which request goes first when the rate limit is short (docs/architecture.md, What else the engine rests on): in this order. */
export type Priority = 'lookup' | 'incremental' | 'reconcile' | 'backfill'

/** One list request. `updatedAfter` is canonical (`YYYY-MM-DDTHH:MM:SS.ffffffZ`), and sent unless it is empty. */
export interface ListRequest {
  readonly tenantId: Int64
  /** Path below `tenants/:tenant_id/`. */
  readonly path: string
  readonly updatedAfter: string
  /** Page 1 is the first. */
  readonly page: number
  /** 1 to 100. */
  readonly perPage: number
  /** How often it is sent at most, where that is less often than usual. */
  readonly attempts?: number
  /** Of pages that will be stored: what the throttle and the decoding wait for. */
  readonly flow?: Flow | undefined
  /** The source has counted this list before: an answer that does not count is a slip, and asked for again. */
  readonly isCounted?: boolean
  readonly priority: Priority
  readonly signal?: AbortSignal
}

export interface ItemRequest {
  readonly tenantId: Int64
  readonly path: string
  readonly id: Int64
  readonly priority: Priority
  readonly signal?: AbortSignal
}

/** Facts of every answer about its request. */
export interface Answer {
  /** When the request was sent: canonical timestamp, unique and increasing within the process and the warehouse. */
  readonly startedAt: string
  /** The server's `Date` in microseconds, when the server sent one. */
  readonly serverDate: bigint | undefined
  readonly requestId: string | undefined
  /** The body held an escape for U+0000 or for half of a surrogate pair: flatten must look twice at every text. */
  readonly careful: boolean
  /** Whether some number was sent in another form than JavaScript prints it in, such as `1.10`, and is not exact here. */
  isOdd(): boolean
  /** The answer with a NumberToken for each such number: its digits as they were sent. */
  tokens(): unknown
}

/** One page of a list (docs/api.md, List envelope). `records` are whatever JSON values stood in `results`. */
export interface Page extends Answer {
  readonly records: readonly unknown[]
  /** `total_count`: records over all pages that match. */
  readonly total: number
  /** The answer has no `total_count` that is a whole number; `total` is how many records it shows to be there. */
  readonly isUncounted?: true
  readonly page: number
  /** As the server says; computed from the total when the server does not say. No list ends by it. */
  readonly totalPages: number
  /** To be called inside the `make` of `take` only, as `tokens`. */
  isOdd(): boolean
  /** One for each of `records`. To be called inside the `make` of `take` only: the body is released after it. */
  tokens(): readonly unknown[]
}

export interface Item extends Answer {
  readonly record: unknown
}

export interface Strings extends Answer {
  readonly values: readonly unknown[]
}

/** A question about the source's ways: a GET whose answer is looked at as it came. */
export interface PlainRequest {
  readonly tenantId: Int64
  readonly path: string
  readonly id?: Int64
  readonly query?: Readonly<Record<string, string>>
  /** Asks for a compressed answer, whatever the configuration says. */
  readonly gzip?: boolean
  readonly signal: AbortSignal
}

/** An answer as it came, a refusal included. */
export interface Shown {
  readonly status: number
  /** The body; undefined with any other status than 200. */
  readonly value: unknown
  readonly etag: string | undefined
  /** The server's `Date` in microseconds. */
  readonly date: bigint | undefined
  readonly encoding: string | undefined
  /** Whether the rate limit, what remains of it and its end were told. */
  readonly hasRate: boolean
}

/** Counts of the requests so far, for the report and the progress display. */
export interface SourceStats {
  readonly requests: number
  readonly retries: number
  /** Answers with status 429. */
  readonly rateLimited: number
  readonly bytes: number
  /** The server's clock, in ms since the epoch, at the least; undefined where no answer had a Date. */
  readonly serverTime?: number | undefined
  /** The present rate-limit window, when known; `resetsAt` in ms since the epoch. */
  readonly window:
    | {
        /** The name of the rule: an IP address or a partner id; empty if the source doesn't tell it. */
        readonly key?: string
        readonly limit: number
        readonly remaining: number
        readonly resetsAt: number
        /** How long a window lasts, in ms, once two resets were seen. */
        readonly length?: number | undefined
      }
    | undefined
}

/** The same requests as the metrics count them. */
export interface SourceTraffic {
  /** By what they were for, with the times of their answers. */
  readonly traffic: Pick<Traffic, 'answers' | 'times'>
  /** Milliseconds in which requests stood still because of the rate limit. */
  readonly waited: number
  /** Whether they do now. */
  readonly isWaiting: boolean
}

/**
 * The API, read only. Every method retries what can be retried (bounded) and then throws: `Skip` when this cursor
 * cannot go on (404: reason absent; 403/422: refused; retries used up: failed), `Stop` when nobody can (401; exit 3).
 */
export interface Source {
  /** Which source it is: a warehouse belongs to one. */
  readonly address: SourceAddress
  list(request: ListRequest): Promise<Page>
  /**
   * As `list`, with the result of `make` in place of the page. `make` runs once, when the answer was accepted, and before
   * the promise resolves, so that the page itself can be collected: a promise that has waited long is in the old part of the heap, and a page of 4 MB
   * that it resolves to stays there until a full collection.
   */
  take<T>(request: ListRequest, make: (page: Page) => T): Promise<T>
  /** undefined when the record does not exist (404). */
  item(request: ItemRequest): Promise<Item | undefined>
  /** A bare array, such as payments/customer_payment_types. */
  strings(request: Omit<ItemRequest, 'id'>): Promise<Strings>
  /** One page of `partners/:partner_id/authorizations`. */
  authorizations(page: number, signal?: AbortSignal, perPage?: number): Promise<Page>
  /** Shows an answer as it came; throws as the others do where none came. */
  ask(question: PlainRequest): Promise<Shown>
  /** The stats of everything, or of the requests made under one tag (see `tagged`). */
  stats(): SourceStats & SourceTraffic
  /** The same source, whose own `stats()` count only the requests that are sent through it: one for each cursor. */
  tagged(): Source
  close(): Promise<void>
}
