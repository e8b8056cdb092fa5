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
import { Stop } from '../../base/errors.js'
import type { Db } from '../database.js'
import {
  type LiveReader,
  type ReaderStore,
  type ReaderView,
  type RunStatement,
  viewEdition,
} from '../viewstore.js'
import { markedWith, readerMark, readerObstacle, roleTrouble, strangeSchema } from './readerrights.js'

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

/** A reader's open transaction must not keep a run waiting for long. */
const shortly = `set local lock_timeout = '3s'`

/** Views without tenants are shown whole only if they say nothing about any. */
const isShown = (name: string, columns: LiveColumns, views: ReadonlyMap<string, ReaderView>): boolean =>
  columns.some(({ column }) => column === 'tenant_id') || views.get(name)?.isForAll === true

async function dropping(db: Db, role: string, run: RunStatement): Promise<string[]> {
  const there = new Set((await columnsIn(db, [role], run)).map(({ view }) => view))
  return [...there].map((view) => `drop view ${quote(role)}.${quote(view)}`)
}

/** The mark of a role's schema; undefined if it has none. */
async function markOf(db: Db, run: RunStatement, role: string): Promise<string | null | undefined> {
  const asked = sql<{ mark: string | null }>`select ${markedWith} as mark
    from pg_namespace n where n.nspname = ${role}`
  return (await run(asked.compile(db))).rows[0]?.mark
}

/** By role: the comment of its schema, in which the digest of its views is, and how many of them exist. */
async function liveReaders(db: Db, tables: string, run: RunStatement) {
  const asked = sql<{ role: string; text: string; views: number }>`select n.nspname as role,
      obj_description(n.oid, 'pg_namespace') as text,
      (select count(*)::int from pg_class c where c.relnamespace = n.oid and c.relkind = 'v') as views
    from pg_namespace n where ${markedWith} = ${readerMark(tables)}`
  return new Map((await run(asked.compile(db))).rows.map((row) => [row.role, row]))
}

const runAll = (db: Db, run: RunStatement, statements: readonly string[]) =>
  run(sql.raw(statements.join(';\n')).compile(db))

async function stop(db: Db, tables: string, run: RunStatement, role: string): Promise<boolean> {
  if (await roleTrouble(db, { tables, role }, run)) return false
  const schema = quote(role)
  const each = ['all tables in schema', 'schema']
  if ((await markOf(db, run, role)) === readerMark(tables))
    await runAll(
      db,
      run,
      each.map((what) => `revoke all on ${what} ${schema} from ${schema}`),
    )
  return true
}

async function drop(db: Db, tables: string, run: RunStatement, role: string): Promise<void> {
  if ((await markOf(db, run, role)) !== readerMark(tables)) return
  await runAll(db, run, [shortly, ...(await dropping(db, role, run)), `drop schema ${quote(role)}`])
}

export const readerStore = (db: Db, tables: string, views: string): ReaderStore => {
  /** The statements that make its views, and a digest of them. */
  const texts = (rows: LiveColumns, reader: LiveReader, declared: ReadonlyMap<string, ReaderView>) => {
    const shown = [...byView(rows)].filter(([name, columns]) => isShown(name, columns, declared))
    const made = shown.map(([name, columns]) =>
      viewText(views, name, columns, { ...reader, views: declared }),
    )
    return {
      shown,
      made,
      digest: createHash('sha256')
        .update([viewEdition, ...made].join('\n'))
        .digest('hex')
        .slice(0, 12),
    }
  }
  return {
    obstacle: (run, role) => readerObstacle(db, { tables, views }, run, role),
    outdated: async (run, readers, declared) => {
      const rows = await columnsIn(db, [views], run)
      const live = await liveReaders(db, tables, run)
      return readers.filter((reader) => {
        const { shown, digest } = texts(rows, reader, declared)
        const there = live.get(reader.role)
        return there?.views !== shown.length || !there.text.endsWith(digest)
      })
    },
    make: async (run, reader, declared) => {
      const schema = quote(reader.role)
      const mark = await markOf(db, run, reader.role)
      const isStrange = mark !== undefined && mark !== readerMark(tables)
      const found = isStrange
        ? strangeSchema(schema)
        : await roleTrouble(db, { tables, role: reader.role }, run)
      if (found) throw new Stop(found.message, { exitCode: 2, hint: found.hint })
      const old = await dropping(db, reader.role, run)
      const { shown, made, digest } = texts(await columnsIn(db, [views], run), reader, declared)
      const statements = [
        shortly,
        `create schema if not exists ${schema}`,
        `comment on schema ${schema} is ${literal(`${readerMark(tables)}, views ${digest}`)}`,
        ...old,
        ...made,
        `grant usage on schema ${schema} to ${schema}`,
        ...shown.map(([name]) => `grant select on ${schema}.${quote(name)} to ${schema}`),
      ]
      await runAll(db, run, statements)
      return shown.length
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
