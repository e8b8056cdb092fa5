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
  /** `settle` gives the trigger's function a path of its own; null if it has one, or looks nothing up. */
  readonly triggers: readonly { readonly name: string; readonly settle: string | null }[]
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
 * What a trigger's function calls without a schema is looked for in our session's path, which is pg_catalog, unless the
 * function sets its own.
 */
const settled = sql.raw(`case when not exists (select from unnest(f.proconfig) s where s like 'search_path=%')
      and f.prolang not in (select oid from pg_language where lanname in ('c', 'internal'))
    then format('alter function %s set search_path = pg_catalog, %I, pg_temp', f.oid::regprocedure, h.nspname) end`)

/** One statement that reads the catalog, and no row of any table. */
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
      coalesce((select jsonb_agg(jsonb_build_object('name', t.tgname, 'settle', ${settled}) order by t.tgname)
        from pg_trigger t join pg_proc f on f.oid = t.tgfoid join pg_namespace h on h.oid = f.pronamespace
        where t.tgrelid = c.oid and not t.tgisinternal and t.tgenabled <> 'D'), '[]') as triggers,
      array(select r.rulename::text from pg_rewrite r
        where r.ev_class = c.oid and r.rulename <> '_RETURN' order by 1) as rules
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${names.schema} and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and c.relname = any(${tables}::text[])
    order by c.relname`.execute(db)
  return rows.flatMap((found) => interferenceOf(found, names))
}

function interferenceOf({ table, ...found }: Found, names: Names): Interference[] {
  const { schema, role } = names
  const name = `${plain(schema)}.${plain(table)}`
  const harm = (problem: string, hint: string): Interference => ({ table, problem, hint, isHarmful: true })
  const added = (kind: string, each: string, settle: string | null = null) => ({
    ...harm(
      `the ${kind} ${each}`,
      `Type: drop ${kind} ${plain(each)} on ${name}${settle === null ? '' : `; or keep it, and name the schemas that its function uses, since in our sessions it finds only what is in pg_catalog: ${settle}`}`,
    ),
    isHarmful: false,
  })
  return [
    ...(found.is_table
      ? []
      : [
          harm(
            'a view in place of the table',
            `Rename or drop the view ${name}: the next run creates the table again and fills it`,
          ),
        ]),
    ...(found.lacks.length > 0
      ? [harm(`${role} lacks the right to ${found.lacks.join(', ')}`, grantOn(table, names))]
      : []),
    ...(found.hides
      ? [
          {
            ...harm(
              `row-level security that applies to ${role} and may hide rows or refuse them`,
              withoutRowSecurity(table, names),
            ),
            hides: true,
          },
        ]
      : []),
    ...found.triggers.map((trigger) => added('trigger', trigger.name, trigger.settle)),
    ...found.rules.map((rule) => added('rule', rule)),
  ]
}

export async function narrowEncoding(db: Db): Promise<string | undefined> {
  const { rows } = await sql<{ server_encoding: string }>`show server_encoding`.execute(db)
  const encoding = rows[0]?.server_encoding
  return encoding === 'UTF8' ? undefined : encoding
}
