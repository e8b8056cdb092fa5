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
import { Skip, Stop } from '../../../base/errors.js'
import type { Db } from '../../database.js'
import {
  type LiveReader,
  type ReaderStore,
  type ReaderView,
  type RunStatement,
  type ViewTrouble,
  viewEdition,
} from '../../views/viewstore.js'
import { answerIn } from '../drivererrors.js'
import { holderOf, lockTimeout } from '../lockholder.js'
import {
  type Ask,
  asking,
  exposures,
  markedWith,
  openToAll,
  type Readable,
  readerMark,
  readerObstacle,
  schemaOf,
  schemaTrouble,
} from './readerrights.js'

const quote = pg.escapeIdentifier
const literal = pg.escapeLiteral

/** A column as the database has it, its type as it prints it. */
interface LiveColumn {
  readonly name: string
  readonly type: string
}

/** Postgres replaces a view in place only if columns are appended. */
export const isInPlace = (live: readonly LiveColumn[], wanted: readonly LiveColumn[] = []): boolean =>
  live.every(({ name, type }, i) => wanted[i]?.name === name && wanted[i].type === type)

type Views = ReadonlyMap<string, readonly LiveColumn[]>

/** The columns of the views in a schema. */
async function viewsIn(ask: Ask, schema: string): Promise<Views> {
  const rows = await ask(sql<{ readonly view: string; readonly columns: readonly LiveColumn[] }>`
    select c.relname as view, jsonb_agg(jsonb_build_object(
      'name', a.attname, 'type', format_type(a.atttypid, a.atttypmod)) order by a.attnum) as columns
    from pg_namespace n join pg_class c on c.relnamespace = n.oid and c.relkind = 'v'
      join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    where n.nspname = ${schema} group by 1 order by 1`)
  return new Map(rows.map(({ view, columns }) => [view, columns]))
}

/** What a reader sees of a column that says something about a person. */
function impersonal(
  name: string,
  {
    all,
    type,
    view,
  }: { readonly all: ReadonlySet<string>; readonly type: string; readonly view: ReaderView | undefined },
): string {
  const id = view?.names.get(name) ?? name.replace(/_name$/, '_id')
  const what = id.replace(/_id$/, '')
  if (id === name || !all.has(id)) return `null::${type}`
  return `case when ${quote(id)} is not null then ${literal(`${what} `)} || ${quote(id)} end`
}

const isHidden = (view: ReaderView | undefined, column: string, isPersonal: boolean): boolean =>
  view?.internal.has(column) === true || (!isPersonal && view?.personal.has(column) === true)

function viewText(
  from: string,
  name: string,
  columns: readonly LiveColumn[],
  { role, tenants, personal }: LiveReader,
  view: ReaderView | undefined,
): string {
  const all = new Set(columns.map((column) => column.name))
  const selected = columns.map(({ name: column, type }) => {
    if (!isHidden(view, column, personal)) return quote(column)
    const value = view?.internal.has(column) ? `null::${type}` : impersonal(column, { all, type, view })
    return `cast(${value} as ${type}) as ${quote(column)}`
  })
  const where = all.has('tenant_id') ? ` where tenant_id in (${tenants.join(', ')})` : ''
  return `create or replace view ${quote(role)}.${quote(name)} with (security_barrier) as select ${selected.join(', ')} from ${quote(from)}.${quote(name)}${where}`
}

/** A reader's open transaction must not keep a run waiting for long. */
const shortly = `set local lock_timeout = '3s'`

/** By role: the comment of its schema, in which the digest of its views is, and how many of them exist. */
async function liveReaders(ask: Ask, tables: string) {
  const rows = await ask(sql<{ role: string; text: string; views: number }>`select n.nspname as role,
      obj_description(n.oid, 'pg_namespace') as text,
      (select count(*)::int from pg_class c where c.relnamespace = n.oid and c.relkind = 'v') as views
    from pg_namespace n where ${markedWith} = ${readerMark(tables)}`)
  return new Map(rows.map((row) => [row.role, row]))
}

/** One by one, so that an error says which of them failed, but without waiting for each. */
const runAll = (db: Db, run: RunStatement, statements: readonly string[]) =>
  Promise.all(statements.map((statement) => run(sql.raw(statement).compile(db))))

/** The statements that take every right on its views from a role, also what everyone has, or a role that it is a member of. */
const takingRights = (ask: Ask, role: string) =>
  ask(sql<{ statement: string }>`with given as (
      select format('schema %I', n.nspname) as what, e.grantee from pg_namespace n, aclexplode(n.nspacl) e
      where n.nspname = ${role} and e.grantee <> n.nspowner
      union select format('table %I.%I', n.nspname, c.relname), e.grantee
      from pg_namespace n join pg_class c on c.relnamespace = n.oid, aclexplode(c.relacl || array(
        select e from pg_attribute t, unnest(t.attacl) e where t.attrelid = c.oid)) e
      where n.nspname = ${role} and e.grantee <> c.relowner and pg_has_role(c.relowner, 'usage'))
    select distinct format('revoke all on %s from %s', what,
      case when grantee = 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end) as statement
    from given where grantee = 0 or pg_has_role(${role}::name, grantee, 'member')`)

/** The columns of the views of all tenants that a reader's views show it, by the catalog: `orders.state`. */
async function shownColumns(ask: Ask, { views, role }: Readable): Promise<string[]> {
  const rows = await ask(sql<{ shown: string }>`select distinct o.relname || '.' || a.attname as shown
    from pg_namespace n join pg_class c on c.relnamespace = n.oid join pg_rewrite w on w.ev_class = c.oid
      join pg_depend p on p.classid = 'pg_rewrite'::regclass and p.objid = w.oid and p.refclassid = 'pg_class'::regclass
      join pg_class o on o.oid = p.refobjid join pg_namespace v on v.oid = o.relnamespace
      join pg_attribute a on a.attrelid = o.oid and a.attnum = p.refobjsubid
    where n.nspname = ${role} and v.nspname = ${views}`)
  return rows.map(({ shown }) => shown)
}

/** A view shows a reader what the role that made it may read. */
async function refuseUnreadable(ask: Ask, views: string, names: readonly string[]): Promise<void> {
  if (names.length === 0)
    throw new Stop(`There is no view in the schema ${views} that could be shown to a reader`, {
      exitCode: 2,
      hint: 'Type shopsync migrate, which makes them or tells why it may not',
    })
  const [found] = await ask(sql<{
    view: string
    us: string
  }>`select format('%I.%I', n.nspname, c.relname) as view,
      quote_ident(current_user) as us
    from pg_namespace n join pg_class c on c.relnamespace = n.oid
    where n.nspname = ${views} and c.relname = any(${[...names]}::text[])
      and not (has_schema_privilege(n.oid, 'usage') and has_table_privilege(c.oid, 'select')) limit 1`)
  if (!found) return
  throw new Stop(`The role that runs shopsync may not read ${found.view}`, {
    exitCode: 2,
    hint: `Type, as its owner: grant usage on schema ${quote(views)} to ${found.us}; grant select on all tables in schema ${quote(views)} to ${found.us}`,
  })
}

/** What the server refused, in its own words. undefined if an error isn't about the views of a reader. */
function troubleOfReader(error: unknown): ViewTrouble | undefined {
  const answer = answerIn(error)
  if (answer?.code === lockTimeout)
    return { message: holderOf(answer.cause), hint: 'End that session, or wait for it' }
  if (answer && /^(0A|2B|3F|42)/.test(answer.code))
    return { message: `${answer.cause.message} (${answer.code})`, hint: 'Undo that, or choose another role' }
  return error instanceof Stop || error instanceof Skip
    ? { message: error.message, hint: error.hint ?? '' }
    : undefined
}

/** What somebody made of a view, and who has it if it ends with a session. */
interface Hanging {
  readonly view: string
  readonly what: string
  readonly pid: number | null
  readonly application: string | null
}

/**
 * What hangs on these views, so that they can't be dropped: views, materialized views, functions, rules, columns of their
 * type. Readers' views don't count, but what hangs on these does. A temporary object names its session by the number in
 * its schema's name; before Postgres 16 only the session's role is known.
 */
export async function hangingOn(
  ask: Ask,
  tables: string,
  views: readonly string[],
): Promise<readonly Hanging[]> {
  if (views.length === 0) return []
  return ask(sql<Hanging>`with recursive below(view, oid) as (
      select view, to_regclass(view)::oid from unnest(${[...views]}::text[]) view
      union
      select view, w.ev_class from below join pg_depend p on p.refclassid = 'pg_class'::regclass and p.refobjid = below.oid
        join pg_rewrite w on p.classid = 'pg_rewrite'::regclass and w.oid = p.objid
        join pg_class d on d.oid = w.ev_class join pg_namespace n on n.oid = d.relnamespace
      where ${markedWith} = ${readerMark(tables)}
    ), found as (
      select distinct below.view, case when i.type = 'view' then '' else i.type || ' ' end || i.identity as what,
        substring(i.identity from 'pg_temp_(\\d+)') as session
      from below left join pg_type t on t.typrelid = below.oid
        join pg_depend p on p.deptype in ('n', 'a') and (p.refclassid = 'pg_class'::regclass and p.refobjid = below.oid
          or p.refclassid = 'pg_type'::regclass and p.refobjid in (t.oid, t.typarray))
        left join pg_rewrite w on p.classid = 'pg_rewrite'::regclass and w.oid = p.objid and w.rulename = '_RETURN',
        pg_identify_object(case when w.oid is null then p.classid else 'pg_class'::regclass::oid end,
          coalesce(w.ev_class, p.objid), case when w.oid is null then p.objsubid else 0 end) i
      where not exists (select from below b where b.view = below.view and b.oid = w.ev_class)
    )
    select view, what, pid, application_name as application from found left join pg_stat_activity a
      on case when current_setting('server_version_num')::int >= 160000
        then a.pid = pg_stat_get_backend_pid(session::int)
        else a.datname = current_database() and a.usesysid in (select c.relowner from pg_class c
          join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'pg_temp_' || session) end
    order by view, what`)
}

const hangingText = ({ what, pid, application }: Hanging): string =>
  pid === null ? what : `${what} (of the session ${application ? `${application}, ` : ''}pid ${pid})`

/** Why something stays that would have to be dropped. */
export const dependText = (all: readonly Hanging[]): string =>
  `${all.slice(0, 5).map(hangingText).join(', ')} ${all.length > 1 ? 'depend' : 'depends'} on it`

/** What ends that. */
export const endText = (all: readonly Hanging[]): string =>
  typeof all[0]?.pid === 'number'
    ? `End that session, such as by select pg_terminate_backend(${all[0].pid})`
    : `Drop ${all.map(({ what }) => what).join(', ')}`

const leftText = (all: readonly Hanging[]): string =>
  `the view ${[...new Set(all.map(({ view }) => view))].join(', ')} can't be dropped: ${dependText(all)}`

/** What a reader is to see, by view, the statements that make the views in the same order, and a digest of these. */
function wantedFor(from: string, all: Views, reader: LiveReader, declared: ReadonlyMap<string, ReaderView>) {
  // Views without tenants are shown whole only if they say nothing about any.
  const shown = [...all].filter(
    ([name, columns]) => columns.some((one) => one.name === 'tenant_id') || declared.get(name)?.isForAll,
  )
  const made = shown.map(([name, columns]) => viewText(from, name, columns, reader, declared.get(name)))
  const digest = createHash('sha256').update([viewEdition, ...made].join('\n'))
  return { shown: new Map(shown), made, digest: digest.digest('hex').slice(0, 12) }
}

/** Makes a reader's views, as many as there are. What hangs on one that has to be dropped keeps it, without any right. */
async function make(
  db: Db,
  run: RunStatement,
  readable: Readable,
  { shown, made, digest }: ReturnType<typeof wantedFor>,
): Promise<{ readonly views: number; readonly left: ViewTrouble | undefined }> {
  const ask = asking(db, run)
  const { tables, views, role } = readable
  const schema = quote(role)
  const there = await schemaOf(ask, readable)
  const trouble = schemaTrouble(role, there)
  if (trouble) throw new Stop(trouble.message, { exitCode: 2, hint: trouble.hint })
  await refuseUnreadable(ask, views, [...shown.keys()])
  const old = [...(await viewsIn(ask, role))].flatMap(([name, columns]) =>
    isInPlace(columns, shown.get(name)) ? [] : `${schema}.${quote(name)}`,
  )
  const hanging = await hangingOn(ask, tables, old)
  const kept = new Set(hanging.map(({ view }) => view))
  const makes = [...shown.keys()]
    .map((name, i) => ({ name: `${schema}.${quote(name)}`, text: made[i] ?? '' }))
    .filter(({ name }) => !kept.has(name))
  await runAll(db, run, [
    shortly,
    ...(there.exists ? [] : [`create schema ${schema}`]),
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

export function readerStore(db: Db, tables: string, views: string): ReaderStore {
  const readable = (role: string): Readable => ({ tables, views, role })
  return {
    obstacle: (run, role) => readerObstacle(asking(db, run), readable(role)),
    exposure: (run, role) => exposures(asking(db, run), readable(role)),
    openToAll: (run) => openToAll(asking(db, run)),
    troubleOf: troubleOfReader,

    async outdated(run, readers, declared) {
      const all = await viewsIn(asking(db, run), views)
      const live = await liveReaders(asking(db, run), tables)
      return readers.filter((reader) => {
        const { shown, digest } = wantedFor(views, all, reader, declared)
        const there = live.get(reader.role)
        return there?.views !== shown.size || !there.text.endsWith(digest)
      })
    },

    async hides(run, reader, declared) {
      const { shown } = wantedFor(views, await viewsIn(asking(db, run), views), reader, declared)
      const now = await shownColumns(asking(db, run), readable(reader.role))
      const wanted = new Set(
        [...shown].flatMap(([view, columns]) =>
          columns
            .filter(({ name }) => !isHidden(declared.get(view), name, reader.personal))
            .map(({ name }) => `${view}.${name}`),
        ),
      )
      return now.some((column) => !wanted.has(column))
    },

    async make(run, reader, declared) {
      const wanted = wantedFor(views, await viewsIn(asking(db, run), views), reader, declared)
      return make(db, run, readable(reader.role), wanted)
    },

    async stop(run, role) {
      const { hasRole, isMarked } = await schemaOf(asking(db, run), readable(role))
      const taken = hasRole && isMarked ? await takingRights(asking(db, run), role) : []
      await runAll(
        db,
        run,
        taken.map(({ statement }) => statement),
      )
      return hasRole
    },

    async drop(run, role) {
      const ask = asking(db, run)
      const schema = quote(role)
      if (!(await schemaOf(ask, readable(role))).isMarked) return
      const names = [...(await viewsIn(ask, role)).keys()].map((view) => `${schema}.${quote(view)}`)
      const hanging = await hangingOn(ask, tables, names)
      if (hanging.length > 0) throw new Stop(leftText(hanging), { exitCode: 1, hint: endText(hanging) })
      const drops = names.map((name) => `drop view ${name}`)
      await runAll(db, run, [shortly, ...drops, `comment on schema ${schema} is null`])
      // One that we couldn't make again stays, as somebody made it for us.
      const { isEmpty, mayCreate } = await schemaOf(ask, readable(role))
      if (isEmpty && mayCreate) await runAll(db, run, [`drop schema ${schema}`])
    },
  }
}

/** The readers' views that stand on one of ours, by reader: they are made again after it. */
export const readersOf = (
  ask: Ask,
  tables: string,
  view: string,
): Promise<readonly { readonly role: string; readonly name: string }[]> =>
  ask(sql<{ role: string; name: string }>`select distinct n.nspname as role,
      format('%I.%I', n.nspname, d.relname) as name
    from pg_depend p join pg_rewrite r on p.classid = 'pg_rewrite'::regclass and r.oid = p.objid
    join pg_class d on d.oid = r.ev_class join pg_namespace n on n.oid = d.relnamespace
    where p.refclassid = 'pg_class'::regclass and p.refobjid = to_regclass(${view}) and d.oid <> p.refobjid
      and ${markedWith} = ${readerMark(tables)}`)

/** Drops readers' views, a transaction for each reader: the views of a hundred are more locks than a server has. */
export const droppingByReader = (
  db: Db,
  found: Awaited<ReturnType<typeof readersOf>>,
): readonly CompiledQuery[] =>
  [...new Set(found.map(({ role }) => role))].map((role) => {
    const names = found.filter((one) => one.role === role).map(({ name }) => name)
    return sql.raw(`${shortly};\ndrop view ${names.join(', ')}`).compile(db)
  })
