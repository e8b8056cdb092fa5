/*
 * Whether a cursor needs attention, since when, and everything that is known about it. `status` prints it, alerts
 * remember when it changed, the metrics count it, and the report weighs it: no other place judges a cursor.
 */
import type { ExpressionBuilder } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { ageOf, clocksApartMs, dayOfMonth, isOlderThan, joinedNames } from '../../engine/base/format.js'
import { fromMicros, toMicros } from '../../engine/base/timestamp.js'
import type { Database, Db } from '../../engine/warehouse/database.js'
import { type WantedCursors, wantedCursors } from '../../engine/warehouse/state/wantedcursors.js'

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

/** Without the walks: a walk in progress is long, and there may be thousands. */
export const cursorRows = (db: Db) =>
  db
    .selectFrom('sync_cursors')
    .select(['tenant_id', 'resource', 'status', 'completeness', 'reason', 'watermark', 'last_success_at'])
    .select(['last_error', 'stamps_ahead', 'stamps_ahead_until', 'remembered'])
    .select(['complete_through', 'complete_through_before', 'deletes_checked_at'])
    .select((eb) => eb('walk', 'is not', null).as('is_walking'))

/** A cursor as it is stored. */
export type CursorRow = Awaited<ReturnType<ReturnType<typeof cursorRows>['execute']>>[number]

/* The judgement. */

/** Since when the last complete run is too long ago; null if it isn't. A wrong clock's stamp hides its true start. */
export const staleSince = (
  { status, last_success_at: last }: Pick<CursorRow, 'status' | 'last_success_at'>,
  rule: HealthRule,
): string | null => (status === 'unavailable' ? null : overdueSince(last, rule, staleAfter(rule)))

/** Since when deletions have not been checked for too long; null if they have, or never were. */
export const uncheckedSince = (
  { deletes_checked_at: checked }: Pick<CursorRow, 'deletes_checked_at'>,
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
  CursorRow,
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

/* The same for the database, where it would take too long to read every row. */

/** `isOlderThan` of the column. */
function isOld(
  eb: ExpressionBuilder<Database, 'sync_cursors'>,
  column: 'last_success_at' | 'deletes_checked_at',
  { nowMicros }: HealthRule,
  milliseconds: number,
) {
  const ago = (length: number): string => fromMicros(nowMicros - BigInt(length) * 1000n)
  return eb.or([eb(column, '<', ago(milliseconds)), eb(column, '>=', ago(-clocksApartMs))])
}

/** The cursors that may need attention: after most runs a few, of which a warehouse may have hundreds of thousands. */
export const troubledCursors = (db: Db, rule: HealthRule) =>
  cursorRows(db).where((eb) =>
    eb.or([
      eb('status', '=', 'failed'),
      eb('completeness', '=', 'unproven'),
      isOld(eb, 'last_success_at', rule, staleAfter(rule)),
      isOld(eb, 'deletes_checked_at', rule, rule.deletesUncheckedAfterMs),
    ]),
  )

/** Wanted cursors in groups that are judged alike, with the earliest times of each. */
export const alikeCursors = (db: Db, wanted: WantedCursors, rule: HealthRule) =>
  wantedCursors(db, wanted)
    .select((eb) => {
      const group = (column: 'last_success_at' | 'deletes_checked_at', milliseconds: number) =>
        eb
          .case()
          .when(column, 'is', null)
          .then(eb.lit(0))
          .when(isOld(eb, column, rule, milliseconds))
          .then(eb.lit(1))
          .else(eb.lit(2))
          .end()
      const setBackFrom = eb
        .case()
        .when('complete_through', '<', fromMicros(rule.nowMicros - BigInt(staleAfter(rule)) * 1000n))
        .then(eb.ref('complete_through_before'))
        .end()
      return [
        'resource',
        'status',
        'completeness',
        group('last_success_at', staleAfter(rule)).as('read'),
        group('deletes_checked_at', rule.deletesUncheckedAfterMs).as('checked'),
        eb(setBackFrom, 'is not', null).as('is_set_back'),
        eb.fn.min<string | null>('complete_through').as('complete_through'),
        eb.fn.min<string | null>(setBackFrom).as('complete_through_before'),
        eb.fn.countAll<Int64>().as('amount'),
        eb.fn.min<string | null>('watermark').as('watermark'),
        eb.fn.min<string | null>('last_success_at').as('last_success_at'),
        eb.fn.min<string | null>('deletes_checked_at').as('deletes_checked_at'),
      ]
    })
    .groupBy(['resource', 'status', 'completeness', 'read', 'checked', 'is_set_back'])
    .execute()

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
