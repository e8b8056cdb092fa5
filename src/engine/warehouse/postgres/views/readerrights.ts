/**
 * What a role sees or does besides reading the views that it is granted: such a role can't be a reader. All of it is by
 * rule, so that an attribute or a predefined role of a later server is refused until somebody has judged it. Used by
 * readerviews.ts.
 */
import { type RawBuilder, sql } from 'kysely'
import pg from 'pg'
import type { Db } from '../../database.js'
import type { RunStatement, ViewTrouble } from '../../views/viewstore.js'

const quote = pg.escapeIdentifier

/** Rows of a query, in the current transaction or outside of any. */
export type Ask = <T>(query: RawBuilder<T>) => Promise<readonly T[]>
export const asking =
  (db: Db, run: RunStatement): Ask =>
  async (query) =>
    (await run(query.compile(db))).rows

/** The comment by which we know a schema as ours. What its views are made of comes after it. */
export const readerMark = (tables: string): string => `shopsync reader of ${tables}`
export const markedWith = sql`split_part(obj_description(n.oid, 'pg_namespace'), ', views ', 1)`

/** Where what is of all tenants is, and the role in question. */
export interface Readable {
  readonly tables: string
  readonly views: string
  readonly role: string
}

/** Predefined roles that show nothing of others and stop nobody. */
const harmless = ['pg_read_all_settings', 'pg_use_reserved_connections']

/** Our schemas, and those of other readers. */
const ours = ({ tables, views, role }: Readable) => sql`(select n.* from pg_namespace n
  where n.nspname = any(${[tables, views]}::text[]) or (${markedWith} = ${readerMark(tables)} and n.nspname <> ${role}))`

interface Self {
  readonly name: string
  readonly is_itself: boolean
  readonly attributes: readonly string[]
  readonly is_predefined: boolean
  /** It runs shopsync, or something of ours belongs to it. */
  readonly is_owner: boolean
  readonly is_reader: boolean
  /** The memberships of the role itself that lead there. */
  readonly through: readonly string[]
}

/** The role itself and, by any number of steps, the roles that it is a member of, with what makes each more than a reader. */
const selvesOf = (ask: Ask, readable: Readable): Promise<readonly Self[]> =>
  ask(sql<Self>`select m.rolname::text as name, m.oid = r.oid as is_itself,
      array(select substr(key, 4) from jsonb_each(to_jsonb(m))
        where value = 'true'::jsonb and key not in ('rolcanlogin', 'rolinherit') order by 1) as attributes,
      starts_with(m.rolname, 'pg_') and m.rolname <> all(${harmless}::text[]) as is_predefined,
      m.rolname = current_user or exists (select from ${ours(readable)} o where o.nspowner = m.oid
        or exists (select from pg_class c where c.relnamespace = o.oid and c.relowner = m.oid)) as is_owner,
      m.oid <> r.oid and ${markedWith} is not distinct from ${readerMark(readable.tables)} as is_reader,
      array(select d.rolname::text from pg_auth_members a join pg_roles d on d.oid = a.roleid
        where a.member = r.oid and pg_has_role(d.oid, m.oid, 'member') order by d.oid <> m.oid, 1) as through
    from pg_roles r join pg_roles m on pg_has_role(r.oid, m.oid, 'member')
      left join pg_namespace n on n.nspname = m.rolname
    where r.rolname = ${readable.role} order by m.oid <> r.oid, m.rolname`)

/** As `alter role` has it. */
const attributeName = (name: string): string => (name === 'super' ? 'superuser' : name)

function troubleOfSelf(role: string, self: Self): ViewTrouble | undefined {
  const { name, attributes, through } = self
  const all = attributes.map(attributeName)
  if (all.length === 0 && !self.is_owner && !self.is_predefined && !self.is_reader) return undefined
  if (!self.is_itself)
    return {
      message: `The role ${role} sees more than it is granted: it is a member of ${quote(name)}`,
      hint:
        through.length > 0
          ? `Type: ${through.map((one) => `revoke ${quote(one)} from ${role}`).join('; ')}`
          : // Nobody can be made a member of this one: who owns the database is.
            'Type: alter database … owner to …; or choose another role',
    }
  return all.length > 0
    ? {
        message: `The role ${role} may do more than read what it is granted: it has ${all.join(', ')}`,
        hint: `Type: alter role ${role} ${all.map((attribute) => `no${attribute}`).join(' ')}; or choose another role`,
      }
    : {
        message: `The role ${role} sees everything: it runs shopsync, or owns what shopsync made`,
        hint: 'Choose another role',
      }
}

/** What was found, and the statement that ends it. */
interface Found {
  readonly what: string
  readonly statement: string
}

/**
 * What the role may do with tables and views of all tenants or of other readers, by itself, through a role that it is a
 * member of, or because everyone may.
 */
const rightsOn = (ask: Ask, readable: Readable) =>
  ask(sql<Found>`with named as (select * from ${ours(readable)} n),
      found as (
        select n.nspname, null::name as relname, a.grantee
        from named n, aclexplode(n.nspacl) a where a.grantee <> n.nspowner
        union
        select n.nspname, c.relname, a.grantee
        from named n join pg_class c on c.relnamespace = n.oid, aclexplode(c.relacl) a where a.grantee <> c.relowner
        union
        select n.nspname, c.relname, a.grantee
        from named n join pg_class c on c.relnamespace = n.oid
          join pg_attribute t on t.attrelid = c.oid, aclexplode(t.attacl) a where a.grantee <> c.relowner),
      counted as (select *, count(relname) over (partition by nspname, grantee) > 3 as many from found)
    select distinct
      format(case when relname is null then 'schema %I' when many then 'tables in schema %I' else '%I.%I' end,
        nspname, relname) as what,
      format(case when relname is null then 'revoke all on schema %1$I from %3$s'
          when many then 'revoke all on all tables in schema %1$I from %3$s' else 'revoke all on table %1$I.%2$I from %3$s' end,
        nspname, relname, case when grantee = 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end) as statement
    from counted where grantee = 0 or pg_has_role(${readable.role}::name, grantee, 'member') order by what limit 20`)

/** Who may create in it, its owner included. */
const creators = sql`(select a.grantee from aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
  where a.privilege_type = 'CREATE' union select n.nspowner)`

/**
 * Schemas in which the role may create while others look there for what they call: a function of the name and types that
 * somebody uses would run with the rights of that one. By default everyone looks in the schema of their own name and in
 * `public`. What everyone may do in `public` refuses nobody: `check` tells that by itself.
 */
const trapsOf = (ask: Ask, { role }: Readable) =>
  ask(sql<Found>`
    select format('schema %I', n.nspname) as what, case
        when grantee = n.nspowner then format('alter schema %I owner to …', n.nspname)
        else format('revoke create on schema %I from %s', n.nspname,
          case when grantee = 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end) end as statement
    from pg_roles r, pg_namespace n, lateral ${creators} c
    where r.rolname = ${role} and n.nspname <> r.rolname and (grantee = 0 and n.nspname <> 'public'
        or grantee <> 0 and pg_has_role(r.oid, grantee, 'member'))
      and (n.nspname = 'public' or exists (select from pg_roles o where o.rolname = n.nspname)
        or exists (select from pg_db_role_setting s, unnest(s.setconfig) as setting,
            regexp_matches(substr(setting, 13), '"((?:[^"]|"")*)"|([^\\s,"]+)', 'g') as part
          where s.setdatabase in (0, (select oid from pg_database where datname = current_database()))
            and s.setrole <> r.oid and starts_with(setting, 'search_path=')
            and n.nspname = coalesce(replace(part[1], '""', '"'), lower(part[2]))))
    order by what limit 20`)

const noRole = (name: string): ViewTrouble => ({
  message: `There is no role ${name}`,
  hint: `As a role that may create roles, type: create role ${name} login password '…'; shopsync makes no roles and no passwords`,
})

/** What there is of a reader. */
const nothing = {
  hasRole: false,
  /** Its schema. */
  exists: false,
  /** The schema was made for a reader's views. */
  isMarked: false,
  isEmpty: false,
  /** We have its owner's rights. */
  isOwned: false,
  /** Who else may create in it, and could put functions where the reader looks first. */
  creators: '',
  mayCreate: false,
  database: '',
  us: '',
}

export async function schemaOf(
  ask: Ask,
  { tables, role }: Pick<Readable, 'tables' | 'role'>,
): Promise<typeof nothing> {
  const [found = nothing] = await ask(sql<typeof nothing>`
    select exists (select from pg_roles where rolname = ${role}) as "hasRole", n.oid is not null as "exists",
      coalesce(${markedWith} = ${readerMark(tables)}, false) as "isMarked",
      not exists (select from pg_depend where refclassid = 'pg_namespace'::regclass and refobjid = n.oid) as "isEmpty",
      coalesce(pg_has_role(n.nspowner, 'usage'), false) as "isOwned",
      (select coalesce(string_agg(distinct case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end, ', '), '')
        from aclexplode(n.nspacl) where privilege_type = 'CREATE' and grantee <> n.nspowner) as creators,
      has_database_privilege(current_database(), 'create') as "mayCreate",
      quote_ident(current_database()) as database, quote_ident(current_user) as us
    from (select) one left join pg_namespace n on n.nspname = ${role}`)
  return found
}

/** Why we can't make a reader's views in a schema of its name. */
export function schemaTrouble(
  role: string,
  { hasRole, exists, isMarked, isEmpty, isOwned, creators, mayCreate, database, us }: typeof nothing,
): ViewTrouble | undefined {
  const name = quote(role)
  if (!hasRole) return noRole(name)
  if (exists && !isMarked && !isEmpty)
    return {
      message: `There is a schema ${name} already, which shopsync did not make, with something in it`,
      hint: `Choose another role; or, if nobody needs the schema, type: drop schema ${name} cascade`,
    }
  if (exists && !isMarked && !isOwned)
    return {
      message: `There is an empty schema ${name}, which the role that runs shopsync does not own`,
      hint: `As its owner type: alter schema ${name} owner to ${us}`,
    }
  if (exists && !isMarked && creators !== '')
    return {
      message: `There is an empty schema ${name}, in which others may create: ${creators}`,
      hint: `Type: revoke create on schema ${name} from ${creators}`,
    }
  if (exists || mayCreate) return undefined
  return {
    message: `The role that runs shopsync may not create the schema ${name}`,
    hint: `As the owner of the database type: grant create on database ${database} to ${us}`,
  }
}

/** Why a role can't be a reader; undefined if it can. */
export async function readerObstacle(ask: Ask, readable: Readable): Promise<ViewTrouble | undefined> {
  const name = quote(readable.role)
  const selves = await selvesOf(ask, readable)
  const found = selves.flatMap((self) => troubleOfSelf(name, self) ?? [])[0]
  if (found) return found
  const rights = selves.length > 0 ? await rightsOn(ask, readable) : []
  if (rights.length > 0)
    return {
      message: `The role ${name} may read what is of all tenants: it has rights on ${rights.map(({ what }) => what).join(', ')}`,
      hint: `Type: ${[...new Set(rights.map(({ statement }) => statement))].join('; ')}`,
    }
  const traps = selves.length > 0 ? await trapsOf(ask, readable) : []
  if (traps.length > 0)
    return {
      message: `The role ${name} may create where others look for functions: in ${traps.map(({ what }) => what).join(', ')}`,
      hint: `Type: ${traps.map(({ statement }) => statement).join('; ')}`,
    }
  return schemaTrouble(readable.role, await schemaOf(ask, readable))
}

/** Where everyone may put a function in front of those that others call. */
export async function openToAll(ask: Ask): Promise<ViewTrouble | undefined> {
  const [found] = await ask(sql`select from pg_namespace n, aclexplode(n.nspacl) a
    where n.nspname = 'public' and a.grantee = 0 and a.privilege_type = 'CREATE'`)
  if (!found) return undefined
  return {
    message: 'Everyone may create in the schema public, where every role looks for functions by default',
    hint: 'Type: revoke create on schema public from public',
  }
}

/**
 * What somebody made of our tables, of the views of all tenants or of other readers' views, and the role may read: views
 * that run with their owner's rights, materialized views, and functions that do. What is made of such is found, too. The
 * catalog doesn't know what a function with a text for a body reads: it counts if the text, or its search path, names a
 * schema of ours.
 */
export async function exposures(ask: Ask, readable: Readable): Promise<ViewTrouble | undefined> {
  const may = sql`(a.grantee = 0 or pg_has_role(r.oid, nullif(a.grantee, 0), 'member'))`
  const found = await ask(sql<Found>`
    with recursive ours as (select * from ${ours(readable)} n),
    made(classid, objid) as (
      select 'pg_class'::regclass::oid, c.oid from ours n join pg_class c on c.relnamespace = n.oid
      union
      select 'pg_proc'::regclass::oid, f.oid from pg_proc f where f.prosecdef and f.prosqlbody is null and exists (
        select from ours n where position(n.nspname in f.prosrc || coalesce(f.proconfig::text, '')) > 0)
      union
      select case when w.oid is null then p.classid else 'pg_class'::regclass::oid end, coalesce(w.ev_class, p.objid)
      from made m left join pg_type t on m.classid = 'pg_class'::regclass and t.typrelid = m.objid
        join pg_depend p on p.refclassid = m.classid and p.refobjid = m.objid
          or p.refclassid = 'pg_type'::regclass and p.refobjid in (t.oid, t.typarray)
        left join pg_rewrite w on p.classid = 'pg_rewrite'::regclass and w.oid = p.objid and w.rulename = '_RETURN'
      where p.deptype = 'n' and p.classid in ('pg_rewrite'::regclass, 'pg_proc'::regclass)
    ), reached as (
      select c.relnamespace as place, c.relowner as owner, 'SELECT' as needs,
        'table ' || format('%I.%I', n.nspname, c.relname) as what,
        coalesce(c.relacl, acldefault('r', c.relowner)) || array(
          select e from pg_attribute t, unnest(t.attacl) e where t.attrelid = c.oid) as acl
      from made m join pg_class c on m.classid = 'pg_class'::regclass and c.oid = m.objid
        join pg_namespace n on n.oid = c.relnamespace
      where c.relkind = 'm' or c.relkind = 'v' and not exists (select from pg_options_to_table(c.reloptions)
        where option_name = 'security_invoker' and option_value::boolean)
      union
      select f.pronamespace, f.proowner, 'EXECUTE', 'function ' || f.oid::regprocedure,
        coalesce(f.proacl, acldefault('f', f.proowner))
      from made m join pg_proc f on m.classid = 'pg_proc'::regclass and f.oid = m.objid where f.prosecdef
    )
    select distinct what, format('revoke all on %s from %s', what,
        case when a.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(a.grantee)) end) as statement
    from pg_roles r, reached join pg_namespace n on n.oid = place, aclexplode(acl) a
    where r.rolname = ${readable.role} and n.nspname <> r.rolname and owner <> r.oid
      and place not in (select oid from ours) and a.privilege_type = needs and ${may}
      and exists (select from aclexplode(coalesce(n.nspacl, acldefault('n', n.nspowner))) a
        where a.privilege_type = 'USAGE' and ${may})
    order by what limit 20`)
  if (found.length === 0) return undefined
  const all = [...new Set(found.map(({ what }) => what.replace(/^table /, '')))]
  return {
    message: `The role ${quote(readable.role)} may read what others made of the data of all tenants: ${all.join(', ')}`,
    hint: `Type, as the owner: ${found.map(({ statement }) => statement).join('; ')}`,
  }
}
