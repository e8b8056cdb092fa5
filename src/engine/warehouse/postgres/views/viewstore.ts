/**
 * Views in Postgres: in their own schema, with their owner's permissions, so that anyone who may read them needs no
 * permission on the tables. Made by postgres/dialect.ts.
 */
import { type CompiledQuery, type Kysely, sql } from 'kysely'
import pg from 'pg'
import type { ViewRows } from '../../../../../schema/views/index.js'
import type { Db } from '../../database.js'
import {
  formerCalendars,
  type RunStatement,
  type ViewStore,
  type ViewTrouble,
  type WantedView,
} from '../../views/viewstore.js'
import { answerIn, denied } from '../drivererrors.js'
import { type Ask, asking } from './readerrights.js'
import {
  dependText,
  droppingByReader,
  endText,
  hangingOn,
  isInPlace,
  readerStore,
  readersOf,
} from './readerviews.js'
import { printedType, viewSql } from './viewsql.js'

const quote = pg.escapeIdentifier

/** Derived tables and snapshots are among the views too, because people look for them there. */
const isPublished = ({ role, name }: { readonly role: string; readonly name: string }): boolean =>
  role === 'derived' || name === 'daily_snapshots'

interface Rights {
  readonly role: string
  readonly may_create: boolean
  /** null if there is no such schema. */
  readonly may_use: boolean | null
}

async function rightsOn(ask: Ask, schema: string): Promise<Rights | undefined> {
  const [found] = await ask(sql<Rights>`select quote_ident(current_user) as role,
    has_database_privilege(current_database(), 'create') as may_create,
    (select has_schema_privilege(oid, 'create') and has_schema_privilege(oid, 'usage')
      from pg_namespace where nspname = ${schema}) as may_use`)
  return found
}

function obstacleOf(rights: Rights | undefined, schema: string): ViewTrouble | undefined {
  if (!rights || rights.may_use === true) return undefined
  const { role, may_create, may_use } = rights
  if (may_use === false)
    return {
      message: `The views for analysts were not created: the role ${role} may not create views in the schema ${schema}`,
      hint: `As a superuser, or as the schema's owner, type: grant usage, create on schema ${schema} to ${role}; then shopsync migrate`,
    }
  if (may_create) return undefined
  return {
    message: `The views for analysts were not created: there is no schema ${schema}, and the role ${role} may not create one`,
    hint: `As a superuser type: create schema ${schema} authorization ${role}; then shopsync migrate`,
  }
}

/** Asked outside of our transactions, which compile nothing: as other sessions of the role have it. */
async function slowedBy(ask: Ask): Promise<ViewTrouble | undefined> {
  const [found] = await ask(
    sql<{
      compiles: boolean
      database: string
    }>`select pg_jit_available() as compiles, quote_ident(current_database()) as database`,
  )
  if (!found?.compiles) return undefined
  return {
    message:
      'the server compiles expensive queries (jit is on), which takes longer than running them for most views; shopsync itself reads them without',
    hint: `As the owner of the database type: alter database ${found.database} set jit = off`,
  }
}

/** The statements that give a re-created view the grants that it had. */
async function grantsOf(ask: Ask, view: string, columns: readonly string[]): Promise<string[]> {
  const rows = await ask(sql<{ statement: string }>`with granted as (
      select c.oid, c.relowner, null::text as attname, a.* from pg_class c, aclexplode(c.relacl) a
      union all
      select c.oid, c.relowner, t.attname::text, a.* from pg_class c
        join pg_attribute t on t.attrelid = c.oid and t.attname = any(${columns}::text[]), aclexplode(t.attacl) a)
    select format('grant %s%s on %s to %s%s', privilege_type, ' (' || quote_ident(attname) || ')', oid::regclass,
      case when grantee = 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end,
      case when is_grantable then ' with grant option' else '' end) as statement
    from granted where oid = to_regclass(${view}) and grantee <> relowner`)
  return rows.map(({ statement }) => statement)
}

const literal = pg.escapeLiteral

function commentsOn(name: string, { doc, columns }: WantedView): string[] {
  return [
    `comment on view ${name} is ${literal(doc)}`,
    ...columns.map((column) => `comment on column ${name}.${quote(column.name)} is ${literal(column.doc)}`),
  ]
}

/**
 * Statistics of the text keys: without them, the server takes each key for one of two hundred, and a join of two views
 * for one that repeats every row hundreds of times. It then expects the first rows of it early from comparing each row
 * of one view with each of the other. They are made where the role owns the table, and again if up to 0.3.0 they were bound
 * to what others had made: on what is the server's own nothing depends in the catalog.
 */
async function countKeys(db: Db, schema: string, run: RunStatement, keys: WantedView['keys']): Promise<void> {
  if (keys.length === 0) return
  const owned = await asking(
    db,
    run,
  )(sql<{ name: string; bound: readonly string[] }>`
    select c.relname as name, array(select s.stxname::text from pg_statistic_ext s
      where s.stxrelid = c.oid and s.stxnamespace = n.oid and exists (select from pg_depend d
        where d.classid = 'pg_statistic_ext'::regclass and d.objid = s.oid
          and d.refclassid in ('pg_proc'::regclass, 'pg_operator'::regclass))) as bound
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = ${schema} and c.relname = any(${keys.map(({ table }) => table)}::text[])
      and pg_has_role(c.relowner, 'usage') and has_schema_privilege(n.oid, 'create')`)
  const statements = keys.flatMap(({ table, columns }) => {
    const found = owned.find(({ name }) => name === table)
    if (!found) return []
    const own = [table, ...columns.slice(1), 'text'].join('_')
    const name = `${quote(schema)}.${quote(own)}`
    const text = columns.map((column) => `${quote(column)}::text`).join(" || '-' || ")
    return [
      ...(found.bound.includes(own) ? [`drop statistics ${name}`] : []),
      `create statistics if not exists ${name} on ((${text})) from ${quote(schema)}.${quote(table)}`,
    ]
  })
  if (statements.length > 0) await run(sql.raw(statements.join(';\n')).compile(db))
}

async function staysInPlace(ask: Ask, view: string, { columns }: WantedView): Promise<boolean> {
  const live = await ask(sql<{
    readonly name: string
    readonly type: string
  }>`select a.attname as name, format_type(a.atttypid, a.atttypmod) as type
    from pg_attribute a where a.attrelid = to_regclass(${view}) and a.attnum > 0 and not a.attisdropped
    order by a.attnum`)
  return isInPlace(
    live,
    columns.map(({ name, kind }) => ({ name, type: printedType(kind) })),
  )
}

async function beforehand(
  db: Db,
  { tables, schema }: { readonly tables: string; readonly schema: string },
  run: RunStatement,
  views: readonly WantedView[],
): Promise<readonly CompiledQuery[]> {
  const ask = asking(db, run)
  const found = []
  for (const view of views) {
    const name = `${quote(schema)}.${quote(view.name)}`
    // A view on which something hangs stays, and so does what readers have of it.
    if (!(await staysInPlace(ask, name, view)) && (await hangingOn(ask, tables, [name])).length === 0)
      found.push(...(await readersOf(ask, tables, name)))
  }
  return droppingByReader(db, found)
}

async function make(
  db: Db,
  { tables, schema }: { readonly tables: string; readonly schema: string },
  run: RunStatement,
  view: WantedView,
): Promise<ViewTrouble | undefined> {
  const ask = asking(db, run)
  const name = `${quote(schema)}.${quote(view.name)}`
  const before: string[] = []
  const after: string[] = []
  if (!(await staysInPlace(ask, name, view))) {
    const hanging = await hangingOn(ask, tables, [name])
    if (hanging.length > 0)
      return {
        message: `The view ${schema}.${view.name} stays as it was: its columns have changed, and ${dependText(hanging)}`,
        hint: `${endText(hanging)}, type shopsync migrate, and create ${hanging.length > 1 ? 'them' : 'it'} again`,
      }
    // Most were dropped beforehand. They are made again when all views are.
    const readers = (await readersOf(ask, tables, name)).map((reader) => reader.name)
    before.push(...readers.map((reader) => `drop view ${reader}`), `drop view ${name}`)
    const kept = view.columns.map((column) => column.name)
    after.push(...(await grantsOf(ask, name, kept)))
  }
  const statements = [
    ...before,
    `create or replace view ${name} as ${view.query}`,
    ...after,
    ...commentsOn(name, view),
  ]
  await run(sql.raw(statements.join(';\n')).compile(db))
  return undefined
}

/** What the role isn't allowed to do, or what depends on a view in a way that wasn't checked for. */
function troubleOf(error: unknown, schema: string): ViewTrouble | undefined {
  const answer = answerIn(error)
  if (answer?.code !== denied && answer?.code !== '2BP01') return undefined
  return {
    message: `The views for analysts were left as they were: ${answer.cause.message} (${answer.code})`,
    hint: `Expected the schema ${schema} and its views to belong to the role that runs shopsync: alter schema … owner to …, alter view … owner to …; then type shopsync migrate`,
  }
}

export const viewStore = (db: Db, tables: string, schema: string): ViewStore => ({
  readers: readerStore(db, tables, schema),
  sql: viewSql(tables),
  where: schema,
  memory: `views ${schema}`,
  relation: (name) => `${quote(schema)}.${quote(name)}`,
  db: (db as unknown as Kysely<ViewRows>).withSchema(schema),
  published: (all) =>
    all.filter(isPublished).map(({ name, doc, grain, columns }) => ({
      name,
      doc: `${doc} Grain: ${grain}.`,
      columns,
      keys: [],
      query: `select ${columns.map((column) => quote(column.name)).join(', ')} from ${quote(tables)}.${quote(name)}`,
    })),
  live: async (run) => {
    const rows = await asking(
      db,
      run,
    )(sql<{ name: string; kind: string }>`select c.relname as name, c.relkind::text as kind
      from pg_class c join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = ${schema} and c.relkind in ('r', 'p', 'v', 'm', 'f')`)
    return new Map(rows.map(({ name, kind }) => [name, kind]))
  },
  obstacle: async (run) => obstacleOf(await rightsOn(asking(db, run), schema), schema),
  slowedBy: (run) => slowedBy(asking(db, run)),
  beforehand: (run, views) => beforehand(db, { tables, schema }, run, views),
  prepare: async (run) => {
    const rights = await rightsOn(asking(db, run), schema)
    if (rights?.may_use !== null) return
    await run(sql`create schema ${sql.id(schema)}`.compile(db))
  },
  afterClocks: () => [],
  tidy: async (run) => {
    for (const former of formerCalendars) {
      const name = viewSql(tables).table(former)
      const found = sql<{ drops: boolean }>`select not exists (select 1 from pg_depend
        where refclassid = 'pg_class'::regclass and refobjid = c.oid and classid = 'pg_rewrite'::regclass) as drops
      from pg_class c where c.oid = to_regclass(${name}) and pg_has_role(c.relowner, 'usage')`
      const { rows } = await run(found.compile(db))
      if (rows[0]?.drops) await run(sql`drop table ${sql.raw(name)}`.compile(db))
    }
  },
  make: async (run, view) => {
    const trouble = await make(db, { tables, schema }, run, view)
    if (!trouble) await countKeys(db, tables, run, view.keys)
    return trouble
  },
  troubleOf: (error) => troubleOf(error, schema),
})
