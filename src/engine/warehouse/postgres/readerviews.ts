/**
 * Readers: roles that see the views of some tenants and nothing else (docs/readers.md). Each has a schema of its own,
 * named like the role, with our views, which select from those of all tenants with the tenants as literals. Nothing of it
 * depends on the state of a session, so poolers and tools that take on another role work, and revoking is dropping.
 *
 * `security_barrier`: without it, a cheap function in a condition is called with the rows of others before they are left
 * out. Row-level security was judged worse: a table's owner is exempt from it, or else blind in a program that counts.
 */
import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import pg from 'pg'
import type { Db } from '../database.js'
import type { LiveReader, ReaderStore, ReaderView, RunStatement, ViewTrouble } from '../viewstore.js'

const quote = pg.escapeIdentifier
const literal = pg.escapeLiteral

/** The comment by which we know a schema as ours. What its views are made of comes after it. */
const readerMark = (tables: string): string => `shopsync reader of ${tables}`
const markedWith = sql`split_part(obj_description(n.oid, 'pg_namespace'), ', views ', 1)`

/** Roles whose members see everything, whatever the tables say. Not every server has all of them. */
const allSeeing = [
  'pg_read_all_data',
  'pg_write_all_data',
  'pg_read_server_files',
  'pg_execute_server_program',
]

async function factsOf(db: Db, role: string, run: RunStatement) {
  const asked = sql<{
    readonly is_super: boolean
    readonly sees_all: boolean
    readonly is_owner: boolean
    readonly members: readonly string[]
    readonly may_create: boolean
    /** null: there is no schema of that name. */
    readonly mark: string | null
    readonly has_schema: boolean
    readonly is_us: boolean
  }>`select r.rolsuper as is_super, r.rolbypassrls as sees_all,
      pg_has_role(r.oid, current_user, 'member') as is_owner, r.rolname = current_user as is_us,
      array(select m.rolname::text from pg_roles m where m.rolname = any(${allSeeing}::text[])
        and pg_has_role(r.oid, m.oid, 'member') order by 1) as members,
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

async function obstacle(
  db: Db,
  { tables, views }: { readonly tables: string; readonly views: string },
  run: RunStatement,
  role: string,
): Promise<ViewTrouble | undefined> {
  const name = quote(role)
  const facts = await factsOf(db, role, run)
  if (!facts)
    return trouble(
      `There is no role ${name}`,
      `As a role that may create roles, type: create role ${name} login password '…'; shopsync makes no roles and no passwords`,
    )
  if (facts.is_super || facts.sees_all)
    return trouble(
      `The role ${name} sees everything: it ${facts.is_super ? 'is a superuser' : 'bypasses row security'}`,
      `Type: alter role ${name} nosuperuser nobypassrls; or choose another role`,
    )
  if (facts.is_us || facts.is_owner)
    return trouble(
      `The role ${name} sees everything: it ${facts.is_us ? 'is the role that runs shopsync' : 'is a member of the role that runs shopsync'}`,
      facts.is_us ? 'Choose another role' : `Type: revoke ${await ownName(db, run)} from ${name}`,
    )
  const [member] = facts.members
  if (member !== undefined)
    return trouble(
      `The role ${name} sees everything: it is a member of ${member}`,
      `Type: revoke ${member} from ${name}`,
    )
  const rights = await rightsOn(db, role, [tables, views], run)
  const [first] = rights
  if (first)
    return trouble(
      `The role ${name} may read what is of all tenants: it has rights on ${rights.map(({ what }) => what).join(', ')}`,
      `Type: ${[...new Set(rights.map(({ statement }) => statement))].join('; ')}`,
    )
  if (facts.has_schema && facts.mark !== readerMark(tables))
    return trouble(
      `There is a schema ${name} already, which shopsync did not make`,
      `Choose another role; or, if nobody needs the schema, type: drop schema ${name}`,
    )
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

async function columnsIn(db: Db, schemas: readonly string[], run: RunStatement) {
  const asked = sql<{
    readonly schema: string
    readonly view: string
    readonly column: string
    readonly type: string
  }>`select n.nspname as schema, c.relname as view, a.attname as column,
      format_type(a.atttypid, a.atttypmod) as type
    from pg_namespace n join pg_class c on c.relnamespace = n.oid and c.relkind = 'v'
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where n.nspname = any(${[...schemas]}::text[]) order by n.nspname, c.relname, a.attnum`
  return (await run(asked.compile(db))).rows
}

/** What a reader sees of a column that says something about a person. */
function impersonal(name: string, all: ReadonlySet<string>, type: string): string {
  const [, what] = /^(\w+)_name$/.exec(name) ?? []
  const id = what && `${what}_id`
  if (!id || !all.has(id)) return `null::${type}`
  return `case when ${quote(id)} is not null then ${literal(`${what} `)} || ${quote(id)} end`
}

function viewText(
  from: string,
  name: string,
  columns: LiveColumns,
  { role, tenants, isPersonal, views }: LiveReader & { readonly views: ReadonlyMap<string, ReaderView> },
): string {
  const all = new Set(columns.map(({ column }) => column))
  const view = views.get(name)
  const selected = columns.map(({ column, type }) => {
    const isHidden = view?.internal.has(column) || (!isPersonal && view?.personal.has(column))
    const value = view?.internal.has(column) ? `null::${type}` : impersonal(column, all, type)
    return isHidden ? `cast(${value} as ${type}) as ${quote(column)}` : quote(column)
  })
  const where = all.has('tenant_id') ? ` where tenant_id in (${tenants.join(', ')})` : ''
  return `create view ${quote(role)}.${quote(name)} with (security_barrier) as select ${selected.join(', ')} from ${quote(from)}.${quote(name)}${where}`
}

type LiveColumns = Awaited<ReturnType<typeof columnsIn>>

const byView = (rows: LiveColumns): Map<string, LiveColumns> => {
  const found = new Map<string, LiveColumns>()
  for (const row of rows) found.set(row.view, [...(found.get(row.view) ?? []), row])
  return found
}

/** Views without tenants are shown whole only if they say nothing about any. */
const isShown = (name: string, columns: LiveColumns, views: ReadonlyMap<string, ReaderView>): boolean =>
  columns.some(({ column }) => column === 'tenant_id') || views.get(name)?.isForAll === true

export const readerStore = (db: Db, tables: string, views: string): ReaderStore => {
  const dropping = async (role: string, run: RunStatement): Promise<string[]> => {
    const there = new Set((await columnsIn(db, [role], run)).map(({ view }) => view))
    return [...there].map((view) => `drop view ${quote(role)}.${quote(view)}`)
  }
  /** The statements that make its views, and a digest of them. */
  const texts = (rows: LiveColumns, reader: LiveReader, declared: ReadonlyMap<string, ReaderView>) => {
    const shown = [...byView(rows)].filter(([name, columns]) => isShown(name, columns, declared))
    const made = shown.map(([name, columns]) =>
      viewText(views, name, columns, { ...reader, views: declared }),
    )
    return { shown, made, digest: createHash('sha256').update(made.join('\n')).digest('hex').slice(0, 12) }
  }
  return {
    obstacle: (run, role) => obstacle(db, { tables, views }, run, role),
    isOutdated: async (run, reader, declared) => {
      const rows = await columnsIn(db, [views, reader.role], run)
      const of = (schema: string): string =>
        JSON.stringify(
          [...byView(rows.filter((row) => row.schema === schema))]
            .filter(([name, columns]) => schema !== views || isShown(name, columns, declared))
            .map(([name, columns]) => [name, columns.map(({ column, type }) => [column, type])]),
        )
      if (of(views) !== of(reader.role)) return true
      // What readers may see of a column changes with the program.
      const { digest } = texts(
        rows.filter(({ schema }) => schema === views),
        reader,
        declared,
      )
      const comment = sql<{ text: string | null }>`select obj_description(oid, 'pg_namespace') as text
        from pg_namespace where nspname = ${reader.role}`
      return !(await run(comment.compile(db))).rows[0]?.text?.endsWith(digest)
    },
    make: async (run, reader, declared) => {
      const schema = quote(reader.role)
      const old = await dropping(reader.role, run)
      const { shown, made, digest } = texts(await columnsIn(db, [views], run), reader, declared)
      const statements = [
        `create schema if not exists ${schema}`,
        `comment on schema ${schema} is ${literal(`${readerMark(tables)}, views ${digest}`)}`,
        ...old,
        ...made,
        `grant usage on schema ${schema} to ${schema}`,
        ...shown.map(([name]) => `grant select on ${schema}.${quote(name)} to ${schema}`),
      ]
      await run(sql.raw(statements.join(';\n')).compile(db))
      return shown.length
    },
    drop: async (run, role) => {
      const facts = sql<{ mark: string | null }>`select ${markedWith} as mark
        from pg_namespace n where n.nspname = ${role}`
      const [found] = (await run(facts.compile(db))).rows
      if (found?.mark !== readerMark(tables)) return
      await run(
        sql.raw([...(await dropping(role, run)), `drop schema ${quote(role)}`].join(';\n')).compile(db),
      )
    },
  }
}

/** The readers' views that depend on one of ours: they are made again after it. */
export async function readersOf(db: Db, tables: string, view: string, run: RunStatement): Promise<string[]> {
  const asked = sql<{ name: string }>`select distinct format('%I.%I', n.nspname, d.relname) as name
    from pg_depend p join pg_rewrite r on p.classid = 'pg_rewrite'::regclass and r.oid = p.objid
    join pg_class d on d.oid = r.ev_class join pg_namespace n on n.oid = d.relnamespace
    where p.refclassid = 'pg_class'::regclass and p.refobjid = to_regclass(${view}) and d.oid <> p.refobjid
      and ${markedWith} = ${readerMark(tables)}`
  return (await run(asked.compile(db))).rows.map(({ name }) => name)
}
