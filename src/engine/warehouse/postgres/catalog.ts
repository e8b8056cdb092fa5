/**
 * What exists in a Postgres database, what others made of it, and what it takes to change it. postgres/dialect.ts makes
 * one for each warehouse.
 */
import { type CompiledQuery, type RawBuilder, sql } from 'kysely'
import pg from 'pg'
import { joinedNames } from '../../base/format.js'
import type { Table } from '../../model/table.js'
import type { Db } from '../database.js'
import type { Catalog, Interference, LiveColumn, LiveIndex, Obstacle } from '../dialect.js'
import { metaQuery } from '../state/meta.js'
import type { Session } from '../transaction.js'
import { grantOn, type Names, plain, withoutRowSecurity } from './drivererrors.js'

const quote = pg.escapeIdentifier

/** For how many seconds a change of a table waits for those who read it, before it lets others pass and tries again. */
const changeWaits = 3

export class PostgresCatalog implements Catalog {
  readonly #schema: string

  /** `place`: for people, `HOST:PORT/DATABASE`. */
  constructor(
    private readonly db: Db,
    private readonly names: Names,
    private readonly place: string,
  ) {
    this.#schema = names.schema
  }

  async liveColumns(): Promise<LiveColumn[]> {
    const { rows } = await sql<LiveColumn>`
      select c.relname as "table", a.attname as name,
        replace(format_type(a.atttypid, a.atttypmod), 'timestamp with time zone', 'timestamptz') as type
      from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
      where n.nspname = ${this.#schema} and c.relkind in ('r', 'p') and a.attnum > 0 and not a.attisdropped`.execute(
      this.db,
    )
    return rows
  }

  /** An attribute number of 0 means an expression, which has no column. */
  async liveIndexes(): Promise<LiveIndex[]> {
    const { rows } = await sql<LiveIndex>`
      select c.relname as "table", i.relname as name, x.indisprimary as "isPrimary",
        array(select a.attname::text
          from unnest(x.indkey::int2[]) with ordinality k (attnum, place)
          left join pg_attribute a on a.attrelid = c.oid and a.attnum = k.attnum
          where k.place <= x.indnkeyatts order by k.place) as columns
      from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class c on c.oid = x.indrelid
        join pg_namespace n on n.oid = c.relnamespace
      where n.nspname = ${this.#schema}`.execute(this.db)
    return rows
  }

  /** Reads the catalog, and no row of any table. */
  async interferences(tables: readonly string[]): Promise<Interference[]> {
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
      where n.nspname = ${this.#schema} and c.relkind in ('r', 'p', 'v', 'm', 'f')
        and c.relname = any(${tables}::text[])
      order by c.relname`.execute(this.db)
    const called = await unsettled(this.db, this.#schema, tables)
    return [...rows.flatMap((found) => interferenceOf(found, this.names)), ...called]
  }

  /** Most often, its schema has another name. */
  async absence(): Promise<Obstacle> {
    const schema = this.#schema
    const { rows } = await sql<{ name: string; isOurs: boolean; hasTables: boolean }>`
      select nspname as name, nspname = ${schema} as "isOurs",
        (select count(*) = 3 from pg_class c where c.relnamespace = n.oid and c.relkind in ('r', 'p')
          and c.relname in ('sync_meta', 'sync_cursors', 'tenants')) as "hasTables"
      from pg_namespace n order by nspname`.execute(this.db)
    const found = rows.some(({ isOurs }) => isOurs)
      ? `the schema ${schema} of postgres://${this.place} has none of its tables`
      : `there is no schema ${schema}`
    const others = rows.flatMap(({ name, isOurs, hasTables }) => (hasTables && !isOurs ? name : []))
    const [other] = others
    if (other === undefined)
      return {
        problem: found.includes(this.place) ? found : `${found} in postgres://${this.place}`,
        hint: 'Type shopsync sync, which makes one there, or correct "warehouse" in the configuration',
      }
    return {
      problem: `${found}; this database has ${others.length === 1 ? 'a warehouse' : 'warehouses'} in ${joinedNames(others)}`,
      hint: `Write "schema": "${other}" beside warehouse.url; or, to make another one in ${schema}, type shopsync sync`,
    }
  }

  async narrowEncoding(): Promise<string | undefined> {
    const { rows } = await sql<{ server_encoding: string }>`show server_encoding`.execute(this.db)
    const encoding = rows[0]?.server_encoding
    return encoding === 'UTF8' ? undefined : encoding
  }

  /**
   * Migrations wait for each other at a row, which only those may lock who may write it. Before there is one, two of them
   * meet where both make the same, and the one that the database refuses tries again.
   */
  async prepare(session: Pick<Session, 'run'>): Promise<void> {
    const { db } = this
    const asked = sql<{ schema: boolean; rows: boolean }>`
      select to_regnamespace(${quote(this.#schema)}) is not null as schema,
        to_regclass(${`${quote(this.#schema)}.sync_meta`}) is not null as rows`
    const {
      rows: [found],
    } = await session.run(asked.compile(db))
    if (!found?.schema) await session.run(sql`create schema ${sql.id(this.#schema)}`.compile(db))
    if (found?.rows) await session.run(metaQuery(db, 'schema_version').forUpdate().compile())
    await this.waitBriefly(session)
  }

  /** Every other reader of a table queues behind a change of it that waits for an idle one. */
  async waitBriefly(session: Pick<Session, 'run'>, seconds = changeWaits): Promise<void> {
    await session.run(sql.raw(`set local lock_timeout = '${seconds}s'`).compile(this.db))
  }

  async tryRoom(
    session: Pick<Session, 'run'>,
    { bytes, creates }: { readonly bytes: number; readonly creates: boolean },
  ): Promise<void> {
    const { db } = this
    const filling = sql`select repeat('x', 1000) as filling from generate_series(1, ${sql.lit(bytes / 1000)}::int)`
    const name = sql.id(this.#schema, 'shopsync_check')
    if (creates) return void (await session.run(sql`create table ${name} as ${filling}`.compile(db)))
    const may = sql<{ may: boolean }>`select has_database_privilege(current_database(), 'temp') as may`
    const { rows } = await session.run(may.compile(db))
    if (rows[0]?.may) await session.run(sql`create temp table shopsync_check as ${filling}`.compile(db))
  }

  /** One text for all: sent one by one, the comments would take longer than creating the tables. */
  comments(tables: readonly Table[]): CompiledQuery[] {
    const all = tables.flatMap((table) => commentsOn(table, this.#schema))
    return [sql.join(all, sql.raw(';\n')).compile(this.db)]
  }

  keyStatement({ name, key }: Table, live: LiveIndex | undefined): string {
    const drop = live ? ` drop constraint ${quote(live.name)},` : ''
    return `alter table ${quote(this.#schema)}.${quote(name)}${drop} add primary key (${key.map(quote).join(', ')})`
  }

  setAside(name: string): string {
    return this.db.schema.alterTable(name).renameTo(`${name}_before`).compile().sql
  }
}

function commentsOn(table: Table, schema: string): RawBuilder<unknown>[] {
  const name = sql.id(schema, table.name)
  return [
    sql`comment on table ${name} is ${sql.lit(`${table.doc} Grain: ${table.grain}.`)}`,
    ...table.columns.map(
      (column) => sql`comment on column ${name}.${sql.id(column.name)} is ${sql.lit(column.doc)}`,
    ),
  ]
}

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
