/* Changes to the tables of a warehouse, in words. */
import { plural } from '../engine/base/format.js'
import type { HiddenRows, LoosenedColumn } from '../engine/warehouse/hiding/hiding.js'
import type { RewrittenRows } from '../engine/warehouse/layout/rewrites.js'
import type { Recomputed } from '../engine/warehouse/store/recompute.js'

/** A change to a table, as documents and messages show it. */
export interface TableChange {
  readonly table: string
  readonly what: string
}

export const changeLine = ({ table, what }: TableChange): string => `${table}: ${what}`

/** How many views, and which ones if there are few. */
export function viewChangesText(changes: readonly TableChange[]): string {
  const shown = changes.length > 6 ? '' : ` (${changes.map(({ table }) => table).join(', ')})`
  return `${plural(changes.length, 'view')} for analysts to create or replace${shown}`
}

export const rewrittenWhat = ({ to, values }: RewrittenRows): string => {
  if (to === 'history') return 'ended versions are kept from now on'
  if (to === 'no history') return 'ended versions are no longer kept; the existing history stays'
  return `made the names again from the stored records; ${plural(values, 'name')} changed`
}

export const hiddenWhat = ({ columns, rows }: HiddenRows): string =>
  `hid ${columns.join(', ')} in ${plural(rows, 'row')}`

export const loosenedWhat = ({ column, lists, rows }: LoosenedColumn): string =>
  `${column} may be stored again: the next sync reads ${lists.join(', ')} whole; rows that the source no longer lists stay as they are, ${plural(rows, 'deleted row')} among them`

export const recomputedWhat = ({ tenantId, records }: Recomputed): string =>
  `recomputed for ${plural(records, 'record')} of tenant ${tenantId}`

export function migrateText(where: string, changes: readonly TableChange[]): string {
  const tables = new Set(changes.map(({ table }) => table)).size
  const outcome =
    changes.length === 0 ? 'up to date' : `${plural(changes.length, 'change')} in ${plural(tables, 'table')}`
  return [...changes.map(changeLine), `${where}: ${outcome}`].join('\n')
}
