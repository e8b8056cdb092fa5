/* The tables of `shopsync status`: a line a tenant, and a line a resource. Used by status.ts. */
import type { Int64 } from '../../../schema/resource.js'
import { atSecond, count, plural, right, span, table } from '../../format.js'
import {
  type CursorStatus,
  isLostTenant,
  isTrouble,
  type StatusReport,
  type TenantStatus,
} from '../../sync/ask/status.js'

const ageOf = (cursors: readonly CursorStatus[]): string => {
  const ages = cursors.map((cursor) => cursor.age_seconds).filter((age) => age !== null)
  return ages.length === 0 ? 'never' : span(Math.max(...ages) * 1000)
}

/** The latest watermark: the time of the newest record that the warehouse has. */
const newest = (cursors: readonly CursorStatus[]): string => {
  const latest = cursors.reduce(
    (mark, { watermark }) => (watermark && watermark > mark ? watermark : mark),
    '',
  )
  return latest === '' ? '-' : atSecond(latest)
}

const states = (cursors: readonly CursorStatus[]): string => {
  const amounts = new Map<string, number>()
  for (const { state } of cursors) amounts.set(state, (amounts.get(state) ?? 0) + 1)
  if (amounts.size === 1) return [...amounts.keys()].join()
  return [...amounts].map(([state, amount]) => `${amount} ${state}`).join(', ')
}

const rowsOf = (cursors: readonly CursorStatus[]): string =>
  count(cursors.reduce((total, cursor) => total + Number(cursor.rows), 0))

const perGroup = (title: string, rows: readonly string[][]): string =>
  rows.length === 0
    ? ''
    : table(
        [
          title,
          'oldest',
          'newest record',
          'complete through',
          'deletes checked',
          right('live records'),
          'state',
        ],
        rows,
      )

/** Tenants that are well fit on a screen; of more of them, only how many they are is told. */
const shownTenants = 40

/** The tenants, those that need somebody first. */
export function perTenant(
  { tenants, cursors }: StatusReport,
  names: Readonly<Record<string, string>>,
): string {
  const byTenant = new Map<Int64, CursorStatus[]>(tenants.map(({ tenant_id }) => [tenant_id, []]))
  for (const cursor of cursors) byTenant.get(cursor.tenant_id)?.push(cursor)
  const ofTenant = ({ tenant_id }: TenantStatus): readonly CursorStatus[] => byTenant.get(tenant_id) ?? []
  const isWell = (tenant: TenantStatus): boolean => !isLostTenant(tenant) && !ofTenant(tenant).some(isTrouble)
  const sorted = [...tenants.filter((tenant) => !isWell(tenant)), ...tenants.filter(isWell)]
  const rows = sorted.slice(0, shownTenants).map((tenant) => {
    const { tenant_id, revoked_at, excepted } = tenant
    const own = ofTenant(tenant)
    const access = revoked_at === null ? '' : `access revoked ${atSecond(revoked_at)}`
    const state = excepted ? 'left out by sync.exceptTenants' : access || states(own)
    const name = [tenant_id, names[String(tenant_id)]].join(' ').trim()
    return [name, ageOf(own), newest(own), ...completeness(own), rowsOf(own), state]
  })
  const left = sorted.slice(shownTenants)
  const ill = left.filter((tenant) => !isWell(tenant)).length
  const rest =
    left.length === 0
      ? ''
      : `\n… and ${plural(left.length, 'tenant')} more, ${ill === 0 ? 'all of them well' : `${ill} of which need somebody`}: shopsync status --json`
  return `${perGroup('tenant', rows)}${rest}`
}

/** Its tenant is not walked. */
const isOutside = ({ state }: CursorStatus): boolean => state === 'revoked' || state === 'excepted'

export const perResource = ({ cursors }: StatusReport): string =>
  perGroup(
    'resource',
    [...new Set(cursors.map((cursor) => cursor.resource))].map((name) => {
      const own = cursors.filter((cursor) => cursor.resource === name && !isOutside(cursor))
      return [name, ageOf(own), newest(own), ...completeness(own), rowsOf(own), states(own)]
    }),
  )

/** The earliest of the cursors' instants; `-` where one has none. */
const earliest = (times: readonly (string | null)[]): string => {
  const [first] = times.toSorted((a, b) => ((a ?? '') < (b ?? '') ? -1 : 1))
  return first ? atSecond(first) : '-'
}

const completeness = (cursors: readonly CursorStatus[]): string[] => [
  earliest(cursors.map((cursor) => cursor.complete_through)),
  earliest(cursors.map((cursor) => cursor.deletes_checked_at)),
]
