import type { Int64 } from '../../../schema/resource.js'
import type { AlertKind } from './alertsettings.js'

/** What needs attention: an entry of `incidents` in the document of `shopsync status` and in the body of an alert. */
export interface Incident {
  readonly kind: AlertKind
  /** null: the whole run. */
  readonly tenant_id: Int64 | null
  /** null: all resources. */
  readonly resource: string | null
  /** The shard whose run it concerns, such as `3/8`; absent or null: no shard's. */
  readonly shard?: string | null | undefined
  readonly since: string
  readonly message: string
  readonly advice: string
}

/** An incident as the warehouse remembers it: a row of sync_alerts (tables.ts). */
export interface KeptIncident extends Incident {
  readonly cause: string | null
  /** When it ends. */
  readonly lasts: 'state' | 'asked' | 'reconcile' | 'run' | 'moment'
  readonly run_id: string | null
  readonly opened_at: string | null
  readonly resolved_at: string | null
  /** By rule. */
  readonly told: Readonly<Record<string, Telling>>
}

/** When an incident was reported to a rule; `claimed`: since when a process has been about to report it. */
export interface Telling {
  readonly opened?: string | undefined
  readonly resolved?: string | undefined
  readonly claimed?: string | undefined
}

/** An incident that was just found. Without other facts, it concerns the whole run and lasts as long as the state. */
export const foundIncident = (
  found: Pick<Incident, 'kind' | 'since' | 'message' | 'advice'> & Partial<KeptIncident>,
): KeptIncident => ({
  tenant_id: null,
  resource: null,
  shard: null,
  cause: null,
  lasts: 'state',
  run_id: null,
  opened_at: null,
  resolved_at: null,
  told: {},
  ...found,
})

/** A problem of a whole run. */
export const isOfWhole = ({ tenant_id, resource, kind }: Incident): boolean =>
  kind === 'failed' && tenant_id === null && resource === null
