/*
 * A warehouse belongs to one source, which the table sync_source names. Records of two sources share ids, so rows of
 * one would pass for rows of the other, and every count could agree by chance.
 */
import type { CompiledQuery } from 'kysely'
import { Stop } from '../../base/errors.js'
import type { SourceAddress } from '../../config/sourceaddress.js'
import type { WaryReader } from '../database.js'
import type { Warehouse } from '../warehouse.js'

/** The row's only key. */
export const sourceRow = 'source'

interface SourceIdentity extends SourceAddress {
  readonly since: string | null
}

/** undefined if no run has stored one: a new warehouse. */
export async function readSourceIdentity(warehouse: WaryReader): Promise<SourceIdentity | undefined> {
  if (!(await warehouse.has('sync_source'))) return undefined
  const row = await warehouse.read((db) =>
    db
      .selectFrom('sync_source')
      .select(['base_url', 'partner_id', 'since'])
      .where('name', '=', sourceRow)
      .executeTakeFirst(),
  )
  if (!row?.base_url || row.partner_id === null) return undefined
  return { baseUrl: row.base_url, partnerId: row.partner_id, since: row.since }
}

export const isSame = (a: SourceAddress, b: SourceAddress): boolean =>
  a.baseUrl === b.baseUrl && a.partnerId === b.partnerId

export const sourceLabel = ({ baseUrl, partnerId }: SourceAddress): string =>
  `${baseUrl} (partner ${partnerId})`

export const adoptionHint =
  "If the same records moved to that address, type shopsync adopt --same-data; if this warehouse should hold the other source's records from now on, type shopsync adopt; otherwise name a new warehouse in warehouse.url"

export const foreignText = (owner: SourceAddress, asked: SourceAddress): string =>
  `The warehouse belongs to the source ${sourceLabel(owner)}, but the configuration names ${sourceLabel(asked)}`

/** The refusal of a warehouse that belongs to another source. undefined if it doesn't. */
export async function foreignRefusal(warehouse: WaryReader, asked: SourceAddress): Promise<Stop | undefined> {
  const owner = await readSourceIdentity(warehouse)
  if (owner === undefined || isSame(owner, asked)) return undefined
  return new Stop(foreignText(owner, asked), { exitCode: 2, hint: adoptionHint })
}

/** Throws Stop if the warehouse belongs to another source. Returns the source it belongs to. */
export async function checkSourceIdentity(
  warehouse: WaryReader,
  asked: SourceAddress,
): Promise<SourceIdentity | undefined> {
  const owner = await readSourceIdentity(warehouse)
  if (owner === undefined || isSame(owner, asked)) return owner
  throw new Stop(foreignText(owner, asked), { exitCode: 2, hint: adoptionHint })
}

/** Makes the warehouse belong to a source, starting at a given moment. */
export function storeSourceIdentity(
  { db }: Warehouse,
  { baseUrl, partnerId }: SourceAddress,
  since: string,
): CompiledQuery {
  const columns = { base_url: baseUrl, partner_id: partnerId, since }
  return db
    .insertInto('sync_source')
    .values({ name: sourceRow, ...columns })
    .onConflict((c) => c.column('name').doUpdateSet(columns))
    .compile()
}

/** The earliest `updated_after` that the source accepts. null if it hasn't refused any so far. */
export async function readListsFrom(warehouse: WaryReader): Promise<string | null> {
  if (!(await warehouse.has('sync_source'))) return null
  // All columns, because commands that only read may meet warehouses of an older program, which lack some.
  const row = await warehouse.read((db) =>
    db.selectFrom('sync_source').selectAll().where('name', '=', sourceRow).executeTakeFirst(),
  )
  return row?.lists_from ?? null
}

export function storeListsFrom({ db }: Warehouse, lists_from: string): CompiledQuery {
  return db
    .insertInto('sync_source')
    .values({ name: sourceRow, lists_from })
    .onConflict((c) => c.column('name').doUpdateSet({ lists_from }))
    .compile()
}
