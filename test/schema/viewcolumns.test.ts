/**
 * What columns of views stand beside which: the shop's clock beside an instant, what a profit or cost is part of, and what a
 * join brings.
 */
import { expect, test } from 'vitest'
import type { ViewColumn } from '../../schema/view.js'
import { views } from '../../schema/views/index.js'

const columns = views.flatMap((view) =>
  Object.entries<ViewColumn>(view.columns).map(([name, { kind, isAlways, references }]) => ({
    view: view.name as string,
    name,
    kind,
    references,
    isAlways: isAlways === true,
    full: `${view.name}.${name}`,
  })),
)
const has = (view: string, name: string, kind: string): boolean =>
  columns.some((one) => one.view === view && one.name === name && one.kind === kind)

/** What these tell happened in no shop: it is about shopsync's own work, and about what tenants grant. */
const ofNoShop = new Set(['freshness', 'dim_tenants', 'changes', 'changes_by_tenant'])

test("each instant has the shop's clock beside it", () => {
  const instants = columns.filter(({ kind, view }) => kind === 'timestamp' && !ofNoShop.has(view))
  expect(instants.length).toBeGreaterThan(20)
  expect(instants.filter(({ view, name }) => !has(view, `${name}_local`, 'text'))).toEqual([])
  const twins = columns.filter(({ name }) => name.endsWith('_local'))
  expect(twins.filter(({ view, name }) => !has(view, name.replace(/_local$/, ''), 'timestamp'))).toEqual([])
})

/** The day that a view is cut by is that of this instant. */
const cutBy: Readonly<Record<string, string>> = {
  appointment_load: 'start_at',
  card_attempts: 'attempted_at',
  handovers: 'created_at',
  purchases: 'entered_at',
}
/** Nobody asks for these by the day. */
const withoutDay = new Set(['handovers.accepted_at', 'handovers.cancelled_at', 'orders.updated_at'])

test('each instant has its day beside it, as far as somebody asks for it', () => {
  const instants = columns.filter(({ kind, view, full }) => {
    return kind === 'timestamp' && !ofNoShop.has(view) && !withoutDay.has(full)
  })
  const without = instants.filter(({ view, name }) => {
    const day = cutBy[view] === name ? 'day' : name.replace(/_at$/, '_on')
    return !has(view, day, 'day')
  })
  expect(without).toEqual([])
})

/** What a profit or cost that may be unknown is part of. Null: it is that of one unit, which nobody adds up. */
const bases: Readonly<Record<string, string | null>> = {
  'customer_value.gross_profit_cents': 'sales_where_profit_known_cents',
  'daily_sales.gross_profit_cents': 'sales_where_profit_known_cents',
  'inventory_value.cost_cents': null,
  'order_lines.cost_cents': 'net_where_cost_known_cents',
  'order_lines.gross_profit_cents': 'net_where_profit_known_cents',
  'orders.gross_profit_cents': 'sales_where_profit_known_cents',
  'parts_margin.cost_cents': 'sold_where_margin_known_cents',
  'parts_margin.margin_cents': 'sold_where_margin_known_cents',
  'parts_margin.net_margin_cents': 'net_where_margin_known_cents',
  'parts_margin.unit_cost_cents': null,
  'purchases.unit_cost_cents': null,
  'service_totals.gross_profit_cents': 'sales_where_profit_known_cents',
  'shop_days.gross_profit_cents': 'gross_margin_denominator',
  'shop_days.parts_cost_cents': 'parts_margin_denominator',
  'shop_months.gross_profit_cents': 'gross_margin_denominator',
  'shop_months.parts_cost_cents': 'parts_margin_denominator',
}

test('beside each profit or cost that may be unknown stands what it is part of', () => {
  const found = columns.filter(
    ({ name, kind, isAlways }) =>
      kind === 'cents' &&
      (name === 'gross_profit_cents' || (!isAlways && /(profit|margin|cost)_cents$/.test(name))),
  )
  expect(found.map(({ full }) => full).sort()).toEqual(Object.keys(bases).sort())
  for (const { view, full } of found) {
    const base = bases[full]
    if (base) expect([full, base, has(view, base, 'cents')]).toEqual([full, base, true])
  }
})

test('a view can be joined to what its keys refer to without prefixes', () => {
  const of = (view: string) => columns.filter((one) => one.view === view)
  for (const { view, name, references = '', kind } of columns) {
    if (!references.startsWith('dim_') || view.startsWith('dim_')) continue
    const theirs = of(references)
    const key = theirs.find((one) => one.name === name) ?? theirs[0]
    expect([view, name, key?.kind]).toEqual([view, name, kind])
    // Keys and names are the same on both sides; nobody needs a shop's first day from both.
    const isOfCustomer = view === 'orders' && references === 'dim_customers'
    const same = isOfCustomer ? /_(id|key)$/ : /_(id|key|name)$|^first_day$/
    const shared = theirs.filter((one) => of(view).some((own) => own.name === one.name))
    expect([view, name, shared.filter((one) => !same.test(one.name))]).toEqual([view, name, []])
  }
})
