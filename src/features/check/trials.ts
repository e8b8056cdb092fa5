/*
 * What the trials of `shopsync check` may find. check/work.ts and access.ts make them, src/features/check/words.ts puts them into
 * words.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { SourceAddress } from '../../engine/config/sourceaddress.js'
import type { SourceStats } from '../../engine/source/source.js'
import type { FailedWork } from '../../engine/warehouse/failedworks.js'
import type { ViewTrouble } from '../../engine/warehouse/viewstore.js'
import type { Probe, ProbeChange } from './probe.js'

type Facts =
  | { readonly of: 'configuration'; readonly file: string }
  | { readonly of: 'environment'; readonly variables: readonly string[] }
  /** `from`: the setting or variable that names the proxy. */
  | { readonly of: 'proxy'; readonly label: string; readonly from: string }
  | { readonly of: 'credentials'; readonly granted: number; readonly window: SourceStats['window'] }
  /** Milliseconds that this machine is ahead of the API; undefined when the API sends no Date. */
  | { readonly of: 'clock'; readonly skew: number | undefined }
  /** The list of authorizations is short of its total, or cannot be read whole. */
  | { readonly of: 'authorizations'; readonly shown: number; readonly total: number | undefined }
  /** The warehouse knows the tenant, and nobody grants it. */
  | { readonly of: 'revoked'; readonly tenantId: Int64 }
  | { readonly of: 'grant'; readonly tenantId: Int64; readonly granted: readonly Int64[] }
  /** `readable`: what the API shows of one resource; undefined when no resource is there to ask for. */
  | { readonly of: 'tenant'; readonly tenantId: Int64; readonly readable: Readable | undefined }
  /** So many resources of one tenant answer, and these are not offered. */
  | {
      readonly of: 'resources'
      readonly tenantId: Int64
      readonly answering: number
      readonly absent: readonly string[]
    }
  /** A resource that fails for a tenant whose other resources answer. */
  | {
      readonly of: 'resource'
      readonly resource: string
      readonly tenantId: Int64
      readonly error: unknown
    }
  /** The warehouse belongs to another source than the one that is configured. */
  | { readonly of: 'belonging'; readonly owner: SourceAddress; readonly asked: SourceAddress }
  | { readonly of: 'probe'; readonly probe: Probe; readonly changes: readonly ProbeChange[] }
  | {
      readonly of: 'warehouse'
      readonly where: string
      readonly changes: number
      readonly autoMigrate: boolean
    }
  /** The views for analysts cannot be made; runs go on without them. */
  | { readonly of: 'views'; readonly trouble: ViewTrouble }
  | {
      readonly of: 'view changes'
      readonly changes: readonly { readonly table: string; readonly what: string }[]
      readonly autoMigrate: boolean
    }
  /** The snapshot or the report failed when it was last tried. */
  | { readonly of: 'work'; readonly work: FailedWork }
  /** A test message to a rule of alerts, or a call of a heartbeat. */
  | { readonly of: 'alert'; readonly whom: string; readonly found: string }
  /** The address at which the source is to deliver its events. */
  | { readonly of: 'webhook'; readonly found: string; readonly hint: string | null }
  /** What is to be registered there. */
  | { readonly of: 'event names'; readonly names: readonly string[] }
  | { readonly of: 'failure'; readonly what: string; readonly error: unknown }

interface Readable {
  readonly resource: string
  readonly records: number
}

/** One trial and its outcome. `exitCode`: 0 when all is well, else that of the command. */
export type Trial = Facts & { readonly exitCode: 0 | 1 | 2 | 3 }

export const failure = (what: string, error: unknown, exitCode: 1 | 2 | 3): Trial => ({
  of: 'failure',
  what,
  error,
  exitCode,
})

/** A wrong configuration is told first, then what keeps a run from starting, then the rest. */
export const worstExit = (checks: readonly Trial[]): number =>
  [2, 3, 1].find((code) => checks.some(({ exitCode }) => exitCode === code)) ?? 0
