/**
 * Example queries on the versions that have ended: how a record was on a day, and what has changed when. The same text
 * runs on both kinds of warehouse.
 */
import type { Resource } from '../../../schema/resource.js'
import { type Table, tablesOf } from '../../engine/model/table.js'
import type { DictionaryExample } from './dictionary.js'

/** A value that people know a record by: the first that is no id, no time and no JSON. */
const telling = ({ columns }: Table): string[] =>
  columns
    .filter(
      ({ name, kind, references }) =>
        kind !== 'json' && !references && !/^_|(^|_)(id|at|from|to)$/.test(name),
    )
    .slice(0, 3)
    .map(({ name }) => name)

/** The versions that were in the warehouse at an instant: those that have ended since, and the present ones. */
function asOf({ name }: Table, root: Table, instant: string): string {
  const columns = ['tenant_id', 'id', 'updated_at', ...telling(root)].join(', ')
  return [
    `select ${columns}, _seen_from, _seen_to from ${name}`,
    `where _seen_from <= '${instant}' and _seen_to > '${instant}'`,
    'union all',
    `select ${columns}, _seen_from, null from ${root.name}`,
    `where _seen_from <= '${instant}' and _deleted_at is null`,
  ].join('\n')
}

const anInstant = '2026-01-31T00:00:00.000000Z'

export function asOfExamples(table: Table, resource: Resource): DictionaryExample[] {
  const [root] = tablesOf(resource)
  if (!root) return []
  return [
    {
      title: `As the warehouse had them on a day (an instant in UTC; add "and tenant_id = … and id = …" for one record)`,
      sql: `${asOf(table, root, anInstant)}\norder by tenant_id, id\nlimit 10`,
    },
    {
      title: 'The life of a record: every version that was seen, the present one last',
      sql: [
        `select tenant_id, id, _valid_from, _seen_from, _seen_to, _ended_by from ${table.name}`,
        'union all',
        `select tenant_id, id, updated_at, _seen_from, null, 'present' from ${root.name} where _deleted_at is null`,
        'order by tenant_id, id, _seen_from',
        'limit 10',
      ].join('\n'),
    },
  ]
}
