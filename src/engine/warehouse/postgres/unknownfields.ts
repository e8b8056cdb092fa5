import { sql } from 'kysely'
import type { ExtraSql } from '../dialect.js'

const column = sql.ref('_extra')

export const extra: ExtraSql = {
  has: (name) => sql`jsonb_exists(${column}, ${name})`,
  member: (name) => sql`(${column} -> ${name}::text)::text`,
  without: (name) => sql`nullif(${column} - ${name}::text, '{}'::jsonb)`,
  with: (name, value) =>
    sql`coalesce(${column}, '{}'::jsonb) || jsonb_build_object(${name}::text, ${value}::jsonb)`,
  exact: (name) => sql`${sql.ref(name)}::text`,
}
