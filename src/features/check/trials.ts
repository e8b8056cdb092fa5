/*
 * What the trials of `shopsync check` may find. check/work.ts and access.ts run them; src/features/check/words.ts words
 * them.
 */
import type { Int64 } from '../../../schema/resource.js'
import { bugExitCode, isExpected } from '../../engine/base/errors.js'
import type { SourceAddress } from '../../engine/config/sourceaddress.js'
import type { SourceStats } from '../../engine/source/source.js'
import type { Interference } from '../../engine/warehouse/dialect.js'
import type { FailedWork } from '../../engine/warehouse/state/failedworks.js'
import type { ViewTrouble } from '../../engine/warehouse/views/viewstore.js'
import type { Probe, ProbeChange } from './probe.js'

type Facts =
  | { readonly of: 'configuration'; readonly file: string }
  | { readonly of: 'environment'; readonly variables: readonly string[] }
  /** `from`: the setting or variable with the proxy. */
  | { readonly of: 'proxy'; readonly label: string; readonly from: string }
  | { readonly of: 'credentials'; readonly granted: number; readonly window: SourceStats['window'] }
  /** How many milliseconds this machine is ahead of the API; undefined if the API sends no Date. */
  | { readonly of: 'clock'; readonly skew: number | undefined }
  /** The list of authorizations is shorter than its total, or can't be read completely. */
  | { readonly of: 'authorizations'; readonly shown: number; readonly total: number | undefined }
  /** The warehouse knows the tenant, but it isn't granted. */
  | { readonly of: 'revoked'; readonly tenantId: Int64 }
  | { readonly of: 'grant'; readonly tenantId: Int64; readonly granted: readonly Int64[] }
  /** `readable`: what the API shows of one resource; undefined if there is no resource to request. */
  | {
      readonly of: 'tenant'
      readonly tenantId: Int64
      readonly readable: { readonly resource: string; readonly records: number } | undefined
    }
  /** How many resources of one tenant answer, and which are not offered. */
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
  /** The warehouse belongs to a different source than the configured one. */
  | { readonly of: 'belonging'; readonly owner: SourceAddress; readonly asked: SourceAddress }
  | { readonly of: 'probe'; readonly probe: Probe; readonly changes: readonly ProbeChange[] }
  | {
      readonly of: 'warehouse'
      readonly where: string
      readonly changes: number
      /** That there is none yet. */
      readonly absent: string | undefined
    }
  /** Columns that stay hidden, although the preset of this version keeps them. */
  | { readonly of: 'held columns'; readonly columns: readonly string[] }
  /** What others made or set on a table. */
  | { readonly of: 'table'; readonly interference: Interference }
  /** The database can't hold every character. */
  | { readonly of: 'encoding'; readonly encoding: string }
  /** The views for analysts can't be made; runs go on without them. */
  | { readonly of: 'views'; readonly trouble: ViewTrouble }
  | {
      readonly of: 'view changes'
      readonly changes: readonly { readonly table: string; readonly what: string }[]
      readonly autoMigrate: boolean
    }
  /** A role that sees more than it was granted, or nothing. null: what concerns all roles. */
  | { readonly of: 'reader'; readonly role: string | null; readonly trouble: ViewTrouble }
  /** The last attempt at a snapshot or report failed, or at what runs after a run. */
  | { readonly of: 'work'; readonly work: FailedWork }
  /** A resource with a target that runs don't sync. */
  | {
      readonly of: 'target'
      readonly resource: string
      readonly path: string
      readonly isDisabled: boolean
    }
  /** A tenant with targets of its own that isn't granted, or was forgotten. `granted`: the others. */
  | { readonly of: 'target tenant'; readonly tenantId: Int64; readonly granted: readonly Int64[] }
  /** A scheduled job works on what is due, but there are no targets. */
  | { readonly of: 'due job'; readonly job: string; readonly found: string; readonly hint: string }
  /** A test message to a rule of alerts, or a call to a heartbeat. */
  | { readonly of: 'alert'; readonly whom: string; readonly found: string }
  /** A trial that was wanted but couldn't be made. */
  | { readonly of: 'untried'; readonly what: string; readonly found: string; readonly hint: string }
  /** The address to which the source delivers its events. */
  | { readonly of: 'webhook'; readonly found: string; readonly hint: string | null }
  /** What to register there. */
  | { readonly of: 'event names'; readonly names: readonly string[] }
  | { readonly of: 'failure'; readonly what: string; readonly error: unknown }

/** One trial and its outcome. `exitCode`: 0 if all is well or only worth knowing, otherwise the command's exit code. */
export type Trial = Facts & { readonly exitCode: 0 | 1 | 2 | 3 | 70 }

export const failure = (what: string, error: unknown, exitCode: 1 | 2 | 3): Trial => ({
  of: 'failure',
  what,
  error,
  exitCode: isExpected(error) ? exitCode : bugExitCode,
})

/** A fault of ours comes first, then a wrong configuration, then what keeps a run from starting, then the rest. */
export const worstExit = (checks: readonly Trial[]): number =>
  [bugExitCode, 2, 3, 1].find((code) => checks.some(({ exitCode }) => exitCode === code)) ?? 0
