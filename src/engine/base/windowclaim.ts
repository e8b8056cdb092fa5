/**
 * What processes that share a rate limit ask of each other (docs/scale.md, One rate window). The throttle asks
 * (source/rate/), a row of the warehouse answers (warehouse/state/sharedwindow.ts). All times are the server's, in whole
 * seconds since 1970, because a window is known by the second in which it ends.
 */

/** A claim to so many requests of the current window. */
export interface WindowClaim {
  /** What the limit counts by, as responses name it: an IP address or a partner id. */
  readonly rule: string
  readonly limit: number
  /** The requests to take; 0 to only tell what is known of the window. */
  readonly count: number
  /** How many all processes together may take. */
  readonly most: number
  /** When the window ends, as a response has said (`isSaid`); before the first one, the earliest that is possible. */
  readonly resetsAt: number
  readonly isSaid: boolean
  /** A row that ends from then on is of this window, or of a later one. */
  readonly from: number
  /** A row that ends after it is of a later window. */
  readonly to: number
  /** What our own earlier claim to this window called it. */
  readonly was: number
  /** What the server has counted, as a response of this window has said; 0 before the first one. */
  readonly used: number
  /** Requests that were sent in this window without being taken. */
  readonly owed: number
}

/** The row of the rule after the claim. */
export interface WindowRow {
  readonly resetsAt: number
  /** How many of the window's requests are taken, by whomever. */
  readonly taken: number
  /** How many of them the claim has got: fewer than it asked for if no more were left. */
  readonly granted: number
}

/** The row that processes share. Both reject while it can't be had. */
export interface SharedWindow {
  take(claim: WindowClaim): Promise<WindowRow>
  /** When the rule's last window ends; undefined if nobody has shared it yet. */
  find(rule: string): Promise<number | undefined>
}

/** A hundredth of the limit, and at least one request: what one claim takes. */
export const hundredth = (limit: number): number => Math.max(1, Math.floor(limit / 100))
