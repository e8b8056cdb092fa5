/* How far copies of the tables can be continued (docs/increments.md): the rule is in schema/through.ts, for the views too. */
import { sql } from 'kysely'
import { through } from '../../../../schema/through.js'
import type { Warehouse } from '../warehouse.js'

/** The instant below which no `_synced_at` will be committed any more, canonical. It never falls. */
export async function changesThrough(warehouse: Warehouse): Promise<string> {
  const { table } = warehouse.dialect.views().sql
  const rule = through().replaceAll(/\{(\w+)\}/g, (_, name: string) => table(name))
  // One statement: a holder that began between two would have stamps that the second counts as settled.
  const { rows } = await warehouse.read((db) =>
    db.executeQuery(sql<{ through: string }>`select ${sql.raw(rule)} as through`.compile(db)),
  )
  return rows[0]?.through ?? ''
}
