import { sql } from 'kysely'
import type { ExtraSql } from '../dialect.js'

/** The path of a member: quoted as JSON quotes it, so that a dot or a quote in the name is part of the name. */
const path = (name: string): string => `$.${JSON.stringify(name)}`

const column = sql.ref('_extra')

export const extra: ExtraSql = {
  has: (name) => sql`json_type(${column}, ${path(name)}) is not null`,
  member: (name) => sql`${column} -> ${path(name)}`,
  without: (name) => sql`nullif(json_remove(${column}, ${path(name)}), '{}')`,
  with: (name, value) => sql`json_set(coalesce(${column}, '{}'), ${path(name)}, json(${value}))`,
  exact: (name) => sql.ref(name),
}
