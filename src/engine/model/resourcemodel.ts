/*
 * What the rest of the product knows about a resource, and about all of them. registry.ts composes it from the
 * declarations.
 */
import type { Derived } from '../../../schema/derive.js'
import type { Int64, Kind, Resource } from '../../../schema/resource.js'
import type { Privacy } from '../config/treatment.js'
import type { FlatPage, Flatten } from './flatten/batch.js'
import type { ForgetPlan, ForgottenSets } from './forgotten.js'
import type { HiddenColumn, HiddenPlaces } from './privacy.js'
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
  /** Flattens a page of a tenant, and hides what `privacy` says and what belongs to forgotten customers. */
  flatten(tenantId: Int64, ...page: Parameters<Flatten>): FlatPage
  /** What is hidden of its records. */
  readonly places: HiddenPlaces
  /** How its records are forgotten. undefined if they never are. */
  readonly forgets: ForgetPlan | undefined
  /** The columns that the configuration adds, with their kinds. */
  readonly promoted: Readonly<Record<string, Kind>>
}

/** Columns that the configuration once had, with their kinds, by resource. */
export type LeftColumns = Readonly<Record<string, Readonly<Record<string, Kind>>>>

/** What earlier configurations and versions have left in a warehouse. */
export interface FoundColumns {
  readonly left: LeftColumns
  /** Privacy.held */
  readonly held: ReadonlySet<string>
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
  readonly privacy: Privacy
  /** The columns that it hides, by table: those of the histories too. */
  readonly hidden: ReadonlyMap<string, readonly HiddenColumn[]>
  readonly forgotten: ForgottenSets
  readonly left: LeftColumns
  /** The same for a warehouse in which these were found: columns that are left are hidden, forgotten and copied like others. */
  withFound(found: FoundColumns): Model
}
