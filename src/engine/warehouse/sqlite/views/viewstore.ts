/** Views in a SQLite file: next to the tables, and evaluated when they are read. Made by sqlite/dialect.ts. */
import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { ViewRows } from '../../../../../schema/views/index.js'
import type { Db } from '../../database.js'
import { formerCalendars, type ViewStore } from '../../views/viewstore.js'
import { utcDays, viewSql } from './viewsql.js'

const daySeconds = 86_400
const dayNumber = (day: string): number => Date.parse(day) / (daySeconds * 1000)

/**
 * For each UTC day, the local days on which an instant of it can fall. Shift -1, 0, 1: the day before, the same, the day after,
 * for as long as any zone has clocks. Shift 9: none, for an instant whose zone isn't known or that is beyond its clocks.
 * The one row of day `''` is for instants beyond all UTC days.
 */
const filling = sql`insert or ignore into report_shifted_days (utc_day, shift, day)
  with recursive utc (n) as (select ${sql.lit(dayNumber(utcDays.first))} union all select n + 1 from utc where n + 1 < ${sql.lit(dayNumber(utcDays.end))}),
  days (n, utc_day) as (select n, date(n * ${sql.lit(daySeconds)}, 'unixepoch') from utc),
  near (k) as (select -1 union all select 0 union all select 1 union all select 9)
  select utc_day, k, case when k < 9 then date((n + k) * ${sql.lit(daySeconds)}, 'unixepoch') end from days, near
  where k = 9 or utc_day <= (select max(to_at) from report_clocks)
  union all select '', 9, null`

const refusing = (change: 'delete' | 'update') =>
  sql.raw(`create trigger if not exists report_shifted_days_${change} before ${change} on report_shifted_days
  begin select raise(abort, 'report_shifted_days has to stay whole: views would lose rows'); end`)

/**
 * SQLite takes a range of an index for a 64th of it: a month of the table's fifty years would look like most of a year, and
 * a view would read all rows of a shop instead. So the statistics claim a smaller index. `pragma optimize` corrects those
 * of a table that are off by a factor of ten, but not those of an index with a condition. Reading a hundred rows is
 * enough for the rest.
 */
const statistics = [
  sql`pragma analysis_limit = 100`,
  sql`analyze report_shifted_days`,
  sql`pragma analysis_limit = 0`,
  sql`update sqlite_stat1 set stat = '5000' || substr(stat, instr(stat, ' '))
    where idx = 'report_shifted_days_by_day'`,
]

/**
 * The table by which a condition on days finds rows. It has the local days that an instant of each UTC day can have in
 * any time zone, and a row without a day. Views join it by an inner join, since SQLite doesn't begin at the right side of
 * an outer one in a query with groups. So every row of theirs needs its row here, or it would be lost. That's why the table
 * depends on no zone, is filled in the transactions that make the views and that store clocks, and refuses changes.
 */
const shiftedDays = [
  sql`create table if not exists report_shifted_days (utc_day TEXT not null, shift INTEGER not null, day DATE,
    primary key (utc_day, shift)) without rowid`,
  // Made of rows that are there, the index is smaller.
  sql`drop index if exists report_shifted_days_by_day`,
  filling,
  sql`create index report_shifted_days_by_day on report_shifted_days (day, utc_day) where day is not null`,
  refusing('delete'),
  refusing('update'),
  ...statistics,
]

export const viewStore = (db: Db, where: string): ViewStore => ({
  sql: viewSql,
  where,
  memory: 'views',
  relation: (name) => `"${name}"`,
  // The views are in the same file as the tables; Kysely's type determines which of the two is meant.
  db: db as unknown as Kysely<ViewRows>,
  published: () => [],
  live: async (run) => {
    const all = sql<{
      name: string
      text: string | null
    }>`select name, sql as text from sqlite_master where type in ('view', 'table')`
    const { rows } = await run(all.compile(db))
    // A view that someone dropped and created again has another text.
    return new Map(
      rows.map(({ name, text }) => [
        name,
        createHash('sha256')
          .update(text ?? '')
          .digest('hex')
          .slice(0, 20),
      ]),
    )
  },
  obstacle: async () => undefined,
  readers: undefined,
  slowedBy: async () => undefined,
  prepare: async (run) => {
    await run(sql.raw(typesTable).compile(db))
    for (const statement of shiftedDays) await run(statement.compile(db))
  },
  afterClocks: () => shiftedDays.map((statement) => statement.compile(db)),
  tidy: async (run) => {
    for (const name of formerCalendars) {
      const reading = sql`select 1 from sqlite_master where type = 'view' and instr(sql, ${name}) > 0`
      const { rows } = await run(reading.compile(db))
      if (rows.length === 0) await run(sql`drop table if exists ${sql.id(name)}`.compile(db))
    }
  },
  beforehand: async () => [],
  make: async (run, { name, query }) => {
    await run(sql`drop view if exists ${sql.id(name)}`.compile(db))
    await run(sql`create view ${sql.id(name)} as ${sql.raw(query)}`.compile(db))
    return undefined
  },
  troubleOf: () => undefined,
})

/** The empty table whose columns provide the types of a view's columns. */
const typesTable =
  'create table if not exists "report_types" (n INTEGER, r REAL, t TEXT, d DATE, i DATETIME, b BOOLEAN)'
