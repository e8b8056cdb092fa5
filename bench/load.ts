import { resources } from '../schema/index.js'
import { model, writtenTables } from '../src/engine/model/registry.js'
import type { Table } from '../src/engine/model/table.js'
import type { ResourceName } from './source/dataset.js'

/** What every program gets. */
export interface Load {
  readonly source: string
  /** The tenants are 1 to this number. */
  readonly tenants: number
  readonly resources: readonly ResourceName[]
  /** Of the warehouse. */
  readonly url: string
  readonly schema: string
  /** `updated_after` of its requests. */
  readonly updatedAfter: string
}

/** The tables to which these resources' records add rows, including those for records inside them. */
export function tablesOf(wanted: readonly ResourceName[]): Table[] {
  const { byName, embedded } = model(resources)
  const own = wanted.flatMap((name) => byName.get(name) ?? [])
  return [...new Set([...own, ...(embedded ? [embedded] : [])].flatMap(writtenTables))]
}
