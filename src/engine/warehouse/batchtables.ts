import type { ResourceModel } from '../model/resourcemodel.js'
import type { Table } from '../model/table.js'

/** The tables that a batch's rows go to. */
export interface BatchTables {
  /** The resource's root table first, then its child tables. */
  readonly tables: readonly Table[]
  /** Tables of the resource whose records are inside those of others. */
  readonly embedded: readonly Table[]
  /** Tables whose rows follow from the resource's records. */
  readonly derived: readonly Table[]
  /** Where the resource's replaced versions go. undefined if none are kept. */
  readonly history?: Table | undefined
  /** The same for embedded records. */
  readonly embeddedHistory?: Table | undefined
}

/** Where the batches of a resource go. */
export const batchTables = (
  { tables, derived, history }: ResourceModel,
  embedded: ResourceModel | undefined,
): BatchTables => ({
  tables,
  derived: derived.map(({ table }) => table),
  embedded: embedded?.tables ?? [],
  history,
  embeddedHistory: embedded?.history,
})

/**
 * The tables beside the root that a page's rows go to: none if it is empty, as that of an idle list is. A promise for each
 * would take longer than the page.
 */
export const besideRoot = (
  { tables: [_, ...children], embedded, derived }: BatchTables,
  isEmpty: boolean,
): Record<'children' | 'embedded' | 'derived', readonly Table[]> =>
  isEmpty ? { children: [], embedded: [], derived: [] } : { children, embedded, derived }
