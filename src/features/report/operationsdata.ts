/*
 * The data of the operator's page, as plain values: src/features/report/read/readoperations.ts fills them, and
 * src/features/report/page/operationspage.ts shows them. Instants are canonical, in UTC.
 */
import type { BelongsTo } from '../../shell/belongingwords.js'
import type { Incident } from '../health/incident.js'
import type { PastRun } from '../runs/work.js'
import type { ResourceFreshnessStatus } from '../targets/freshnessplan.js'
import type { VerdictShown } from './data.js'

export interface ResourceFreshness {
  readonly resource: string
  readonly tenants: number
  readonly completeThrough: string | null
  readonly deletesCheckedAt: string | null
  readonly verdicts: Readonly<Record<VerdictShown, number>>
  readonly liveRows: number
  readonly quarantined: number
}

/** How the data arrived: the last thirty days of runs, and everything unusual. */
export interface OperationsData {
  readonly madeAt: string
  /** The warehouse's address without its password. */
  readonly warehouse: string
  readonly belongsTo: BelongsTo | null
  /** That there is no warehouse; undefined if there is one. */
  readonly absent?: string | undefined
  /** Nothing was ever synced: everything else is empty. */
  readonly isEmpty: boolean
  readonly incidents: readonly Incident[]
  /** Which lists may lack late records (`lateWords`). */
  readonly late: string
  /** When the list that has waited longest was last read completely; null if a list never was. */
  readonly oldestRead: string | null
  /** When the next job of `shopsync schedule` is due; null if none is planned. */
  readonly nextRun: string | null
  /** The tenants whose lists need attention, worst first, and how many there are in all. */
  readonly troubled: {
    readonly all: number
    readonly worst: readonly {
      readonly tenant: string
      readonly lists: number
      readonly failing: number
      readonly unproven: number
      readonly stale: number
      readonly completeThrough: string | null
    }[]
  }
  /** What events the source sent, one line each; empty if nobody ever listened. */
  readonly events: readonly string[]
  readonly days: readonly {
    readonly day: string
    readonly ok: number
    readonly partial: number
    readonly failed: number
    readonly requests: number
    readonly rateLimited: number
  }[]
  /** Newest first. */
  readonly runs: readonly PastRun[]
  readonly resources: readonly ResourceFreshness[]
  /** How fresh each resource with a target was in the last 24 hours; none without targets. */
  readonly targets: readonly ResourceFreshnessStatus[]
  /** Why lists wait longer than `polling.atLeast`, in words; empty while they don't. */
  readonly stretched: string
  readonly quarantine: readonly {
    readonly resource: string
    readonly reason: string
    readonly values: number
    readonly lastSeenAt: string
  }[]
  readonly drift: readonly {
    readonly resource: string
    readonly path: string
    readonly kind: string
    readonly example: string
    readonly firstSeenAt: string
  }[]
  /** How many kinds of drift there are; `drift` contains the newest. */
  readonly driftSeen: number
  /** How many were first seen after the first complete walk of their list. */
  readonly driftSince: number
}
