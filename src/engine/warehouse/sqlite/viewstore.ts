/** Views in a SQLite file: next to the tables, and evaluated when they are read. Made by sqlite/dialect.ts. */
import { createHash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { ViewRows } from '../../../../schema/views/index.js'
import type { Db } from '../database.js'
import type { ViewStore } from '../viewstore.js'
import { makeNearDays } from './neardays.js'
import { typesTable, viewSql } from './viewsql.js'

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
  slowedBy: async () => undefined,
  prepare: async (run) => {
    await run(sql.raw(typesTable).compile(db))
    await makeNearDays(db, run)
  },
  make: async (run, { name, query }) => {
    await run(sql`drop view if exists ${sql.id(name)}`.compile(db))
    await run(sql`create view ${sql.id(name)} as ${sql.raw(query)}`.compile(db))
    return undefined
  },
  troubleOf: () => undefined,
})
