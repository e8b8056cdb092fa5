/**
 * The statements that keep versions (versions.ts). $1: the tenant; $2: ids of records; $3: the stamp of the request
 * that showed their end. Both databases take the same text except for a few words.
 */
import { type Table, tupleColumns } from '../../model/table.js'

/** The words in which the databases differ. */
export interface VersionWords {
  /** A table's name. */
  from(table: string): string
  /** The condition that an id is in a parameter's list. */
  within(parameter: string): string
  /** A parameter that is an instant. */
  instant(parameter: string): string
  /** The nested rows of the record in `root`, as JSON without losing a digit: an object with a list for each table. */
  nested(children: readonly Table[], root: string): string
}

/** The tables of a resource whose versions are kept. */
export interface VersionTables {
  readonly history: Table
  readonly root: Table
  readonly children: readonly Table[]
}

/** The statements for one resource. */
export interface VersionTexts {
  /** Keeps the versions that live rows have. $4: what ends them. */
  readonly keep: string
  /** The same, if the row still has the version $5 and was last seen before $3. */
  readonly keepUnlessNewer: string
  /** Removes what was kept of rows that turned out to be unchanged. */
  readonly dropUnchanged: string
  /** Starts the current version of the others. */
  readonly begin: string
}

export const quoted = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** The columns of a nested row that the version doesn't already have. What is computed from it isn't part of it. */
export const nestedColumns = ({ columns, owner }: Table) =>
  columns.filter(
    ({ name, computedBy }) =>
      name !== 'tenant_id' && name !== '_synced_at' && name !== owner && computedBy === undefined,
  )

/** The order of the nested rows: those of one item together, by their positions. */
export const nestedOrder = (table: Table): string[] => {
  const ancestors = table.columns
    .slice(
      0,
      table.columns.findIndex(({ name }) => name === 'position'),
    )
    .filter(({ name }) => name !== 'tenant_id' && name !== table.owner)
  return [...ancestors.map(({ name }) => name), 'position', ...table.key.slice(1)].filter(
    (name, at, all) => name !== table.owner && all.indexOf(name) === at,
  )
}

export function versionTexts(words: VersionWords, { history, root, children }: VersionTables): VersionTexts {
  const [kept, live, stamp] = [words.from(history.name), words.from(root.name), words.instant('$3')]
  const columns = root.columns
    .filter(({ computedBy }) => computedBy === undefined)
    .map(({ name }) => name)
    .filter((name) => name !== '_seen_from' && name !== '_unlisted_at')
  const since = 'coalesce(r._seen_from, r._synced_at)'
  /** Of two concurrent requests, the later one may show the older version: its period is empty, never negative. */
  const end = (from: string): string => `case when ${stamp} > ${from} then ${stamp} else ${from} end`
  const nested = words.nested(children, 'r')
  const target = [...columns, '_seen_from', '_children', '_valid_from', '_seen_to', '_ended_by']
  const source = [
    ...columns.map((name) => `r.${quoted(name)}`),
    since,
    nested,
    'r.updated_at',
    end(since),
    'cast($4 as text)',
  ]
  const others = target.filter((name) => !history.key.includes(name)).map(quoted)
  // A version with an empty period is replaced, because there is no instant at which it existed.
  const again = `on conflict (${history.key.map(quoted).join(', ')}) do update set ${others.map((name) => `${name} = excluded.${name}`).join(', ')} where h._seen_to <= h._seen_from`
  const keep = (more: string): string =>
    `insert into ${kept} as h (${target.map(quoted).join(', ')}) select ${source.join(', ')} from ${live} as r where r.tenant_id = $1 and r.id ${words.within('$2')} and r._deleted_at is null${more} ${again}`
  const same = tupleColumns(root).flatMap(({ name, computedBy }) => (computedBy ? [] : quoted(name)))
  const pair = (alias: string): string => `(${same.map((name) => `${alias}.${name}`).join(', ')})`
  return {
    keep: keep(''),
    keepUnlessNewer: keep(` and r.updated_at = ${words.instant('$5')} and r._synced_at < ${stamp}`),
    dropUnchanged: `delete from ${kept} as h where h.tenant_id = $1 and h.id ${words.within('$2')} and h._ended_by = 'replaced' and h._seen_to = ${end('h._seen_from')} and exists (select 1 from ${live} as r where r.tenant_id = $1 and r.id = h.id and ${pair('r')} is not distinct from ${pair('h')} and h._children = ${nested})`,
    begin: `update ${live} as r set _seen_from = ${stamp} where r.tenant_id = $1 and r.id ${words.within('$2')} and r._deleted_at is null and r._seen_from < ${stamp} and exists (select 1 from ${kept} as h where h.tenant_id = $1 and h.id = r.id and h._seen_to = ${stamp})`,
  }
}
