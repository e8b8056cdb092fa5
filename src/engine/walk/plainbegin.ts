import type { Seen } from './behind.js'
import type { WalkPage } from './types.js'

/** Where a plain reading of a list begins: see plain.ts. */
export interface PlainBegin<P> {
  /** A walk that found its list longer than the total goes on where it ended. */
  readonly from: number
  /** The pages from there that have come already. */
  readonly pages: readonly WalkPage<P>[]
  readonly perPage: number
  /** Newest `updated_at` of the walk's first response, if that came before. */
  readonly ceiling?: string
  /** Records of the pages before. */
  readonly seen?: Seen
}
