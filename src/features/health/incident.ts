import type { Int64 } from '../../../schema/resource.js'
import type { AlertKind } from './alertsettings.js'

/** How long an incident lasts; see the column `lasts` of sync_alerts. */
export type Lasting = 'state' | 'asked' | 'reconcile' | 'run' | 'moment'

export interface Incident {
  readonly kind: AlertKind
  /** 0: the whole run. */
  readonly tenantId: Int64
  /** Empty: all resources. */
  readonly resource: string
  readonly since: string
  readonly cause: string | null
  readonly message: string
  readonly advice: string
  readonly lasts: Lasting
}
