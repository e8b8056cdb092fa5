import { sql } from 'kysely'
import pg from 'pg'
import type { Table } from '../../model/table.js'
import type { Db } from '../database.js'
import type { KeyChange, LiveIndex } from '../dialect.js'

interface Dependent {
  /** Such as `the view public.visits`. */
  readonly what: string
  readonly is: 'foreign key' | 'identity' | 'other'
}

/**
 * What depends on a key: foreign keys on its index, views and functions that group by it on its constraint, and the
 * table's own replica identity, without which a subscription would refuse every change to a row.
 */
const standingOn = (db: Db, relation: string, constraint: string) =>
  sql<Dependent>`
    with k as (select oid, conindid, conrelid from pg_constraint
      where conrelid = to_regclass(${relation}) and conname = ${constraint})
    select distinct case when d.classid = 'pg_rewrite'::regclass
        then 'the view ' || (select r.ev_class::regclass::text from pg_rewrite r where r.oid = d.objid)
        else 'the ' || pg_describe_object(d.classid, d.objid, d.objsubid) end as what,
      case when d.classid = 'pg_constraint'::regclass then 'foreign key' else 'other' end as "is"
    from k join pg_depend d on d.deptype = 'n' and (
      (d.refclassid = 'pg_constraint'::regclass and d.refobjid = k.oid)
      or (d.refclassid = 'pg_class'::regclass and d.refobjid = k.conindid))
    union all
    select 'the replica identity of the table ' || k.conrelid::regclass::text, 'identity' from k join pg_index x on x.indexrelid = k.conindid where x.indisreplident
    order by what`.execute(db)

function hintOf({ what, is }: Dependent, relation: string, key: readonly string[]): string {
  if (is === 'identity') return `Type alter table ${relation} replica identity default`
  return `Drop ${what}${is === 'foreign key' ? `; one on (${key.join(', ')}) can be added afterwards` : ', and create it again afterwards'}`
}

/** Names everything that depends on the existing key. Postgres itself would refuse, naming one table at a time. */
export async function changeKey(
  db: Db,
  schema: string,
  { name, key }: Table,
  live: LiveIndex | undefined,
): Promise<KeyChange> {
  const relation = `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(name)}`
  const rows = live ? (await standingOn(db, relation, live.name)).rows : []
  const columns = sql.join(key.map((column) => sql.id(column)))
  const drop = live ? sql`drop constraint ${sql.id(live.name)},` : sql``
  const statement = sql`alter table ${sql.id(schema, name)} ${drop}
    add constraint ${sql.id(`${name}_key`)} primary key (${columns})`
  return {
    statements: [statement.compile(db)],
    obstacles: rows.map((one) => ({
      problem: `${one.what} depends on its key`,
      hint: hintOf(one, relation, key),
    })),
  }
}
