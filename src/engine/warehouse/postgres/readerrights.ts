/** What a role sees besides the views that it is granted: such a role can't be a reader. Used by readerviews.ts. */
import { sql } from 'kysely'
import pg from 'pg'
import type { Db } from '../database.js'
import type { RunStatement, ViewTrouble } from '../viewstore.js'

const quote = pg.escapeIdentifier

/** The comment by which we know a schema as ours. What its views are made of comes after it. */
export const readerMark = (tables: string): string => `shopsync reader of ${tables}`
export const markedWith = sql`split_part(obj_description(n.oid, 'pg_namespace'), ', views ', 1)`

/** Roles whose members see everything, whatever the tables say. Not every server has all of them. */
const allSeeing = [
  'pg_read_all_data',
  'pg_write_all_data',
  'pg_read_server_files',
  'pg_write_server_files',
  'pg_execute_server_program',
]

async function factsOf(
  db: Db,
  { tables, role }: { readonly tables: string; readonly role: string },
  run: RunStatement,
) {
  const asked = sql<{
    readonly is_super: boolean
    readonly sees_all: boolean
    /** It may copy the whole server, or read every change of it. */
    readonly replicates: boolean
    /** In servers before 16 it may grant itself any role that is no superuser. */
    readonly may_join: boolean
    readonly is_owner: boolean
    /** Roles that see more than one reader does, and other readers, of which it is a member. */
    readonly members: readonly string[]
    readonly may_create: boolean
    /** null: there is no schema of that name. */
    readonly mark: string | null
    readonly has_schema: boolean
    readonly is_us: boolean
  }>`select r.rolsuper as is_super, r.rolbypassrls as sees_all, r.rolreplication as replicates,
      r.rolcreaterole as may_join, pg_has_role(r.oid, current_user, 'member') as is_owner,
      r.rolname = current_user as is_us,
      array(select m.rolname::text from pg_roles m left join pg_namespace n on n.nspname = m.rolname
        where m.oid <> r.oid and pg_has_role(r.oid, m.oid, 'member')
          and (m.rolname = any(${allSeeing}::text[]) or m.rolsuper or m.rolbypassrls or m.rolreplication or m.rolcreaterole
            or ${markedWith} = ${readerMark(tables)}) order by 1) as members,
      has_database_privilege(current_database(), 'create') as may_create,
      n.oid is not null as has_schema, ${markedWith} as mark
    from pg_roles r left join pg_namespace n on n.nspname = r.rolname where r.rolname = ${role}`
  return (await run(asked.compile(db))).rows[0]
}

/**
 * What the role may do with our tables and views, by itself, through a role that it is a member of, or because everyone
 * may. Its own schema doesn't count.
 */
async function rightsOn(db: Db, role: string, schemas: readonly string[], run: RunStatement) {
  const asked = sql<{
    readonly what: string
    readonly statement: string
  }>`with named as (select oid, nspname, nspacl, nspowner from pg_namespace
        where nspname = any(${[...schemas]}::text[])),
      found as (
        select format('schema %I', n.nspname) as what, a.grantee
        from named n, aclexplode(n.nspacl) a where a.grantee <> n.nspowner
        union
        select format('%I.%I', n.nspname, c.relname), a.grantee
        from named n join pg_class c on c.relnamespace = n.oid, aclexplode(c.relacl) a where a.grantee <> c.relowner
        union
        select format('%I.%I', n.nspname, c.relname), a.grantee
        from named n join pg_class c on c.relnamespace = n.oid
          join pg_attribute t on t.attrelid = c.oid, aclexplode(t.attacl) a where a.grantee <> c.relowner)
    select what, format('revoke all on %s%s from %s', case when what like 'schema %' then '' else 'table ' end, what,
        case when grantee = 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end) as statement
    from found where grantee = 0 or pg_has_role(${role}::name, grantee, 'member') order by what limit 20`
  return (await run(asked.compile(db))).rows
}

const trouble = (message: string, hint: string): ViewTrouble => ({ message, hint })

const noRole = (name: string): ViewTrouble =>
  trouble(
    `There is no role ${name}`,
    `As a role that may create roles, type: create role ${name} login password '…'; shopsync makes no roles and no passwords`,
  )

export const strangeSchema = (name: string): ViewTrouble =>
  trouble(
    `There is a schema ${name} already, which shopsync did not make`,
    `Choose another role; or, if nobody needs the schema, type: drop schema ${name}`,
  )

/** Why a role can't be a reader; undefined if it can. */
export async function readerObstacle(
  db: Db,
  { tables, views }: { readonly tables: string; readonly views: string },
  run: RunStatement,
  role: string,
): Promise<ViewTrouble | undefined> {
  const name = quote(role)
  const facts = await factsOf(db, { tables, role }, run)
  if (!facts) return noRole(name)
  if (facts.is_super || facts.sees_all)
    return trouble(
      `The role ${name} sees everything: it ${facts.is_super ? 'is a superuser' : 'bypasses row security'}`,
      `Type: alter role ${name} nosuperuser nobypassrls; or choose another role`,
    )
  if (facts.replicates)
    return trouble(
      `The role ${name} sees everything: it may replicate the server`,
      `Type: alter role ${name} noreplication; or choose another role`,
    )
  if (facts.is_us || facts.is_owner)
    return trouble(
      `The role ${name} sees everything: it ${facts.is_us ? 'is the role that runs shopsync' : 'is a member of the role that runs shopsync'}`,
      facts.is_us ? 'Choose another role' : `Type: revoke ${await ownName(db, run)} from ${name}`,
    )
  if (facts.may_join)
    return trouble(
      `The role ${name} sees everything: it may make itself a member of other roles`,
      `Type: alter role ${name} nocreaterole; or choose another role`,
    )
  const [member] = facts.members
  if (member !== undefined)
    return trouble(
      `The role ${name} sees more than it is granted: it is a member of ${quote(member)}`,
      `Type: revoke ${quote(member)} from ${name}`,
    )
  const rights = await rightsOn(db, role, [tables, views], run)
  const [first] = rights
  if (first)
    return trouble(
      `The role ${name} may read what is of all tenants: it has rights on ${rights.map(({ what }) => what).join(', ')}`,
      `Type: ${[...new Set(rights.map(({ statement }) => statement))].join('; ')}`,
    )
  if (facts.has_schema && facts.mark !== readerMark(tables)) return strangeSchema(name)
  if (!facts.has_schema && !facts.may_create)
    return trouble(
      `The role that runs shopsync may not create the schema ${name}`,
      `As the owner of the database type: grant create on database ${await databaseName(db, run)} to ${await ownName(db, run)}`,
    )
  return undefined
}

async function textOf(db: Db, run: RunStatement, expression: string): Promise<string> {
  const asked = sql<{ text: string }>`select quote_ident(${sql.raw(expression)}) as text`
  return (await run(asked.compile(db))).rows[0]?.text ?? ''
}
const ownName = (db: Db, run: RunStatement): Promise<string> => textOf(db, run, 'current_user')
const databaseName = (db: Db, run: RunStatement): Promise<string> => textOf(db, run, 'current_database()')

/** Why there is nobody to grant anything to. */
export const roleTrouble = async (
  db: Db,
  { tables, role }: Parameters<typeof factsOf>[1],
  run: RunStatement,
): Promise<ViewTrouble | undefined> =>
  (await factsOf(db, { tables, role }, run)) ? undefined : noRole(quote(role))
