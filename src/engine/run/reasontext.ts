/* Problems with a whole run, in words. Used by the output of commands and by the alerts. */
import { type Reason, reasons } from '../base/reasons.js'

/** What to do about a problem with the whole run. */
export const reasonAdvice: Partial<Record<Reason, string>> = {
  no_grants:
    "Ask the tenants' owners for authorizations, or the API's operator what became of this partner; shopsync forget --tenant ID takes a tenant away that is not to come back",
  grants_incomplete:
    'Nobody is taken for revoked, and the next run asks again. If this stays so, tell the operator of the API',
  record_unstorable: 'Some authorizations cannot be read: see shopsync quarantine list',
}

/** A problem with the whole run, in one line. Empty if there is none. */
export function reasonText(reason: Reason | null): string {
  if (reason === null || reason === 'interrupted' || reason === 'time_limit') return ''
  const hint = reasonAdvice[reason]
  const found = reasons[reason]
  return `${found.charAt(0).toUpperCase()}${found.slice(1)}${hint === undefined ? '' : `. ${hint}`}`
}
