/** Views in a SQLite file: next to the tables, and evaluated when they are read. Made by sqlite/dialect.ts. */
import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { ViewRows } from '../../../../../schema/views/index.js'
import type { Db } from '../../database.js'
import type { RunStatement, ViewStore } from '../../views/viewstore.js'
import { utcDays, viewSql } from './viewsql.js'

const daySeconds = 86_400
const dayNumber = (day: string): number => Date.parse(day) / (daySeconds * 1000)

/** Each UTC day has four rows, the day before to the day after and none; one is for instants beyond. */
const wholeTable = (dayNumber(utcDays.end) - dayNumber(utcDays.first)) * 4 + 1

const filling = sql`insert or ignore into report_shifted_days (utc_day, shift, day)
  with recursive utc (n) as (select ${sql.lit(dayNumber(utcDays.first))} union all select n + 1 from utc where n + 1 < ${sql.lit(dayNumber(utcDays.end))}),
  near (k) as (select 9 union all select -1 union all select 0 union all select 1)
  select date(n * ${sql.lit(daySeconds)}, 'unixepoch'), k,
    case when k < 9 then date((n + k) * ${sql.lit(daySeconds)}, 'unixepoch') end from utc, near
  union all select '', 9, null`

const refusing = (change: 'delete' | 'update') =>
  sql.raw(`create trigger if not exists report_shifted_days_${change} before ${change} on report_shifted_days
  begin select raise(abort, 'report_shifted_days has to stay whole: views would lose rows'); end`)

/**
 * SQLite takes a range of an index for a 64th of it: a month of the table's seventy years would look like a year, and a
 * view would read all rows of a shop instead. So the statistics claim a smaller index. `pragma optimize` corrects those
 * of a table that are off by a factor of ten, but not those of an index with a condition. Reading a hundred rows is
 * enough for the rest.
 */
const statistics = [
  sql`pragma analysis_limit = 100`,
  sql`analyze report_shifted_days`,
  sql`pragma analysis_limit = 0`,
  sql`update sqlite_stat1 set stat = ${sql.lit(Math.floor(wholeTable / 20))} || substr(stat, instr(stat, ' '))
    where idx = 'report_shifted_days_by_day'`,
]

/**
 * Makes the table by which a condition on days finds rows, in the current transaction. It has the local days that an
 * instant of each UTC day can have in any time zone, and one row without a day. Views join it by an inner join, since
 * SQLite doesn't begin at the right side of an outer one in a query with groups. So every row of theirs needs its row
 * here, or it would be lost. That's why the table depends on nothing, is filled in the transaction that makes the
 * views, and then refuses changes.
 */
async function makeShiftedDays(db: Db, run: RunStatement): Promise<void> {
  await run(
    sql`create table if not exists report_shifted_days (utc_day TEXT not null, shift INTEGER not null, day DATE,
      primary key (utc_day, shift)) without rowid`.compile(db),
  )
  const { rows } = await run(sql<{ n: number }>`select count(*) as n from report_shifted_days`.compile(db))
  if (Number(rows[0]?.n) === wholeTable) return
  const index = sql`create index if not exists report_shifted_days_by_day on report_shifted_days (day, utc_day) where day is not null`
  for (const statement of [filling, index, refusing('delete'), refusing('update'), ...statistics])
    await run(statement.compile(db))
}

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
    await makeShiftedDays(db, run)
  },
  tidy: async (run) => {
    for (const name of ['report_near_days', 'report_utc_days']) {
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
