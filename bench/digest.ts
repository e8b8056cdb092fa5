/** Rows and checksums of the tables that a load wrote: contenders that are compared must have done the same work. */
import Database from 'better-sqlite3'
import pg from 'pg'
import type { Kind } from '../schema/resource.js'
import { type Columns, quoted } from './floor/columns.js'

interface TableDigest {
  readonly rows: number
  /** Over every column but those that say when the rows were written. */
  readonly sum: string
}

/** By table. */
export type Digest = ReadonlyMap<string, TableDigest>

const unequal = new Set(['_synced_at', '_deleted_at'])
/** Integers below this, times a weight, times millions of rows fit into 64 bits. */
const modulus = 1_000_003

/**
 * SQLite: an integer for each value, for a text made of its length and four of its characters. A sum of integers does not
 * depend on the order of the rows, as a sum of doubles would.
 */
function sqliteTerm(name: string, kind: Kind): string {
  const column = quoted(name)
  if (kind === 'number') return `cast(${column} * 1000000 as integer) % ${modulus}`
  // No contender promises the order of an object's members.
  if (kind === 'json') return `length(${column})`
  if (kind === 'text' || kind === 'timestamp' || kind === 'day') {
    const characters = ['1', `length(${column}) / 3`, `length(${column}) * 2 / 3`, '-1']
    const codes = characters.map((at, i) => `${7 + i} * coalesce(unicode(substr(${column}, ${at})), 0)`)
    return `length(${column}) * 31 + ${codes.join(' + ')}`
  }
  return `${column} % ${modulus}`
}

function sqliteDigest(url: string, columns: Columns): Digest {
  const db = new Database(url.slice('sqlite:'.length), { readonly: true })
  const one = ({ name, key, columns: all }: Columns[number]): readonly [string, TableDigest] => {
    const last = quoted(key.at(-1) ?? '')
    const terms = all
      .filter((column) => !unequal.has(column.name))
      .map((column, i) => `${i + 1} * coalesce(${sqliteTerm(column.name, column.kind)}, 13)`)
    const sql = `select count(*) as rows, sum((${terms.join(' + ')}) * (1 + ${last} % 89)) as sum from ${quoted(name)}`
    const { rows, sum } = db.prepare(sql).safeIntegers().get() as { rows: bigint; sum: bigint | null }
    return [name, { rows: Number(rows), sum: String(sum) }]
  }
  try {
    return new Map(columns.map(one))
  } finally {
    db.close()
  }
}

async function postgresDigest(url: string, schema: string, columns: Columns): Promise<Digest> {
  const client = new pg.Client({ connectionString: url, options: `-c TimeZone=UTC -c search_path=${schema}` })
  await client.connect()
  const digest = new Map<string, TableDigest>()
  try {
    for (const { name, columns: all } of columns) {
      const terms = all
        .filter((column) => !unequal.has(column.name))
        // 0.5 and 0.50 are one number.
        .map(({ name: own, kind }) => (kind === 'number' ? `trim_scale(${quoted(own)})` : quoted(own)))
      const sql = `select count(*)::int as rows, sum(hashtextextended(row(${terms.join(',')})::text, 0)::numeric)::text as sum from ${quoted(name)}`
      const { rows } = await client.query<TableDigest>(sql)
      if (rows[0]) digest.set(name, rows[0])
    }
  } finally {
    await client.end()
  }
  return digest
}

export const digestOf = async (url: string, schema: string, columns: Columns): Promise<Digest> =>
  url.startsWith('sqlite:') ? sqliteDigest(url, columns) : postgresDigest(url, schema, columns)

export const rowsIn = (digest: Digest): number =>
  [...digest.values()].reduce((sum, { rows }) => sum + rows, 0)

/** What differs, in words; undefined where nothing does. */
export function difference(found: Digest, expected: Digest): string | undefined {
  const lines = [...expected].flatMap(([table, { rows, sum }]) => {
    const own = found.get(table)
    if (own?.rows !== rows) return [`${table}: ${own?.rows ?? 'no'} rows where ${rows} are expected`]
    return own.sum === sum
      ? []
      : [`${table}: ${rows} rows with other values (checksum ${own.sum}, expected ${sum})`]
  })
  return lines.length === 0 ? undefined : lines.join('; ')
}
