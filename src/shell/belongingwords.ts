import { adoptionHint, sourceLabel } from '../engine/warehouse/sourceidentity.js'

/** Shown for a warehouse whose source isn't the one that the configuration names. */
export const foreignAdvice = `The configuration names a different source, so runs are refused. ${adoptionHint}`

/** The source of a warehouse, as the documents of commands have it. */
interface Owner {
  readonly base_url: string
  readonly partner_id: string
  readonly configured: boolean
}

export const ownerText = ({ base_url: baseUrl, partner_id: partnerId }: Owner): string =>
  `Source: ${sourceLabel({ baseUrl, partnerId })}`

/** Empty unless the configuration names a different source. */
export const foreignWarning = (owner: Owner | null): string =>
  owner === null || owner.configured ? '' : `✗ ${ownerText(owner)}. ${foreignAdvice}`
