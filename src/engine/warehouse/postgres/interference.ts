import { sql } from 'kysely'
import type { Db } from '../database.js'
import type { Interference } from '../dialect.js'
import { grantOn, type Names, plain, withoutRowSecurity } from './drivererrors.js'

interface Found {
  readonly table: string
  readonly is_table: boolean
  /** The rights that the role lacks. */
  readonly lacks: readonly string[]
  readonly hides: boolean
  readonly triggers: readonly string[]
  readonly rules: readonly string[]
}

/** Whether a policy applies to this role. */
const isMine = sql.raw(
  `exists (select from unnest(p.polroles) r where r = 0 or pg_has_role(nullif(r, 0), 'usage'))`,
)

/** Whether a policy's condition holds for every row. Of any other, nothing can be known without reading all rows. */
const isAlways = (condition: 'polqual' | 'polwithcheck') =>
  sql.raw(`coalesce(pg_get_expr(p.${condition}, p.polrelid), 'true') = 'true'`)

/**
 * Functions that our statements call because of what others put on a table: whatever belongs to the table or to the types
 * of its columns, by dependencies in the catalog, and on the database the event triggers. What such a function calls
 * without a schema is looked for in our session's path, which is pg_catalog, unless the function sets its own or its names
 * were bound when it was made.
 */
async function unsettled(db: Db, schema: string, tables: readonly string[]): Promise<Interference[]> {
  const { rows } = await sql<{
    readonly table: string | null
    readonly what: string
    readonly called: string
    readonly settle: string
  }>`
    with recursive reached(on_table, classid, objid, by_class, by_object) as (
      select c.relname, 'pg_class'::regclass::oid, c.oid, null::oid, null::oid
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = ${schema} and c.relkind in ('r', 'p') and c.relname = any(${tables}::text[])
      union all
      select null, 'pg_event_trigger'::regclass, oid, 'pg_event_trigger'::regclass, oid
      from pg_event_trigger where evtenabled in ('O', 'A')
      union
      select r.on_table, d.classid, d.objid, coalesce(r.by_class, d.classid), coalesce(r.by_object, d.objid)
      from reached r, lateral (
        select p.refclassid as classid, p.refobjid as objid from pg_depend p
        where p.classid = r.classid and p.objid = r.objid and p.refclassid in (
          'pg_proc'::regclass, 'pg_operator'::regclass, 'pg_type'::regclass, 'pg_opclass'::regclass)
        union all
        select p.classid, p.objid from pg_depend p
        where p.refclassid = r.classid and p.refobjid = r.objid and p.deptype in ('a', 'i')
          and r.classid in ('pg_class'::regclass, 'pg_type'::regclass, 'pg_opclass'::regclass)) d
    )
    select r.on_table as "table", min(pg_describe_object(r.by_class, r.by_object, 0)) as what,
      f.oid::regprocedure::text as called,
      format('alter function %s set search_path = pg_catalog, %I, pg_temp', f.oid::regprocedure, h.nspname) as settle
    from reached r join pg_proc f on r.classid = 'pg_proc'::regclass and f.oid = r.objid
      join pg_namespace h on h.oid = f.pronamespace join pg_language l on l.oid = f.prolang
    where f.prosqlbody is null and l.lanname not in ('c', 'internal') and f.pronamespace <> 'pg_catalog'::regnamespace
      and not exists (select from unnest(f.proconfig) s where s like 'search_path=%')
    group by r.on_table, f.oid, h.nspname order by 1, 2`.execute(db)
  return rows.map(({ table, what, called, settle }) => ({
    table: table ?? undefined,
    problem: `${what}, which calls ${called}`,
    hint: `In our sessions that function finds without a schema only what is in pg_catalog. If it means anything else, type: ${settle}`,
    isHarmful: false,
  }))
}

/** Reads the catalog, and no row of any table. */
export async function interferences(
  db: Db,
  names: Names,
  tables: readonly string[],
): Promise<Interference[]> {
  const { rows } = await sql<Found>`
    select c.relname as "table", c.relkind in ('r', 'p') as is_table,
      row_security_active(c.oid) and (
        exists (select from pg_policy p where p.polrelid = c.oid and not p.polpermissive and ${isMine})
        or exists (select from unnest(array['r', 'a', 'w', 'd']) command where not exists (
          select from pg_policy p where p.polrelid = c.oid and p.polpermissive and ${isMine}
            and p.polcmd in ('*', command::"char") and ${isAlways('polqual')} and ${isAlways('polwithcheck')}))
      ) as hides,
      array(select r from unnest(array['select', 'insert', 'update', 'delete']) r
        where not has_table_privilege(c.oid, r)) as lacks,
      array(select t.tgname::text from pg_trigger t
        where t.tgrelid = c.oid and not t.tgisinternal and t.tgenabled <> 'D' order by 1) as triggers,
      array(select r.rulename::text from pg_rewrite r
        where r.ev_class = c.oid and r.rulename <> '_RETURN' order by 1) as rules
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${names.schema} and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and c.relname = any(${tables}::text[])
    order by c.relname`.execute(db)
  const called = await unsettled(db, names.schema, tables)
  return [...rows.flatMap((found) => interferenceOf(found, names)), ...called]
}

function interferenceOf({ table, ...found }: Found, names: Names): Interference[] {
  const { schema, role } = names
  const name = `${plain(schema)}.${plain(table)}`
  const all: Interference[] = []
  const harm = (problem: string, hint: string, hides?: boolean): void =>
    void all.push({ table, problem, hint, isHarmful: true, hides })
  if (!found.is_table)
    harm(
      'a view in place of the table',
      `Rename or drop the view ${name}: the next run creates the table again and fills it`,
    )
  if (found.lacks.length > 0)
    harm(`${role} lacks the right to ${found.lacks.join(', ')}`, grantOn(table, names))
  if (found.hides)
    harm(
      `row-level security that applies to ${role} and may hide rows or refuse them`,
      withoutRowSecurity(table, names),
      true,
    )
  const added = (kind: string) => (each: string) => ({
    table,
    problem: `the ${kind} ${each}`,
    hint: `Type: drop ${kind} ${plain(each)} on ${name}`,
    isHarmful: false,
  })
  return [...all, ...found.triggers.map(added('trigger')), ...found.rules.map(added('rule'))]
}

export async function narrowEncoding(db: Db): Promise<string | undefined> {
  const { rows } = await sql<{ server_encoding: string }>`show server_encoding`.execute(db)
  const encoding = rows[0]?.server_encoding
  return encoding === 'UTF8' ? undefined : encoding
}
