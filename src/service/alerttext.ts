/* Every sentence that alerts send. Used by incidents.ts, wholetrouble.ts and message.ts. */
import type { Int64 } from '../../schema/resource.js'
import type { AlertKind } from '../config/config.js'
import { plural } from '../format.js'

interface Site {
  readonly tenantId: Int64
  readonly resource: string
}

/** What to do about an incident. */
export function adviceOf(kind: AlertKind, { tenantId, resource }: Site): string {
  const named = `--tenant ${tenantId} --resource ${resource}`
  switch (kind) {
    case 'failed':
      return 'The next run tries again. Type shopsync check to see what is wrong'
    case 'unproven':
      return `The next run looks again. If it stays so, type shopsync reconcile ${named}`
    case 'stale':
      return `See whether cron or shopsync schedule still runs; type shopsync sync ${named}`
    case 'deletes_unchecked':
      return `See whether the nightly job still runs; type shopsync reconcile ${named}`
    case 'revoked':
      return `Ask its owner for a grant, put it into sync.exceptTenants, or type shopsync forget --tenant ${tenantId}`
    case 'drift':
      return 'Nothing is lost: fields are in _extra. See the table sync_drift; resources.NAME.columns gives a field a column'
    case 'quarantine':
      return `Type shopsync quarantine list ${tenantId === 0 ? `--resource ${resource}` : named}`
    default:
      return kind satisfies never
  }
}

/** One line: which cursor, and what of it. */
export function cursorMessage(
  { tenant_id, resource }: { readonly tenant_id: Int64; readonly resource: string },
  found: string | null,
): string {
  const words = (found ?? 'no reason given').replaceAll(/\s*\n\s*/g, ' ')
  return tenant_id === 0 ? `${resource}: ${words}` : `tenant ${tenant_id}, ${resource}: ${words}`
}

/** The first of many, and how many there are. */
export function listText(items: readonly string[], most = 5): string {
  const shown = items.slice(0, most).join(', ')
  return items.length > most ? `${shown} and ${items.length - most} more` : shown
}

const shownIncidents = 3

/** The line that a chat shows: what opened or is over, in which warehouse. */
export function headline(
  type: 'opened' | 'resolved',
  incidents: readonly { readonly kind: string; readonly message: string }[],
  warehouse: string,
): string {
  const words = type === 'opened' ? 'needs somebody' : 'is over'
  const shown = incidents.slice(0, shownIncidents).map(({ kind, message }) => `${kind}: ${message}`)
  const more = incidents.length - shownIncidents
  const rest = more > 0 ? ` … and ${plural(more, 'incident')} more` : ''
  return `shopsync, ${warehouse}: ${words}: ${shown.join(' | ')}${rest}`.replaceAll(/\s+/g, ' ')
}

/** What the test message says. */
export const testText = (warehouse: string): string =>
  `shopsync, ${warehouse}: this is a test of its alerts; nothing needs anybody`
