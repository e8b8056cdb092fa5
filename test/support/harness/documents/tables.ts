/** What BI tools see of a warehouse: the columns of each table and view, their types, and the key. */
import Database from 'better-sqlite3'
import pg from 'pg'

interface Column {
  readonly table: string
  readonly name: string
  readonly type: string
  readonly nullable: boolean
  /** The position in the primary key, from 1; 0 if it isn't part of it. */
  readonly key: number
}

const ofSqlite = `
  select t.name as "table", c.name, c.type, not c."notnull" as nullable, c.pk as key
  from sqlite_master t join pragma_table_info(t.name) c
  where t.type in ('table', 'view') and t.name not like 'sqlite_%' order by t.name, c.cid`

const ofPostgres = `
  select r.relname as "table", a.attname as name, format_type(a.atttypid, a.atttypmod) as type,
    not a.attnotnull as nullable, coalesce(array_position(k.conkey, a.attnum), 0) as key
  from pg_class r
  join pg_namespace n on n.oid = r.relnamespace
  join pg_attribute a on a.attrelid = r.oid and a.attnum > 0 and not a.attisdropped
  left join pg_constraint k on k.conrelid = r.oid and k.contype = 'p'
  where n.nspname in ($1::text, $1::text || '_analytics') and r.relkind in ('r', 'v')
  order by n.nspname, r.relname collate "C", a.attnum`

async function columns(url: string, schema: string): Promise<readonly Column[]> {
  if (url.startsWith('sqlite:')) {
    const db = new Database(url.slice('sqlite:'.length), { readonly: true })
    const rows = db.prepare(ofSqlite).all() as Column[]
    db.close()
    return rows
  }
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query<Column>(ofPostgres, [schema])).rows
  } finally {
    await client.end()
  }
}

/** One line per column. */
export async function tables({ url, schema }: { url: string; schema: string }): Promise<string> {
  const lines = (await columns(url, schema)).map(({ table, name, type, nullable, key }) =>
    [`${table}.${name}`, type, ...(nullable ? [] : ['not null']), ...(key > 0 ? [`key ${key}`] : [])].join(
      ' ',
    ),
  )
  return `${lines.join('\n')}\n`
}
