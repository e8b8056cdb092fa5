/**
 * What hangs on a view, so that it can't be dropped without taking along what somebody made. Views that only change their
 * rows are replaced in place, whatever hangs on them. Used by viewstore.ts and readerviews.ts.
 */
import { sql } from 'kysely'
import type { Db } from '../database.js'
import type { RunStatement } from '../viewstore.js'
import { markedWith, readerMark } from './readerrights.js'

/** What somebody made of a view, and who has it if it ends with a session. */
export interface Hanging {
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
  db: Db,
  tables: string,
  run: RunStatement,
  views: readonly string[],
): Promise<readonly Hanging[]> {
  if (views.length === 0) return []
  const asked = sql<Hanging>`with recursive below(view, oid) as (
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
    order by view, what`
  return (await run(asked.compile(db))).rows
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
