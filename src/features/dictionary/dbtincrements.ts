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
const tenants = source('changes_by_tenant', viewsSource)
const now = `{{ ref('${progressModel}') }}`
const last = `(select coalesce(max(l._through), '1970-01-01T00:00:00.000000Z') from {{ this }} l)`

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
  const gone = `m.tenant_id not in (select t.tenant_id from ${tenants} t)`
  const anew = `exists (select 1 from ${tenants} t cross join ${now} n where t.tenant_id = m.tenant_id and ${settled('t.rebuild_from')})`
  const changed =
    owner &&
    `exists (select 1 from ${owner.from} r cross join ${now} n where r.tenant_id = m.tenant_id and r.id = m.${owner.on} and ${settled('r._synced_at')})`
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
  cross join ${now} n
{% if is_incremental() %}
where (${stamped}._synced_at >= ${last} and ${stamped}._synced_at < n.through)
  or c.tenant_id in (select t.tenant_id from ${tenants} t where t.rebuild_from >= ${last} and t.rebuild_from < n.through)
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
  const progress = `{{ config(materialized='table') }}\nselect through from ${source('changes', viewsSource)}`
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
