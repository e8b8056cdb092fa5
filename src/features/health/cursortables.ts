/* The tables of `shopsync status`: one line per tenant, and one per resource. Used by words.ts. */
import { atMinute, atSecond, count, plural, span } from '../../engine/base/format.js'
import { groupedBy } from '../../engine/base/parts.js'
import type { Ink, Terminal } from '../../shell/terminal.js'
import { right, table, unbroken } from '../../shell/texttable.js'
import { type CursorHealth, isLostTenant, isTrouble, type TenantStanding } from './cursorhealth.js'
import type { StatusReport } from './statusdocument.js'

const ageOf = (cursors: readonly CursorHealth[]): string => {
  if (cursors.some(({ age_seconds: age, last_success_at: last }) => age === null && last !== null))
    return 'unknown'
  const ages = cursors.map((cursor) => cursor.age_seconds).filter((age) => age !== null)
  return ages.length === 0 ? 'never' : span(Math.max(...ages) * 1000)
}

/** The latest watermark: the time of the newest record in the warehouse. */
const newest = (cursors: readonly CursorHealth[]): string => {
  const latest = cursors.reduce(
    (mark, { watermark }) => (watermark && watermark > mark ? watermark : mark),
    '',
  )
  return latest === '' ? '-' : atMinute(latest)
}

const states = (cursors: readonly CursorHealth[]): string => {
  const amounts = new Map<string, number>()
  for (const { state } of cursors) amounts.set(state, (amounts.get(state) ?? 0) + 1)
  if (amounts.size === 1) return [...amounts.keys()].join()
  const wellFirst = [...amounts].toSorted(([a], [b]) => Number(b === 'ok') - Number(a === 'ok'))
  return wellFirst.map(([state, amount]) => `${count(amount)} ${state}`).join(', ')
}

const rowsOf = (cursors: readonly CursorHealth[]): string =>
  count(cursors.reduce((total, cursor) => total + Number(cursor.rows), 0))

const stateInk = (cell: string): Ink =>
  /failed|unproven|never|revoked/.test(cell) ? 'bad' : /stale|late|loading/.test(cell) ? 'odd' : 'good'

const perGroup = (title: string, rows: readonly string[][], terminal: Terminal): string =>
  rows.length === 0
    ? ''
    : table(
        [
          title,
          unbroken('oldest'),
          unbroken('newest record (UTC)', { spare: 3 }),
          unbroken('complete through (UTC)', { spare: 1 }),
          unbroken('deletes checked (UTC)', { spare: 2 }),
          right('live records'),
          { title: 'state', ink: stateInk },
        ],
        rows,
        terminal,
      )

/** How many tenants fit on a screen next to the resources. If there are more, healthy ones share a line. */
const shownTenants = 20

/** The tenants, those that need attention first. */
export function perTenant(
  { tenants, cursors }: StatusReport,
  names: Readonly<Record<string, string>>,
  terminal: Terminal,
): string {
  const byTenant = groupedBy(cursors, ({ tenant_id }) => tenant_id)
  const ofTenant = ({ tenant_id }: TenantStanding): readonly CursorHealth[] => byTenant.get(tenant_id) ?? []
  const isWell = (tenant: TenantStanding): boolean =>
    !isLostTenant(tenant) && !ofTenant(tenant).some(isTrouble)
  const ill = tenants.filter((tenant) => !isWell(tenant))
  const well = tenants.filter(isWell)
  const shown = tenants.length <= shownTenants ? [...ill, ...well] : ill.slice(0, shownTenants)
  const rows = shown.map((tenant) => {
    const name = [tenant.tenant_id, names[String(tenant.tenant_id)]].join(' ').trim()
    return cellsOf(name, ofTenant(tenant), standingOf(tenant))
  })
  if (tenants.length > shownTenants && well.length > 0)
    rows.push(cellsOf(wellText(well.length, ill.length), well.flatMap(ofTenant).filter(isWalked), ''))
  const hidden = ill.length - Math.min(ill.length, shown.length)
  const rest =
    hidden === 0
      ? ''
      : `\n… and ${plural(hidden, 'more tenant')} that ${hidden === 1 ? 'needs' : 'need'} attention: shopsync status --json`
  return `${perGroup('tenant', rows, terminal)}${rest}`
}

const wellText = (well: number, ill: number): string =>
  ill === 0 ? `all ${count(well)} tenants` : `the ${count(well)} others`

/** Why a tenant isn't walked; empty if it is. */
const standingOf = ({ revoked_at, excepted }: TenantStanding): string => {
  if (excepted) return 'left out by sync.exceptTenants'
  return revoked_at === null ? '' : `access revoked ${atSecond(revoked_at)}`
}

const cellsOf = (name: string, cursors: readonly CursorHealth[], standing: string): string[] => [
  name,
  ageOf(cursors),
  newest(cursors),
  ...completeness(cursors),
  rowsOf(cursors),
  standing || states(cursors),
]

/** Its tenant is granted and should be walked. */
const isWalked = ({ state }: CursorHealth): boolean => state !== 'revoked' && state !== 'excepted'

export const perResource = ({ cursors }: StatusReport, terminal: Terminal): string =>
  perGroup(
    'resource',
    [...groupedBy(cursors, ({ resource }) => resource)].map(([name, own]) =>
      cellsOf(name, own.filter(isWalked), ''),
    ),
    terminal,
  )

/** The earliest of the cursors' instants; `-` if a cursor has none. */
const earliest = (times: readonly (string | null)[]): string => {
  const first = times.reduce((least, time) => ((time ?? '') < (least ?? '') ? time : least), times[0])
  return first ? atMinute(first) : '-'
}

const completeness = (cursors: readonly CursorHealth[]): string[] => [
  earliest(cursors.map((cursor) => cursor.complete_through)),
  deletesChecked(cursors.filter(({ state }) => state !== 'unavailable')),
]

/**
 * The oldest check for deletions, as the report has it, and what was never checked: a first sync doesn't
 * check integrator_tags, whose rows also come with other records.
 */
const deletesChecked = (cursors: readonly CursorHealth[]): string => {
  const checked = cursors.map(({ deletes_checked_at: at }) => at).filter((at) => at !== null)
  if (checked.length === 0 || checked.length === cursors.length) return earliest(checked)
  const lists = new Set(
    cursors.filter(({ deletes_checked_at: at }) => at === null).map(({ resource }) => resource),
  )
  const never = lists.size === 1 ? [...lists].join() : count(cursors.length - checked.length)
  return `${earliest(checked)} (never: ${never})`
}
