/*
 * What the rest of the product knows about a resource, and about all of them. registry.ts composes it from the
 * declarations.
 */
import type { Derived } from '../../../schema/derive.js'
import type { Kind, Resource } from '../../../schema/resource.js'
import type { Flatten } from './flatten/batch.js'
import type { Table } from './table.js'

/** A table that follows from a resource's records, and how. */
export interface DerivedModel {
  readonly declared: Derived
  readonly table: Table
}

export interface ResourceModel {
  readonly name: string
  /** The declaration, including promoted columns. */
  readonly resource: Resource
  /** The resource's own table first, owners before children. */
  readonly tables: readonly Table[]
  /** What follows from its records: these rows are stored, deleted and revived with them. */
  readonly derived: readonly DerivedModel[]
  /** Where replaced or deleted versions go. undefined if none are kept. */
  readonly history: Table | undefined
  /** Path below `tenants/:tenant_id/`. */
  readonly path: string
  readonly enabled: boolean
  readonly flatten: Flatten
  /** The columns that the configuration adds, with their kinds. */
  readonly promoted: Readonly<Record<string, Kind>>
}

/** Every resource, and every table. */
export interface Model {
  /** In the order of the declarations. */
  readonly list: readonly ResourceModel[]
  readonly byName: ReadonlyMap<string, ResourceModel>
  /** Every table of every resource, whether enabled or not. Derived tables come last. */
  readonly tables: readonly Table[]
  /** The tables of ended versions, for the resources whose versions are kept. */
  readonly histories: readonly Table[]
  /** The product's own tables, including those of the features. */
  readonly state: readonly Table[]
  readonly tableByName: ReadonlyMap<string, Table>
  /** The resource whose records also appear inside the records of others. */
  readonly embedded: ResourceModel | undefined
}
