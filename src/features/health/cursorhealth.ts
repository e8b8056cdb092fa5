/*
 * Whether a cursor needs attention, since when, and everything that is known about it. `status` prints it, alerts
 * remember when it changed, the metrics count it, and the report weighs it: no other place judges a cursor.
 */
import type { Int64 } from '../../../schema/resource.js'
import { ageOf, clocksApartMs, dayOfMonth, isOlderThan, joinedNames } from '../../engine/base/format.js'
import { fromMicros, toMicros } from '../../engine/base/timestamp.js'
import type { Db } from '../../engine/warehouse/database.js'
import type { CursorPart, Overdue, WantedCursors } from '../../engine/warehouse/state/cursors.js'

/** Every state of a cursor, in the order in which the metrics list them. */
export const cursorStates = [
  'ok',
  'stale',
  'failed',
  'unproven',
  'late',
  'unavailable',
  'never',
  'loading',
  'revoked',
  'excepted',
] as const

/** What is known about a cursor: an entry of `cursors` in the document of `shopsync status`. */
export interface CursorHealth {
  readonly tenant_id: Int64
  readonly resource: string
  /**
   * `never`: no run was complete; `loading`: neither, but a run is at work; `stale`: the last complete run is too long
   * ago; `late`: runs are complete, but records newer than `complete_through` may be missing, because some became visible
   * later than runs look back; otherwise the state after the last run.
   */
  readonly state: (typeof cursorStates)[number]
  readonly completeness: string | null
  /** Why, as a short code; null if nothing is unusual. */
  readonly reason: string | null
  readonly watermark: string | null
  readonly last_success_at: string | null
  /** Seconds since last_success_at; also null if that is in the future, so nobody knows. */
  readonly age_seconds: number | null
  /**
   * Live rows of the resource's own table according to the register; `verify` compares that with the rows themselves.
   */
  readonly rows: Int64
  readonly walk_under_way: boolean
  readonly last_error: string | null
  /** Records stamped ahead of the source's clock, and the newest of their stamps; null if there are none. */
  readonly stamps_ahead: { readonly records: Int64; readonly until: string } | null
  /** What is known to be unusual about the list (docs/guarantees.md, Premises); null if nothing is. */
  readonly odd: {
    /** How often the list shows a record again. */
    readonly listed_twice: number
    /** Records that it counts but never shows. */
    readonly not_shown: number
    /** Records that break every response that contains them, and between which times they are. */
    readonly unreadable: number
    readonly holes: readonly { readonly after: string; readonly until: string; readonly records: number }[]
    readonly not_newest_first: boolean
    readonly no_true_total: boolean
    readonly longer_without_filter: boolean
    /** Records that had left it at the last reconcile but could be read by id. */
    readonly left_the_list: number
  } | null
  /** Why the next syncs read the whole list once, after their other work; null if they don't. */
  readonly refill: string | null
  /** How far that has got; null if it hasn't started. */
  readonly refill_progress: { readonly read: number; readonly of: number } | null
  /** Every creation and update up to then is here. `_before`: its value before a late record set it back, otherwise null. */
  readonly complete_through: string | null
  readonly complete_through_before: string | null
  /** Every deletion up to then is here. */
  readonly deletes_checked_at: string | null
  /** Deletions were checked, but not within status.deletesUncheckedAfter. */
  readonly deletes_unchecked: boolean
}

/** When a cursor needs attention. */
export interface HealthRule {
  readonly nowMicros: bigint
  readonly staleAfterMs: number
  readonly deletesUncheckedAfterMs: number
  /** See `runningMs`. */
  readonly runningMs: number | null
  /** Whether any run is at work: a first load by shards takes more of them than run at once. Default: as `runningMs` says. */
  readonly isLoading?: boolean
}

const staleAfter = ({ staleAfterMs, runningMs }: HealthRule): number => Math.max(staleAfterMs, runningMs ?? 0)

/** What is asked about each cursor. */
export const healthColumns = [
  'status',
  'completeness',
  'reason',
  'watermark',
  'last_success_at',
  'last_error',
  'is_walking',
  'stamps_ahead',
  'stamps_ahead_until',
  'remembered',
  'refill',
  'live_rows',
  'complete_through',
  'complete_through_before',
  'deletes_checked_at',
] as const

/** A cursor as it is stored. */
export type SeenCursor = CursorPart<(typeof healthColumns)[number]>

/* The judgement. */

/** Since when the last complete run is too long ago; null if it isn't. A wrong clock's stamp hides its true start. */
export const staleSince = (
  { status, last_success_at: last }: Pick<SeenCursor, 'status' | 'last_success_at'>,
  rule: HealthRule,
): string | null => (status === 'unavailable' ? null : overdueSince(last, rule, staleAfter(rule)))

/** Since when deletions have not been checked for too long; null if they have, or never were. */
export const uncheckedSince = (
  { deletes_checked_at: checked }: Pick<SeenCursor, 'deletes_checked_at'>,
  rule: HealthRule,
): string | null => overdueSince(checked, rule, rule.deletesUncheckedAfterMs)

function overdueSince(moment: string | null, { nowMicros }: HealthRule, milliseconds: number): string | null {
  if (moment === null || !isOlderThan(moment, nowMicros, milliseconds)) return null
  const stamp = toMicros(moment)
  return fromMicros(stamp > nowMicros ? nowMicros : stamp + BigInt(milliseconds) * 1000n)
}

/**
 * Whether late records have set a cursor back by longer than it may be stale, and no reading of the whole list has
 * followed.
 */
const isSetBack = (
  { complete_through: through, complete_through_before: before }: Judged,
  rule: HealthRule,
): boolean => before !== null && through !== null && (ageOf(through, rule.nowMicros) ?? 0) > staleAfter(rule)

type Judged = Pick<
  SeenCursor,
  'status' | 'completeness' | 'last_success_at' | 'complete_through' | 'complete_through_before'
>

/** The state of a cursor of a tenant that should be walked; undefined: no run has begun it. */
export function cursorState(row: Judged | undefined, rule: HealthRule): CursorHealth['state'] {
  const unread = (rule.isLoading ?? rule.runningMs !== null) ? 'loading' : 'never'
  if (row === undefined) return unread
  if (row.status === 'unavailable') return 'unavailable'
  if (row.status === 'failed') return 'failed'
  if (row.last_success_at !== null && staleSince(row, rule) !== null) return 'stale'
  if (row.completeness === 'unproven') return 'unproven'
  if (row.last_success_at === null) return unread
  return isSetBack(row, rule) ? 'late' : 'ok'
}

/**
 * `notes may lack late records since Nov 25`, with the year if that isn't this one; empty if no list does. All pages and
 * commands say it in these words.
 */
export function lateWords(
  cursors: readonly Pick<CursorHealth, 'resource' | 'state' | 'complete_through' | 'last_success_at'>[],
): string {
  const late = cursors.filter(({ state }) => state === 'late')
  const [since] = late.flatMap(({ complete_through }) => complete_through ?? []).toSorted()
  if (since === undefined) return ''
  const names = [...new Set(late.map(({ resource }) => resource))]
  const year = since.slice(0, 4)
  // Their runs are complete, so the last ones were just now.
  const isThis = late.some(({ last_success_at: last }) => last?.startsWith(year))
  return `${joinedNames(names)} may lack late records since ${dayOfMonth(since)}${isThis ? '' : `, ${year}`}`
}

const troubled: ReadonlySet<CursorHealth['state']> = new Set(['stale', 'failed', 'unproven', 'never'])

/** Whether a cursor's runs fail, or don't happen. */
export const isStateTrouble = ({ state }: Pick<CursorHealth, 'state'>): boolean => troubled.has(state)

/** Whether a cursor needs attention. */
export const isTrouble = (cursor: CursorHealth): boolean => isStateTrouble(cursor) || cursor.deletes_unchecked

/** The same for the database, which finds the cursors that may need attention. */
export const overdueFor = (rule: HealthRule): Overdue => {
  const ago = (milliseconds: number): string => fromMicros(rule.nowMicros - BigInt(milliseconds) * 1000n)
  return {
    read: ago(staleAfter(rule)),
    checked: ago(rule.deletesUncheckedAfterMs),
    ahead: ago(-clocksApartMs),
  }
}

/* The tenants. */

/** A tenant, and whether it should be walked. */
export interface TenantStanding {
  readonly tenant_id: Int64
  readonly revoked_at: string | null
  /** In sync.exceptTenants: not walked, and not reported as a problem. */
  readonly excepted: boolean
}

export const tenantRows = (db: Db) =>
  db.selectFrom('tenants').select(['tenant_id', 'revoked_at']).orderBy('tenant_id')

/** The chosen ones among them. `tenants`: null for all. */
export const tenantStandings = (
  rows: readonly Omit<TenantStanding, 'excepted'>[],
  { tenants, exceptTenants }: Pick<WantedCursors, 'tenants' | 'exceptTenants'>,
): TenantStanding[] =>
  rows
    .filter(({ tenant_id }) => tenants?.includes(tenant_id) ?? true)
    .map((row) => ({ ...row, excepted: exceptTenants.includes(row.tenant_id) }))

/** A tenant whose grant was revoked, and that isn't excepted. */
export const isLostTenant = ({ revoked_at, excepted }: TenantStanding): boolean =>
  revoked_at !== null && !excepted
