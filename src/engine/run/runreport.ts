/*
 * What a run is asked to do and what it reports: the types of requests, of the documents that commands print, and of
 * the observer. The command line and every part of the sync use them.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Reason } from '../base/reasons.js'
import type { Verdict } from '../list/verdict.js'

export type Mode =
  | 'sync'
  | 'full'
  | 'backfill'
  | 'reconcile'
  | 'verify'
  | 'snapshot'
  | 'report'
  | 'job'
  | 'whole'
  | 'events'

/** The mode as a person types it. */
export const modeText = <T extends string | null>(mode: T): T | 'sync --full' =>
  mode === 'full' ? 'sync --full' : mode

/** What a reconcile found and repaired in one cursor. */
export interface Reconciled {
  /** By counts at cut points, or by a list of every record, whichever costs fewer requests. */
  readonly method: 'counting' | 'listing'
  /** Records that the warehouse didn't have, or had in an older version. */
  readonly stored: number
  /** Rows marked deleted because the source no longer has their record. */
  readonly deleted: number
  /** Rows that went back to an older version because the source did. */
  readonly went_back: number
  /** Places where the list shows a record again, and records that it counts but never shows: not compared. */
  readonly listed_twice: number
  readonly not_shown: number
  /** Records that have left the list and its total but can be read by id, and the ids of the first hundred. */
  readonly left_the_list: number
  readonly left_ids: readonly Int64[]
  /** Records at the source, and live rows, at the end. */
  readonly source: number
  readonly warehouse: number
  /** Cut points at which counts were compared, and ranges that were listed. */
  readonly counted: number
  readonly listed: number
}

/** One cursor in the JSON document of a run. */
export interface CursorReport {
  readonly tenant_id: Int64
  readonly resource: string
  /** The job's step that it belongs to, from 1. Always 1 outside jobs. */
  readonly step: number
  readonly status: 'ok' | 'failed' | 'unavailable' | 'skipped'
  readonly completeness: Verdict
  /** null if there is nothing unusual. */
  readonly reason: Reason | null
  readonly watermark: string | null
  readonly requests: number
  readonly records: number
  /** Those that were new to the warehouse or different from what it had. The rest were read again. */
  readonly records_changed: number
  readonly rows_upserted: number
  readonly rows_deleted: number
  readonly error: string | null
  readonly reconciled?: Reconciled
}

/** The JSON document of `sync`, `backfill`, `reconcile` and `run`. */
export interface RunReport {
  readonly run_id: string
  readonly job: string | null
  readonly mode: Mode
  /** The part of the tenants that it worked on, such as `3/8`. Absent: all. */
  readonly shard?: string | undefined
  readonly status: 'ok' | 'partial' | 'failed'
  readonly started_at: string
  readonly finished_at: string
  readonly requests: number
  readonly rate_limited: number
  readonly retries: number
  readonly rows_upserted: number
  readonly rows_deleted: number
  readonly quarantined: number
  /** A problem with the whole run; null if there is none. */
  readonly reason: Reason | null
  /** The full name of the warehouse, only if it was made for this run. */
  readonly warehouse_made?: string | undefined
  readonly cursors: readonly CursorReport[]
}

/** Reports one event, with the fields that the log keeps. */
export type Note = (message: string, fields: Record<string, unknown>) => void

/** What a run reports while it works. The progress display and the log listen. */
export interface Observer {
  planned?(tenants: number, cursors: number): void
  begun?(cursor: { readonly tenantId: Int64; readonly resource: string }): void
  /** Work that doesn't belong to a cursor: `done` of `total` are done. */
  step?(what: string, done: number, total: number): void
  page?(event: {
    tenantId: Int64
    resource: string
    records: number
    /** Those that were new to the warehouse or different from what it had. */
    changed: number
    /** Records in the list, by the source's count. */
    expected: number
    /** Records of the list that have been read so far. */
    done: number
  }): void
  cursor?(report: CursorReport): void
  /** Something happened that needs no attention, since the work continues as it should: a step back, unknown fields. */
  notice?: Note
  /** Something that needs attention and that nothing else reports as prominently: a revoked tenant, vanished rows. */
  warning?: Note
  /** An error ended a part of the work, and the rest goes on. If it is one of ours, the command still ends with 70. */
  survived?(error: unknown, message: string, fields?: Record<string, unknown>): void
  /** Another run holds the warehouse. `milliseconds`: how much longer this run will wait for it. */
  waiting?(who: string, milliseconds: number): void
}

/** The selected cursors, after configuration, flags and job file are combined. `null` means all. */
export interface CursorChoice {
  readonly tenants: readonly Int64[] | null
  readonly resources: readonly string[] | null
  /** The tenants were named with --tenant, by a person who wants to know if that isn't possible. */
  readonly isTyped?: boolean
}

export interface RunRequest extends CursorChoice {
  readonly mode: Mode
  readonly job: string | null
  /** Reconcile: list every record, whatever the counts are. */
  readonly full?: boolean
  /** Reconcile: mark rows deleted, however many of them no longer have a record. */
  readonly acceptDeletes?: boolean
  /** Backfill: half-open ranges of `updated_at`. */
  readonly ranges?: readonly TimeRange[] | undefined
}

/** From an instant up to, but not including, another. Canonical timestamps. */
export interface TimeRange {
  readonly from: string
  readonly to: string
}
