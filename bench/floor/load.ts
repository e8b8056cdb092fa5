import type { Columns } from './columns.js'

/** What a hand-written load is told. */
export interface Load {
  readonly source: string
  /** 1 to so many. */
  readonly tenants: number
  /** Of the warehouse. */
  readonly url: string
  readonly schema: string
  readonly columns: Columns
  /** `updated_after` of its requests. */
  readonly updatedAfter: string
}
