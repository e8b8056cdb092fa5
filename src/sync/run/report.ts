import type { Int64 } from '../../../schema/resource.js'

/** What a walk can claim about its completeness (design: the walk). */
export type Verdict = 'proven' | 'repaired' | 'unproven'
export type Mode = 'sync' | 'full' | 'backfill' | 'reconcile' | 'verify'

/** What a reconcile has found and mended of one cursor. */
export interface Reconciled {
  /** By counts at cut points, or by listing every id: whichever costs fewer requests. */
  readonly method: 'counting' | 'listing'
  /** Records that the warehouse lacked, or had in an older version. */
  readonly stored: number
  /** Rows whose record is gone at the source. */
  readonly deleted: number
  /** Records at the source, and live rows, at the end. */
  readonly source: number
  readonly warehouse: number
  /** Cut points at which counts were compared, and ranges that were listed. */
  readonly counted: number
  readonly listed: number
}

/** One cursor in the JSON document of a run (contract: command line). */
export interface CursorReport {
  readonly tenant_id: Int64
  readonly resource: string
  readonly status: 'ok' | 'failed' | 'unavailable'
  readonly completeness: Verdict
  readonly watermark: string | null
  readonly requests: number
  readonly records: number
  readonly rows_upserted: number
  readonly rows_deleted: number
  readonly error: string | null
  readonly reconciled?: Reconciled
}

/** The JSON document of `sync`, `backfill`, `reconcile` and `run` (contract: command line). */
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
  readonly cursors: readonly CursorReport[]
}

/** What a run tells while it works; the progress display and the log listen. */
export interface Observer {
  planned?(tenants: number, cursors: number): void
  page?(event: {
    tenantId: Int64
    resource: string
    records: number
    rows: number
    expected: number
    done: number
  }): void
  cursor?(report: CursorReport): void
  /** Something a person should know: unknown fields, quarantined values, a revoked tenant, a step back. */
  notice?(message: string, fields: Record<string, unknown>): void
}

/** A choice of cursors: tenants and resources. `null` means all. */
export interface CursorChoice {
  readonly tenants: readonly Int64[] | null
  readonly resources: readonly string[] | null
}

/** What may be run, after configuration, flags and job file are joined. */
export interface RunRequest extends CursorChoice {
  readonly mode: Mode
  readonly job: string | null
  /** Reconcile: list every id, whatever the counts say. */
  readonly full?: boolean
  /** Reconcile: mark as deleted however many are gone. */
  readonly acceptDeletes?: boolean
  /** Backfill: half-open ranges of `updated_at`. */
  readonly ranges?: readonly TimeRange[]
}

/** From an instant up to, and not including, another; canonical timestamps. */
export interface TimeRange {
  readonly from: string
  readonly to: string
}
