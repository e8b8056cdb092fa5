/** For tests of what is hidden or forgotten: all that a warehouse has, and a configuration that hides. */
import { existsSync, readFileSync } from 'node:fs'
import { sql } from 'kysely'
import type { Address } from '../harness/place.js'
import { lookAt } from '../harness/warehouse.js'

export const preset = { preset: 'pseudonymous', key: Buffer.alloc(32, 7).toString('base64') }

/** Every byte of a SQLite warehouse's files; every value of a Postgres one, and what the planner remembers of them. */
export async function everything({ url, schema }: Address): Promise<string> {
  if (url.startsWith('sqlite:')) {
    const path = url.slice('sqlite:'.length)
    return [path, `${path}-wal`, `${path}.events`, `${path}.events-wal`]
      .map((file) => (existsSync(file) ? readFileSync(file, 'latin1') : ''))
      .join('')
  }
  return lookAt({ url, schema }, async (warehouse) => {
    let all = ''
    const read = async (text: ReturnType<typeof sql<{ row: string }>>): Promise<void> => {
      all += (await text.execute(warehouse.db)).rows.map(({ row }) => row).join('\n')
    }
    for (const name of new Set((await warehouse.dialect.catalog.liveColumns()).map(({ table }) => table)))
      await read(sql`select t::text as row from ${sql.id(schema, name)} as t`)
    for (const stats of ['pg_stats', 'pg_stats_ext_exprs'])
      await read(sql`select s::text as row from ${sql.id(stats)} as s where schemaname = ${schema}`)
    return all
  })
}
