/* Problems with a whole run, in words. Used by the output of commands and by the alerts. */
import { type Reason, reasons } from '../base/reasons.js'
import { isCut } from './ending.js'

/** What to do about a problem with the whole run. */
export const reasonAdvice: Partial<Record<Reason, string>> = {
  no_grants:
    "Ask the tenants' owners for authorizations, or ask the API's operator what happened to this partner; shopsync forget --tenant ID removes a tenant that will not come back",
  grants_incomplete:
    "No tenant is treated as revoked, and the next run asks again. If this persists, tell the API's operator",
  record_unstorable: 'Some authorizations cannot be read: see shopsync quarantine list',
}

/** A problem with the whole run, in one line. Empty if there is none. */
export function reasonText(reason: Reason | null): string {
  if (reason === null || reason === 'interrupted' || isCut(reason)) return ''
  const hint = reasonAdvice[reason]
  const found = reasons[reason]
  return `${found.charAt(0).toUpperCase()}${found.slice(1)}${hint === undefined ? '' : `. ${hint}`}`
}
