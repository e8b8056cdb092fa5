import { resources } from '../schema/index.js'
import { model } from '../src/engine/model/registry.js'
import type { Table } from '../src/engine/model/table.js'
import { type Dataset, type ResourceName, resourcesOf } from './source/dataset.js'
import { schema } from './warehouse.js'

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

/** Everything that the source has of these tenants. */
export const loadOf = (url: string, source: { url: string }, dataset: Dataset, tenants: number): Load => ({
  source: source.url,
  tenants,
  resources: resourcesOf(dataset),
  url,
  schema,
  updatedAfter: '1970-01-01T00:00:00Z',
})

/** The tables to which these resources' records add rows, including those for records inside them. */
export function tablesOf(wanted: readonly ResourceName[]): Table[] {
  const { byName, embedded } = model(resources)
  const own = [...wanted.flatMap((name) => byName.get(name) ?? []), ...(embedded ? [embedded] : [])]
  return [...new Set(own.flatMap(({ tables, derived }) => [...tables, ...derived.map(({ table }) => table)]))]
}
