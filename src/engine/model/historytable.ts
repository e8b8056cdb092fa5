import type { Resource } from '../../../schema/resource.js'
import { Bug } from '../base/errors.js'
import { withArticle } from '../base/format.js'
import { type Column, type Table, tablesOf } from './table.js'

/**
 * The table of versions that were found to be replaced or deleted (docs/history.md). src/engine/warehouse/store/versions.ts
 * writes it.
 */

const column = (name: string, kind: Column['kind'], doc: string): Column => ({
  name,
  kind,
  nullable: false,
  doc,
})

const seenFrom = column(
  '_seen_from',
  'timestamp',
  'When the request that first fetched this version was sent. For a version that existed before its history was kept: when it had last been seen by then.',
)

const own: readonly Column[] = [
  column(
    '_children',
    'json',
    'The rows of its nested arrays: an object with one list per table. Rows omit tenant_id, the id of the record and _synced_at.',
  ),
  column('_valid_from', 'timestamp', 'updated_at of the version: when the source got it.'),
  column(
    '_seen_to',
    'timestamp',
    'When the request that showed another version, or that the record was gone, was sent. The version itself may have ended earlier.',
  ),
  column(
    '_ended_by',
    'text',
    '`replaced` by another version, or `deleted`: the record was found to be gone.',
  ),
]

/** Columns of the current row that say nothing about a version that has ended. Nor do those made for views. */
const ofCurrentRow: ReadonlySet<string> = new Set([seenFrom.name, '_unlisted_at'])

/** Every resource whose records have versions may have one. */
export const historyName = ({ name, list }: Pick<Resource, 'name' | 'list'>): string | undefined =>
  list === 'records' ? `${name}_history` : undefined

/** undefined if the configuration keeps no versions of the resource. */
export function historyTable(resource: Resource): Table | undefined {
  const name = historyName(resource)
  if (!resource.history || name === undefined) return undefined
  const [root] = tablesOf(resource)
  if (!root) throw new Bug(`${resource.name} has no table`)
  return {
    name,
    resource: resource.name,
    doc: `Versions of ${resource.name.replaceAll('_', ' ')} that shopsync saw replaced or deleted. The current one is in ${resource.name}.`,
    grain: `one observed version, now ended, of ${withArticle(root.grain.replace(/^one /, ''))}`,
    role: 'history',
    columns: [
      ...root.columns.filter(({ name, computedBy }) => computedBy === undefined && !ofCurrentRow.has(name)),
      ...[seenFrom, ...own],
    ],
    // If requests were under way at the same time, one may end a version at the instant at which it began, where the
    // next one begins.
    key: [...root.key, seenFrom.name, '_valid_from'],
    indexes: [],
  }
}
