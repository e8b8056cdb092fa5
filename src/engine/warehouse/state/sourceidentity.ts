/*
 * A warehouse belongs to one source, which the table sync_source names. Records of two sources share ids, so rows of
 * one would pass for rows of the other, and every count could agree by chance. No other file's statements read or write
 * that table.
 */
import type { CompiledQuery } from 'kysely'
import { Stop } from '../../base/errors.js'
import type { SourceAddress } from '../../config/sourceaddress.js'
import { type StateRows, stateTables } from '../../model/state.js'
import type { Db, WaryReader } from '../database.js'
import { storedRow } from './storedrow.js'

/** The row's only key. */
const name = 'source'

type Source = Readonly<StateRows['sync_source']>

/** Its row; undefined in a new warehouse. Columns that a warehouse of an older version lacks are null. */
export async function readSource(warehouse: WaryReader): Promise<Source | undefined> {
  if (!(await warehouse.has('sync_source'))) return undefined
  const row = await warehouse.read((db) =>
    db.selectFrom('sync_source').selectAll().where('name', '=', name).executeTakeFirst(),
  )
  return row && storedRow<Source>(stateTables.sync_source, row)
}

/** Stores these columns, and leaves the others. */
export const storeSource = (db: Db, columns: Partial<Omit<Source, 'name'>>): CompiledQuery =>
  db
    .insertInto('sync_source')
    .values({ name, ...columns })
    .onConflict((c) => c.column('name').doUpdateSet(columns))
    .compile()

interface SourceIdentity extends SourceAddress {
  readonly since: string | null
}

/** undefined if no run has stored one: a new warehouse. */
export async function readSourceIdentity(warehouse: WaryReader): Promise<SourceIdentity | undefined> {
  const { base_url: baseUrl, partner_id: partnerId, since } = (await readSource(warehouse)) ?? {}
  return baseUrl && partnerId != null ? { baseUrl, partnerId, since: since ?? null } : undefined
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
export const storeSourceIdentity = (
  db: Db,
  { baseUrl, partnerId }: SourceAddress,
  since: string,
): CompiledQuery => storeSource(db, { base_url: baseUrl, partner_id: partnerId, since })

/** The earliest `updated_after` that the source accepts. null if it hasn't refused any so far. */
export const readListsFrom = async (warehouse: WaryReader): Promise<string | null> =>
  (await readSource(warehouse))?.lists_from ?? null
