/** The script language: rules of WHEN a request matches and WHAT then happens. See docs/sandbox.md. */

export interface When {
  readonly method?: string
  readonly tenant?: number | readonly number[]
  readonly resource?: string | readonly string[]
  readonly id?: number | readonly number[]
  readonly kind?: 'list' | 'item'
  readonly page?: number | readonly number[]
  readonly perPage?: number | readonly number[]
  /** The rule's 1st, 2nd … matching request. */
  readonly nth?: number | readonly number[]
  readonly every?: number
  readonly from?: number
  readonly to?: number
  readonly probability?: number
  readonly seed?: number
}

/** Which records of a page: all, these positions, or the first so many. */
export type Which = 'all' | readonly number[] | { readonly first: number }

export type Corruption =
  | 'strings-for-numbers'
  | 'integer-beyond-53'
  | 'integer-beyond-64'
  | 'null-ids'
  | 'missing-updated-at'
  | 'null-arrays'
  | 'missing-arrays'
  | 'object-arrays'
  | 'duplicate-ids'
  | 'duplicate-child-ids'
  | 'nul-character'
  | 'lone-surrogate'

/** What goes wrong on the wire, whatever the answer is. */
export type Transport =
  | { readonly kind: 'drop' }
  | { readonly kind: 'reset'; readonly bytes?: number }
  | { readonly kind: 'stall'; readonly ms?: number; readonly part?: 'headers' | 'body' }
  | { readonly kind: 'cut'; readonly fraction?: number }
  | { readonly kind: 'length'; readonly by: number }
  | { readonly kind: 'trickle'; readonly bytes?: number; readonly ms?: number }
  | { readonly kind: 'huge'; readonly bytes?: number }

export type Fault =
  | Transport
  | { readonly kind: 'html'; readonly status?: number }
  | {
      readonly kind: 'status'
      readonly status: number
      readonly body?: string
      readonly retryAfter?: number
      readonly retryAfterDate?: number
      readonly rateHeaders?: boolean
    }
  | { readonly kind: 'text'; readonly text?: string }
  | { readonly kind: 'gzip'; readonly how?: 'garbage' | 'truncated' }
  | { readonly kind: 'redirect'; readonly to: string; readonly status?: number }
  | {
      readonly kind: 'page'
      readonly page: number | 'previous' | 'next'
      readonly claim?: 'served' | 'asked'
    }
  | { readonly kind: 'empty' }
  | { readonly kind: 'total'; readonly by?: number; readonly to?: number }
  | { readonly kind: 'skew'; readonly seconds: number }
  | {
      readonly kind: 'rate'
      readonly remove?: boolean
      readonly limit?: number
      readonly remaining?: number
      readonly reset?: number
    }
  | { readonly kind: 'headers'; readonly set: Readonly<Record<string, string | null>> }
  | {
      readonly kind: 'fields'
      readonly name?: string
      readonly value?: unknown
      readonly nested?: boolean
      readonly records?: Which
    }
  | { readonly kind: 'enums'; readonly value?: string; readonly records?: Which }
  | {
      readonly kind: 'alter'
      readonly path: string
      readonly to?: unknown
      readonly raw?: string
      readonly remove?: boolean
      readonly records?: Which
    }
  | { readonly kind: 'corrupt'; readonly how: Corruption; readonly records?: Which }

/** Which records a motion moves. Ranks count from 0, newest first. */
export interface Target {
  readonly ids?: readonly number[]
  readonly random?: number
  readonly ranks?: readonly number[]
  /** So many records just after the page that was asked for: still to be read by a walk. */
  readonly ahead?: number
  /** So many records just before that page: read already. */
  readonly behind?: number
}

interface Scope {
  /** Default: the tenant of the request. */
  readonly tenant?: number
  /** Default: the resource of the request. */
  readonly resource?: string
}

export type Motion =
  | (Scope & { readonly kind: 'create'; readonly n?: number; readonly agedMs?: number })
  | (Scope & Target & { readonly kind: 'update' })
  | (Scope & Target & { readonly kind: 'delete' })
  | (Scope & Target & { readonly kind: 'touch' })
  | (Scope & { readonly kind: 'restore'; readonly n?: number; readonly stamp?: boolean })
  | (Scope & { readonly kind: 'late'; readonly n?: number; readonly hold?: number })
  | { readonly kind: 'shuffle'; readonly on?: boolean }
  | (Scope & { readonly kind: 'revoke' })
  | (Scope & { readonly kind: 'grant'; readonly writable?: boolean })
  | (Scope & { readonly kind: 'off'; readonly everywhere?: boolean })
  | (Scope & { readonly kind: 'on'; readonly everywhere?: boolean })
  | { readonly kind: 'work'; readonly n?: number; readonly tenant?: number }
  | { readonly kind: 'consume'; readonly requests: number }

export interface Rule {
  readonly name?: string
  readonly when?: When
  /** How often the rule fires at most; default: every time it matches. */
  readonly times?: number
  readonly fault?: Fault | readonly Fault[]
  readonly before?: Motion | readonly Motion[]
  readonly after?: Motion | readonly Motion[]
}

export function list<T>(items: T | readonly T[] | undefined): readonly T[] {
  if (items === undefined) return []
  return Array.isArray(items) ? (items as readonly T[]) : [items as T]
}
