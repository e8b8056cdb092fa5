/**
 * Readers: roles that see the views of some tenants and nothing else (docs/readers.md). Each has a schema of its own,
 * named like the role, with our views, which select from those of all tenants with the tenants as literals. Nothing of it
 * depends on the state of a session, so poolers and tools that take on another role work, and revoking is dropping.
 *
 * `security_barrier`: without it, a cheap function in a condition is called with the rows of others before they are left
 * out. Row-level security was judged worse: a table's owner is exempt from it, or else blind in a program that counts.
 */
import { createHash } from 'node:crypto'
import { type CompiledQuery, sql } from 'kysely'
import pg from 'pg'
import { Skip, Stop } from '../../base/errors.js'
import type { Db } from '../database.js'
import {
  type LiveReader,
  type ReaderStore,
  type ReaderView,
  type RunStatement,
  type ViewTrouble,
  viewEdition,
} from '../viewstore.js'
import { dependText, endText, type Hanging, hangingOn } from './hanging.js'
import { holderOf, lockTimeout } from './lockholder.js'
import { exposures, markedWith, openToAll, readerMark, readerObstacle, schemaOf } from './readerrights.js'

const quote = pg.escapeIdentifier
const literal = pg.escapeLiteral

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

const isHidden = (view: ReaderView | undefined, column: string, isPersonal: boolean): boolean =>
  view?.internal.has(column) === true || (!isPersonal && view?.personal.has(column) === true)

function viewText(
  from: string,
  name: string,
  columns: LiveColumns,
  { role, tenants, isPersonal, views }: LiveReader & { readonly views: ReadonlyMap<string, ReaderView> },
): string {
  const all = new Set(columns.map(({ column }) => column))
  const view = views.get(name)
  const selected = columns.map(({ column, type }) => {
    if (!isHidden(view, column, isPersonal)) return quote(column)
    const value = view?.internal.has(column) ? `null::${type}` : impersonal(column, all, type)
    return `cast(${value} as ${type}) as ${quote(column)}`
  })
  const where = all.has('tenant_id') ? ` where tenant_id in (${tenants.join(', ')})` : ''
  return `create or replace view ${quote(role)}.${quote(name)} with (security_barrier) as select ${selected.join(', ')} from ${quote(from)}.${quote(name)}${where}`
}

type LiveColumns = Awaited<ReturnType<typeof columnsIn>>

const byView = (rows: LiveColumns): Map<string, LiveColumns> => {
  const found = new Map<string, LiveColumns>()
  for (const row of rows) found.set(row.view, [...(found.get(row.view) ?? []), row])
  return found
}

/** A reader's open transaction must not keep a run waiting for long. */
const shortly = `set local lock_timeout = '3s'`

/** Views without tenants are shown whole only if they say nothing about any. */
const isShown = (name: string, columns: LiveColumns, views: ReadonlyMap<string, ReaderView>): boolean =>
  columns.some(({ column }) => column === 'tenant_id') || views.get(name)?.isForAll === true

/** Postgres replaces a view in place only if columns are appended. */
const isInPlace = (live: LiveColumns, wanted: LiveColumns = []): boolean =>
  live.every(({ column, type }, i) => wanted[i]?.column === column && wanted[i].type === type)

/** By role: the comment of its schema, in which the digest of its views is, and how many of them exist. */
async function liveReaders(db: Db, tables: string, run: RunStatement) {
  const asked = sql<{ role: string; text: string; views: number }>`select n.nspname as role,
      obj_description(n.oid, 'pg_namespace') as text,
      (select count(*)::int from pg_class c where c.relnamespace = n.oid and c.relkind = 'v') as views
    from pg_namespace n where ${markedWith} = ${readerMark(tables)}`
  return new Map((await run(asked.compile(db))).rows.map((row) => [row.role, row]))
}

/** One by one, so that an error says which of them failed, but without waiting for each. */
const runAll = (db: Db, run: RunStatement, statements: readonly string[]) =>
  Promise.all(statements.map((statement) => run(sql.raw(statement).compile(db))))

/** Takes every right on its views from the role, also what somebody gave everyone or a role that it is a member of. */
async function stop(db: Db, tables: string, run: RunStatement, role: string): Promise<boolean> {
  const { hasRole, isMarked } = await schemaOf(db, { tables, role }, run)
  if (!hasRole || !isMarked) return hasRole
  const asked = sql<{ statement: string }>`with given as (
      select format('schema %I', n.nspname) as what, e.grantee from pg_namespace n, aclexplode(n.nspacl) e
      where n.nspname = ${role} and e.grantee <> n.nspowner
      union select format('table %I.%I', n.nspname, c.relname), e.grantee
      from pg_namespace n join pg_class c on c.relnamespace = n.oid, aclexplode(c.relacl || array(
        select e from pg_attribute t, unnest(t.attacl) e where t.attrelid = c.oid)) e
      where n.nspname = ${role} and e.grantee <> c.relowner and pg_has_role(c.relowner, 'usage'))
    select distinct format('revoke all on %s from %s', what,
      case when grantee = 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end) as statement
    from given where grantee = 0 or pg_has_role(${role}::name, grantee, 'member')`
  const { rows } = await run(asked.compile(db))
  await runAll(
    db,
    run,
    rows.map(({ statement }) => statement),
  )
  return true
}

/** Our views in a reader's schema, and the schema if nothing else is in it. */
async function drop(db: Db, tables: string, run: RunStatement, role: string): Promise<void> {
  if (!(await schemaOf(db, { tables, role }, run)).isMarked) return
  const schema = quote(role)
  const names = [...byView(await columnsIn(db, [role], run)).keys()].map((view) => `${schema}.${quote(view)}`)
  const hanging = await hangingOn(db, tables, run, names)
  if (hanging.length > 0) throw new Stop(leftText(hanging), { exitCode: 1, hint: endText(hanging) })
  await runAll(db, run, [
    shortly,
    ...names.map((name) => `drop view ${name}`),
    `comment on schema ${schema} is null`,
  ])
  const { isEmpty } = await schemaOf(db, { tables, role }, run)
  if (isEmpty) await runAll(db, run, [`drop schema ${schema}`])
}

/** The columns of the views of all tenants that a reader's views show it, by the catalog: `orders.state`. */
async function shownColumns(db: Db, views: string, run: RunStatement, role: string): Promise<string[]> {
  const asked = sql<{ shown: string }>`select distinct o.relname || '.' || a.attname as shown
    from pg_namespace n join pg_class c on c.relnamespace = n.oid join pg_rewrite w on w.ev_class = c.oid
      join pg_depend p on p.classid = 'pg_rewrite'::regclass and p.objid = w.oid and p.refclassid = 'pg_class'::regclass
      join pg_class o on o.oid = p.refobjid join pg_namespace v on v.oid = o.relnamespace
      join pg_attribute a on a.attrelid = o.oid and a.attnum = p.refobjsubid
    where n.nspname = ${role} and v.nspname = ${views}`
  return (await run(asked.compile(db))).rows.map(({ shown }) => shown)
}

/** A view shows a reader what the role that made it may read. */
async function refuseUnreadable(
  db: Db,
  views: string,
  run: RunStatement,
  names: readonly string[],
): Promise<void> {
  const asked = sql<{ view: string; us: string }>`select format('%I.%I', n.nspname, c.relname) as view,
      quote_ident(current_user) as us
    from pg_namespace n join pg_class c on c.relnamespace = n.oid
    where n.nspname = ${views} and c.relname = any(${[...names]}::text[])
      and not (has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')) limit 1`
  const [found] = names.length > 0 ? (await run(asked.compile(db))).rows : []
  if (found)
    throw new Stop(`The role that runs shopsync may not read ${found.view}`, {
      exitCode: 2,
      hint: `Type, as its owner: grant usage on schema ${quote(views)} to ${found.us}; grant select on all tables in schema ${quote(views)} to ${found.us}`,
    })
  if (names.length === 0)
    throw new Stop(`There is no view in the schema ${views} that could be shown to a reader`, {
      exitCode: 2,
      hint: 'Type shopsync migrate, which makes them or tells why it may not',
    })
}

/** What the server refused, in its own words. undefined if an error isn't about the views of a reader. */
function troubleOfReader(error: unknown): ViewTrouble | undefined {
  let cause = error
  while (cause instanceof Error && !('code' in cause && /^[0-9A-Z]{5}$/.test(String(cause.code))))
    ({ cause } = cause)
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  if (cause instanceof Error && code === lockTimeout)
    return { message: holderOf(cause), hint: 'End that session, or wait for it' }
  if (cause instanceof Error && /^(0A|2B|3F|42)/.test(code))
    return { message: `${cause.message} (${code})`, hint: 'Undo that, or choose another role' }
  return error instanceof Stop || error instanceof Skip
    ? { message: error.message, hint: error.hint ?? '' }
    : undefined
}

const leftText = (all: readonly Hanging[]): string =>
  `the view ${[...new Set(all.map(({ view }) => view))].join(', ')} can't be dropped: ${dependText(all)}`

/** Makes a reader's views, as many as there are. What hangs on one that has to be dropped keeps it, without any right. */
async function make(
  { db, tables, views }: { readonly db: Db; readonly tables: string; readonly views: string },
  run: RunStatement,
  role: string,
  {
    shown,
    made,
    digest,
  }: {
    readonly shown: ReadonlyMap<string, LiveColumns>
    readonly made: readonly string[]
    readonly digest: string
  },
): Promise<{ readonly views: number; readonly left: ViewTrouble | undefined }> {
  const schema = quote(role)
  const { exists, trouble } = await schemaOf(db, { tables, role }, run)
  if (trouble) throw new Stop(trouble.message, { exitCode: 2, hint: trouble.hint })
  await refuseUnreadable(db, views, run, [...shown.keys()])
  const old = [...byView(await columnsIn(db, [role], run))].flatMap(([name, columns]) =>
    isInPlace(columns, shown.get(name)) ? [] : `${schema}.${quote(name)}`,
  )
  const hanging = await hangingOn(db, tables, run, old)
  const kept = new Set(hanging.map(({ view }) => view))
  const fresh = [...shown.keys()].map((name, i) => ({
    name: `${schema}.${quote(name)}`,
    text: made[i] ?? '',
  }))
  const makes = fresh.filter(({ name }) => !kept.has(name))
  await runAll(db, run, [
    shortly,
    ...(exists ? [] : [`create schema ${schema}`]),
    `comment on schema ${schema} is ${literal(`${readerMark(tables)}, views ${kept.size > 0 ? '' : digest}`)}`,
    ...old.filter((name) => !kept.has(name)).map((name) => `drop view ${name}`),
    ...makes.map(({ text }) => text),
    `grant usage on schema ${schema} to ${schema}`,
    ...makes.map(({ name }) => `grant select on ${name} to ${schema}`),
    ...[...kept].map((name) => `revoke all on ${name} from ${schema}`),
  ])
  const left = hanging.length === 0 ? undefined : { message: leftText(hanging), hint: endText(hanging) }
  return { views: makes.length, left }
}

export const readerStore = (db: Db, tables: string, views: string): ReaderStore => {
  /** What a reader is to see, by view, the statements that make the views in the same order, and a digest of these. */
  const texts = (rows: LiveColumns, reader: LiveReader, declared: ReadonlyMap<string, ReaderView>) => {
    const shown = [...byView(rows)].filter(([name, columns]) => isShown(name, columns, declared))
    const made = shown.map(([name, columns]) =>
      viewText(views, name, columns, { ...reader, views: declared }),
    )
    return {
      shown: new Map(shown),
      made,
      digest: createHash('sha256')
        .update([viewEdition, ...made].join('\n'))
        .digest('hex')
        .slice(0, 12),
    }
  }
  return {
    obstacle: (run, role) => readerObstacle(db, { tables, views, role }, run),
    exposure: (run, role) => exposures(db, { tables, views, role }, run),
    openToAll: (run) => openToAll(db, run),
    troubleOf: troubleOfReader,
    outdated: async (run, readers, declared) => {
      const rows = await columnsIn(db, [views], run)
      const live = await liveReaders(db, tables, run)
      return readers.filter((reader) => {
        const { shown, digest } = texts(rows, reader, declared)
        const there = live.get(reader.role)
        return there?.views !== shown.size || !there.text.endsWith(digest)
      })
    },
    hides: async (run, reader, declared) => {
      const { shown } = texts(await columnsIn(db, [views], run), reader, declared)
      const wanted = new Set(
        [...shown].flatMap(([name, columns]) =>
          columns.flatMap(({ column }) =>
            isHidden(declared.get(name), column, reader.isPersonal) ? [] : `${name}.${column}`,
          ),
        ),
      )
      return (await shownColumns(db, views, run, reader.role)).some((column) => !wanted.has(column))
    },
    make: async (run, reader, declared) => {
      const rows = await columnsIn(db, [views], run)
      return make({ db, tables, views }, run, reader.role, texts(rows, reader, declared))
    },
    stop: (run, role) => stop(db, tables, run, role),
    drop: (run, role) => drop(db, tables, run, role),
  }
}

/** The readers' views that stand on one of ours, by reader: they are made again after it. */
export async function readersOf(
  db: Db,
  tables: string,
  view: string,
  run: RunStatement,
): Promise<readonly { readonly role: string; readonly name: string }[]> {
  const asked = sql<{ role: string; name: string }>`select distinct n.nspname as role,
      format('%I.%I', n.nspname, d.relname) as name
    from pg_depend p join pg_rewrite r on p.classid = 'pg_rewrite'::regclass and r.oid = p.objid
    join pg_class d on d.oid = r.ev_class join pg_namespace n on n.oid = d.relnamespace
    where p.refclassid = 'pg_class'::regclass and p.refobjid = to_regclass(${view}) and d.oid <> p.refobjid
      and ${markedWith} = ${readerMark(tables)}`
  return (await run(asked.compile(db))).rows
}

/** Drops readers' views, a transaction for each reader: the views of a hundred are more locks than a server has. */
export const droppingByReader = (
  db: Db,
  found: Awaited<ReturnType<typeof readersOf>>,
): readonly CompiledQuery[] =>
  [...new Set(found.map(({ role }) => role))].map((role) => {
    const names = found.filter((one) => one.role === role).map(({ name }) => name)
    return sql.raw(`${shortly};\ndrop view ${names.join(', ')}`).compile(db)
  })
