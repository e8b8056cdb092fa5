/* The source that a warehouse belongs to, as commands show it. */
import { type SourceAddress, sourceAddress } from '../engine/config/sourceaddress.js'
import type { WaryReader } from '../engine/warehouse/database.js'
import {
  adoptionHint,
  isSame,
  readSourceIdentity,
  sourceLabel,
} from '../engine/warehouse/state/sourceidentity.js'

/** Shown for a warehouse whose source isn't the one that the configuration names. */
export const foreignAdvice = `The configuration names a different source, so runs are refused. ${adoptionHint}`

/** The source that a warehouse belongs to, in the documents of commands. */
export interface BelongsTo {
  readonly base_url: string
  readonly partner_id: string
  readonly since: string | null
  /** false if the configuration names a different source: then every command that queries the API is refused. */
  readonly configured: boolean
}

/** null: no run has stored a source yet. */
export async function belongsTo(warehouse: WaryReader, asked: SourceAddress): Promise<BelongsTo | null> {
  const owner = await readSourceIdentity(warehouse)
  if (owner === undefined) return null
  const configured = isSame(owner, sourceAddress(asked))
  return { base_url: owner.baseUrl, partner_id: owner.partnerId, since: owner.since, configured }
}

export const ownerText = ({ base_url: baseUrl, partner_id: partnerId }: BelongsTo): string =>
  `Source: ${sourceLabel({ baseUrl, partnerId })}`

/** Empty unless the configuration names a different source. */
export const foreignWarning = (owner: BelongsTo | null): string =>
  owner === null || owner.configured ? '' : `✗ ${ownerText(owner)}. ${foreignAdvice}`
