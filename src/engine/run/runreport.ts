/*
 * What a run is asked for and what it reports: the types of requests, of the documents that commands print, and of the
 * observer. The command line and every part of the sync use them.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Reason } from '../base/reasons.js'
import type { Verdict } from '../walk/verdict.js'

export type Mode =
  | 'sync'
  | 'full'
  | 'backfill'
  | 'reconcile'
  | 'verify'
  | 'snapshot'
  | 'report'
  | 'job'
  | 'events'

/** What a reconcile has found and repaired in one cursor. */
export interface Reconciled {
  /** By counts at cut points, or by a list of every record: whichever costs fewer requests. */
  readonly method: 'counting' | 'listing'
  /** Records that the warehouse lacked, or had in an older version. */
  readonly stored: number
  /** Rows that were marked deleted, because the source no longer has their record. */
  readonly deleted: number
  /** Rows that went back to an older version, because the source did. */
  readonly went_back: number
  /** Places at which the list shows a record again, and records that it counts and never shows: not compared. */
  readonly listed_twice: number
  readonly not_shown: number
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
  /** Which step of a job it belongs to, counted from 1; 1 elsewhere. */
  readonly step: number
  readonly status: 'ok' | 'failed' | 'unavailable' | 'skipped'
  readonly completeness: Verdict
  /** null where nothing is odd. */
  readonly reason: Reason | null
  readonly watermark: string | null
  readonly requests: number
  readonly records: number
  /** Those that were new to the warehouse, or other than it had them; the rest was read again. */
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
  readonly status: 'ok' | 'partial' | 'failed'
  readonly started_at: string
  readonly finished_at: string
  readonly requests: number
  readonly rate_limited: number
  readonly retries: number
  readonly rows_upserted: number
  readonly rows_deleted: number
  readonly quarantined: number
  /** What concerns the whole run; null where nothing does. */
  readonly reason: Reason | null
  readonly cursors: readonly CursorReport[]
}

/** Tells people of one event, with the fields that the log keeps of it. */
export type Note = (message: string, fields: Record<string, unknown>) => void

/** What a run tells while it works. The progress display and the log listen. */
export interface Observer {
  planned?(tenants: number, cursors: number): void
  /** The work on a cursor begins. */
  begun?(cursor: { readonly tenantId: Int64; readonly resource: string }): void
  /** Work that is no cursor's: so many of `total` are done. */
  step?(what: string, done: number, total: number): void
  page?(event: {
    tenantId: Int64
    resource: string
    /** Records of this page. */
    records: number
    /** Those that were new to the warehouse, or other than it had them. */
    changed: number
    /** Records that the list holds, by the source's count. */
    expected: number
    /** Records of the list that were read so far. */
    done: number
  }): void
  cursor?(report: CursorReport): void
  /** Something that happened and needs nobody, since the work goes on as it should: a step back, unknown fields. */
  notice?: Note
  /** Something that somebody should act on, and that nothing else says as loudly: a revoked tenant, rows that vanished. */
  warning?: Note
  /** Another run holds the warehouse; so many milliseconds are left to wait for its end. */
  waiting?(who: string, milliseconds: number): void
}

/** Which cursors are meant, after configuration, flags and job file are joined. `null` means all. */
export interface CursorChoice {
  readonly tenants: readonly Int64[] | null
  readonly resources: readonly string[] | null
  /** The tenants were named by --tenant, by somebody who wants to know where that cannot be. */
  readonly isTyped?: boolean
}

/** What a run is to do. */
export interface RunRequest extends CursorChoice {
  readonly mode: Mode
  readonly job: string | null
  /** Reconcile: list every record, whatever the counts say. */
  readonly full?: boolean
  /** Reconcile: mark rows as deleted, however many of them have no record any more. */
  readonly acceptDeletes?: boolean
  /** Backfill: half-open ranges of `updated_at`. */
  readonly ranges?: readonly TimeRange[]
}

/** From an instant up to, and not including, another; canonical timestamps. */
export interface TimeRange {
  readonly from: string
  readonly to: string
}
