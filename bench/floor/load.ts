import type { ResourceName } from '../source/climate.js'
import type { Columns } from './columns.js'

/** What every contender is told. */
export interface Load {
  readonly source: string
  /** The tenants are 1 to so many. */
  readonly tenants: number
  readonly resources: readonly ResourceName[]
  /** Of the warehouse. */
  readonly url: string
  readonly schema: string
  readonly columns: Columns
  /** `updated_after` of its requests. */
  readonly updatedAfter: string
}
