/**
 * Models for dbt that continue copies of the tables by docs/increments.md. Each row keeps the `through` of the run that copied
 * it, so that nothing has to be remembered beside the rows: what a run lost is taken again by the next one.
 */
import { viewsSource } from './dbtmodels.js'
import { type Dictionary, type DictionaryTable, dataTables } from './dictionary.js'
import type { Files } from './folder.js'

export const progressModel = 'shopsync_through'

export const incrementOf = (table: string): string => `inc_shopsync__${table}`

const source = (name: string, of: string): string => `{{ source('${of}', '${name}') }}`
const now = `{{ ref('${progressModel}') }}`
/** By tenant; none of a tenant that the copy has no rows of. */
const last = `(select tenant_id, max(_through) as through from {{ this }} group by tenant_id)`
const since = `coalesce(l.through, '1970-01-01T00:00:00.000000Z')`

/** A copy, and the records that say which of its rows have changed. */
interface Copied {
  readonly table: DictionaryTable
  readonly from: string
  /** Undefined: its own rows are the records. */
  readonly owner: { readonly from: string; readonly on: string } | undefined
}

/** Rows of tenants that are gone or were taken again, and of records that have changed since they were copied. */
function outdated({ owner }: Copied): string {
  const settled = (at: string): string => `${at} >= m._through and ${at} < n.through`
  const gone = `m.tenant_id not in (select n.tenant_id from ${now} n)`
  const anew = `exists (select 1 from ${now} n where n.tenant_id = m.tenant_id and ${settled('n.rebuild_from')})`
  const changed =
    owner &&
    `exists (select 1 from ${owner.from} r join ${now} n on n.tenant_id = r.tenant_id where r.tenant_id = m.tenant_id and r.id = m.${owner.on} and ${settled('r._synced_at')})`
  return [gone, anew, ...(changed ? [changed] : [])].join(' or ')
}

function model(copied: Copied): string {
  const { table, from, owner } = copied
  const stamped = owner ? 'r' : 'c'
  // dbt-sqlite takes one column only.
  const key = table.key.map((name) => `cast(c.${name} as text)`).join(" || '-' || ")
  const join = owner ? `\n  join ${owner.from} r on r.tenant_id = c.tenant_id and r.id = c.${owner.on}` : ''
  return `{{ config(
  materialized='incremental',
  incremental_strategy='delete+insert',
  unique_key='_key',
  post_hook="delete from {{ this }} as m where ${outdated(copied)}"
) }}
select c.*, ${key} as _key, n.through as _through
from ${from} c${join}
  join ${now} n on n.tenant_id = c.tenant_id
{% if is_incremental() %}
  left join ${last} l on l.tenant_id = c.tenant_id
where (${stamped}._synced_at >= ${since} and ${stamped}._synced_at < n.through)
  or (n.rebuild_from >= ${since} and n.rebuild_from < n.through)
{% endif %}`
}

/** The tables of records with their nested lists, and the totals. Deleted rows stay, with `_deleted_at`. */
function copiedTables(dictionary: Dictionary): Copied[] {
  const all = dataTables(dictionary)
  return all.flatMap((table): Copied[] => {
    const own = { table, from: source(table.name, 'shopsync'), owner: undefined }
    if (table.columns.some(({ name }) => name === '_deleted_at')) return [own]
    const root = all.find(({ name }) => name === table.resource)
    const on = table.key[1]
    if (!root || root === table || on === undefined) return []
    return [{ ...own, owner: { from: source(root.name, 'shopsync'), on } }]
  })
}

/** Which models there are, and their texts by file. */
export function dbtIncrements(dictionary: Dictionary): {
  readonly names: readonly DictionaryTable[]
  readonly files: Files
} {
  const copied = copiedTables(dictionary)
  const progress = `{{ config(materialized='table') }}\nselect tenant_id, through, rebuild_from from ${source('changes_by_tenant', viewsSource)}`
  return {
    names: copied.map(({ table }) => table),
    files: {
      [`models/increments/${progressModel}.sql`]: progress,
      ...Object.fromEntries(
        copied.map((one) => [`models/increments/${incrementOf(one.table.name)}.sql`, model(one)]),
      ),
    },
  }
}
