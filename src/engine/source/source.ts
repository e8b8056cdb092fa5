/**
 * The API as the rest of the product sees it: read only, one request in, one response out. Implemented by client.ts
 * over HTTP; used by everything in src/engine/run, and by commands that query the API.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { SourceAddress } from '../config/sourceaddress.js'
import type { Traffic } from './http/traffic.js'
import type { Flow } from './rate/flow.js'

/**
 * Which requests take precedence when the rate limit is short (docs/dev/architecture.md, What else the engine rests on): in
 * this order.
 */
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
  /** The most attempts, if fewer than usual. */
  readonly attempts?: number | undefined
  /** For pages that will be stored: what the throttle and the decoding wait for. */
  readonly flow?: Flow | undefined
  /** The source has counted this list before, so a response without a count is a slip and is requested again. */
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

/** A response with status 200 and a JSON body, and facts about its request. */
export interface Reply<Value = unknown> {
  /** Whatever JSON value came: for one record, a source may answer null, or another record than the requested one. */
  readonly value: Value
  /** When the request was sent: canonical timestamp, unique and increasing within the process and the warehouse. */
  readonly startedAt: string
  /** The server's `Date` in microseconds, if it sent one. */
  readonly serverDate: bigint | undefined
  readonly requestId: string | undefined
  /**
   * The body contained an escape for U+0000 or for half of a surrogate pair: flatten must check every text carefully.
   */
  readonly careful: boolean
  /**
   * Whether some number was sent in a form that JavaScript wouldn't print, such as `1.10`, so its value here isn't
   * exact.
   */
  isOdd(): boolean
  /** The response with a NumberToken for each such number: its digits as they were sent. */
  tokens(): unknown
}

/** One page of a list (docs/dev/api.md, List envelope). `records` are whatever JSON values were in `results`. */
export interface Page extends Omit<Reply, 'value'> {
  readonly records: readonly unknown[]
  /** `total_count`: records over all pages that match. */
  readonly total: number
  /** The response has no `total_count` that is a whole number; `total` is how many records it shows to exist. */
  readonly isUncounted?: true | undefined
  readonly page: number
  /** As the server reports it, or computed from the total. It never ends a list. */
  readonly totalPages: number
  /** Call it only inside the `make` of `take`, like `tokens`. */
  isOdd(): boolean
  /** One for each of `records`. Call it only inside the `make` of `take`: the body is released afterwards. */
  tokens(): readonly unknown[]
}

/** A probe of how the source behaves: a GET whose response is inspected as it came. */
export interface PlainRequest {
  readonly tenantId: Int64
  readonly path: string
  readonly id?: Int64
  readonly query?: Readonly<Record<string, string>>
  /** Requests a compressed response, whatever the configuration is. */
  readonly gzip?: boolean
  readonly signal: AbortSignal
}

/** A response as it came, including a refusal. */
export interface Shown {
  readonly status: number
  /** The body. undefined for any status other than 200. */
  readonly value: unknown
  readonly etag: string | undefined
  /** The server's `Date` in microseconds. */
  readonly date: bigint | undefined
  readonly encoding: string | undefined
  /** Whether the response reported the rate limit, what remains of it, and its end. */
  readonly hasRate: boolean
}

/** Counts of the requests so far, for the report and the progress display. */
export interface SourceStats {
  readonly requests: number
  readonly retries: number
  /** Responses with status 429. */
  readonly rateLimited: number
  readonly bytes: number
  /** The earliest time that the server's clock can show, in ms since the epoch. undefined if no response had a Date. */
  readonly serverTime?: number | undefined
  /** The current rate-limit window, if known; `resetsAt` in ms since the epoch. */
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
  /** By purpose, with the response times. */
  readonly traffic: Pick<Traffic, 'answers' | 'times'>
  /** Milliseconds in which requests were held up by the rate limit. */
  readonly waited: number
  /** Whether they are held up now. */
  readonly isWaiting: boolean
}

/**
 * The API, read only. Every method retries what can be retried (a limited number of times) and then throws: `Skip` if
 * this cursor can't continue (404: reason absent; 403/422: refused; retries used up: failed), `Stop` if none can (401;
 * exit 3).
 */
export interface Source {
  /** Which source it is: a warehouse belongs to one. */
  readonly address: SourceAddress
  /** The most records to request at once. */
  readonly pageSize: number
  list(request: ListRequest): Promise<Page>
  /**
   * Like `list`, but returns the result of `make` instead of the page. `make` runs once, after the response was
   * accepted and before the promise resolves, so that the page itself can be collected: a long-pending promise is in
   * the old part of the heap, and a page of 4 MB that it resolves to stays there until a full collection.
   */
  take<T>(request: ListRequest, make: (page: Page) => T): Promise<T>
  /** undefined if the record doesn't exist (404, 410). */
  item(request: ItemRequest): Promise<Reply | undefined>
  /** A bare array, such as payments/customer_payment_types. */
  strings(request: Omit<ItemRequest, 'id'>): Promise<Reply<readonly unknown[]>>
  /** One page of `partners/:partner_id/authorizations`. */
  authorizations(page: number, perPage: number, signal?: AbortSignal): Promise<Page>
  /** Returns a response as it came. Throws like the others if none came. */
  ask(question: PlainRequest): Promise<Shown>
  /** The stats of everything, or of the requests made under one tag (see `tagged`). */
  stats(): SourceStats & SourceTraffic
  /** The same source, with its own `stats()` that only count the requests sent through it: one per cursor. */
  tagged(): Source
  close(): Promise<void>
}
