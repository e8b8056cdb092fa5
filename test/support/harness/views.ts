/**
 * Views in a test's warehouse, and their rows in a form that is the same for every dialect. The tests of
 * src/features/analytics and of single views go through this file.
 */
import { sql } from 'kysely'
import { views } from '../../../schema/views/index.js'
import type { ReportConfig } from '../../../src/engine/config/reportsection.js'
import type { Model } from '../../../src/engine/model/resourcemodel.js'
import type { Writer } from '../../../src/engine/warehouse/warehouse.js'
import { makeViews, type ViewsMade, type ViewsWanted } from '../../../src/features/analytics/makeviews.js'
import { refreshAnalytics } from '../../../src/features/analytics/refresh.js'
import type { ZonesNow } from '../../../src/features/analytics/zones.js'
import { known } from './runs.js'

// What tests of days and views reach of the feature: a room that is rebuilt is followed here, and in no test.
export * from '../../../src/features/analytics/declaredviews.js'
export * from '../../../src/features/analytics/figurecheck.js'
export * from '../../../src/features/analytics/railstimezones.js'
export * from '../../../src/features/analytics/refresh.js'
export * from '../../../src/features/analytics/shopday.js'
export * from '../../../src/features/analytics/viewwords.js'
export * from '../../../src/features/analytics/zones.js'

/** A report configuration, with the usual settings unless a test has its own. */
export const reportConfig = (settings: Partial<ReportConfig> = {}): ReportConfig => ({
  timeZone: 'UTC',
  shopTimeZones: {},
  taxRates: 'percent',
  unlisted: 'keep',
  schema: undefined,
  names: {},
  tenantNames: {},
  contacts: false,
  waitingForParts: [],
  ...settings,
})

export const refresh = (
  warehouse: Writer,
  settings: Partial<ReportConfig> = {},
  now = '2026-11-22T00:00:00Z',
): Promise<ZonesNow> =>
  refreshAnalytics({
    warehouse,
    report: reportConfig(settings),
    nowMicros: () => BigInt(Date.parse(now)) * 1000n,
  })

export const make = (
  warehouse: Writer,
  { inputs, ...settings }: Partial<ReportConfig> & Pick<ViewsWanted, 'inputs'> = {},
  model: Model = known,
): Promise<ViewsMade> => {
  const { schema, unlisted } = reportConfig(settings)
  return makeViews(warehouse, { model, schema, unlisted, inputs })
}

/** Everything that the views need, once: views, zones, calendar. */
export async function prepareViews(warehouse: Writer, settings: Partial<ReportConfig> = {}): Promise<void> {
  const { troubles } = await make(warehouse, settings)
  if (troubles.length > 0) throw new Error(JSON.stringify(troubles))
  await refresh(warehouse, settings)
}

const kindsOf = (view: string): ReadonlyMap<string, string> => {
  const columns = views.find(({ name }) => name === view)?.columns
  if (!columns) throw new Error(`no view ${view}`)
  return new Map(Object.entries(columns).map(([name, { kind }]) => [name, kind]))
}

function plain(value: unknown, kind: string | undefined): unknown {
  if (value === null || value === undefined) return null
  if (kind === 'boolean') return value === true || value === 1
  if (kind === 'timestamp') return String(value).replace('T', ' ').replace('Z', '')
  if (kind === 'hours' || kind === 'quantity' || kind === 'number') return Number(value)
  return typeof value === 'bigint' ? String(value) : value
}

/** The rows of a query, as the driver returns them. Views are in braces. */
export async function query(warehouse: Writer, text: string): Promise<Record<string, unknown>[]> {
  const store = warehouse.dialect.views()
  const named = text.replaceAll(/\{(\w+)\}/g, (_, view: string) => store.relation(view))
  const { rows } = await sql.raw<Record<string, unknown>>(named).execute(warehouse.db)
  return rows
}

/** The rows of a query as people type it, with the views' plain names. */
export const answer = (warehouse: Writer, text: string): Promise<Record<string, unknown>[]> =>
  query(
    warehouse,
    views.reduce(
      (all, { name }) => all.replaceAll(new RegExp(`\\b(from|join) ${name}\\b`, 'g'), `$1 {${name}}`),
      text,
    ),
  )

const flags = new Set(
  views.flatMap(({ columns }) =>
    Object.entries(columns).flatMap(([name, { kind }]) => (kind === 'boolean' ? [name] : [])),
  ),
)

/** However the driver returns it: numbers with twelve digits, flags in words, nothing for null. */
function shownValue(name: string, value: unknown): string {
  if (value === null || value === undefined) return ''
  if (flags.has(name)) return String(value === true || value === 1)
  const isNumber = typeof value !== 'string' || /^-?\d+(\.\d+)?$/.test(value)
  return isNumber ? String(Number(Number(value).toPrecision(12)) + 0) : value
}

/** Rows as lines, sorted: a query that sorts by a name or a sum doesn't say in which order others are. */
export const linesOf = (rows: readonly Record<string, unknown>[]): string[] =>
  rows
    .map((row) =>
      Object.entries(row)
        .map(([name, value]) => shownValue(name, value))
        .join(' | '),
    )
    .sort()

/** The rows of a query on a view, written as `{view}` in its text. The view's columns have the same form everywhere. */
export async function ask(
  warehouse: Writer,
  view: string,
  text = 'select * from {view}',
): Promise<Record<string, unknown>[]> {
  const rows = await query(warehouse, text.replaceAll('{view}', `{${view}}`))
  const kinds = kindsOf(view)
  return rows.map((row) =>
    Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value, kinds.get(name))])),
  )
}

/** All rows of a view, in an order that is the same for every dialect. */
export async function viewRows(warehouse: Writer, view: string): Promise<Record<string, unknown>[]> {
  const rows = await ask(warehouse, view)
  const texts = rows.map((row) => JSON.stringify(row)).sort()
  return texts.map((text) => JSON.parse(text) as Record<string, unknown>)
}
