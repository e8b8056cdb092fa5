import type { CompiledQuery } from 'kysely'
import { toJson } from '../../engine/base/printjson.js'
import { readJson } from '../../engine/warehouse/database.js'
import { sourceRow } from '../../engine/warehouse/sourceidentity.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'

/** What the last probe of `shopsync check` found; null where there was none. The probe alone knows its shape. */
export async function readProbe(warehouse: Pick<Warehouse, 'read'>): Promise<unknown> {
  const row = await warehouse.read((db) =>
    db.selectFrom('sync_source').select('probe').where('name', '=', sourceRow).executeTakeFirst(),
  )
  return row?.probe == null ? null : readJson(row.probe)
}

export function storeProbe({ db }: Pick<Warehouse, 'db'>, probe: unknown, at: string): CompiledQuery {
  const columns = { probe: toJson(probe), probed_at: at }
  return db
    .insertInto('sync_source')
    .values({ name: sourceRow, ...columns })
    .onConflict((c) => c.column('name').doUpdateSet(columns))
    .compile()
}
