/**
 * What a warehouse stores of orders besides their records: their totals, what each line adds, and the sums of their
 * services. Compared with the bills of the records that its rows make up. Orders must have nothing in quarantine.
 */
import { expect } from 'vitest'
import type { Warehouse } from '../../harness/warehouse.js'
import { rowsOf } from '../rows.js'
import { type Fields, magnitude, type Row, unit } from './amounts.js'
import { billOf, type Kind, kinds, lists, servicesOf } from './bills.js'
import { groups } from './business.js'
import { amountsOf } from './orders.js'

/** Numbers as the API sends them, whatever a database returns for them. */
const sent = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value,
    ]),
  )

/** The rows of a table by the values of these columns, the last of which names their owner. */
async function itemsOf(
  warehouse: Warehouse,
  table: string,
  ...columns: readonly string[]
): Promise<(owner: Row) => Row[]> {
  const own = columns.map((name, i) => (i === columns.length - 1 ? 'id' : name))
  const keyOf = (row: Row, names: readonly string[]): string => names.map((name) => row[name]).join('-')
  const rows = groups((await rowsOf(warehouse, table)).map(sent), (row) => [keyOf(row, columns)])
  const found = new Map(rows.map(([first, all]) => [keyOf(first, columns), all]))
  return (owner) => found.get(keyOf(owner, own)) ?? []
}

/** The bills of all stored orders, deleted ones too. */
async function storedBills(warehouse: Warehouse) {
  const ofOrder = ['tenant_id', 'repair_order_id']
  const services = await itemsOf(warehouse, 'repair_order_services', ...ofOrder)
  const payments = await itemsOf(warehouse, 'repair_order_payments', ...ofOrder)
  const lines = await Promise.all(
    kinds.map(async (kind) => {
      const name = lists[kind]
      return [name, await itemsOf(warehouse, `repair_order_${name}`, ...ofOrder, 'service_id')] as const
    }),
  )
  return (await rowsOf(warehouse, 'repair_orders')).map(sent).map((order) => {
    const whole = services(order).map((service): Fields => {
      return { ...service, ...Object.fromEntries(lines.map(([name, of]) => [name, of(service)])) }
    })
    return {
      tenant: order.tenant_id,
      bill: billOf({ ...order, services: whole, payments: payments(order) }),
    }
  })
}

const textOf = (value: unknown): string | null =>
  value === null || value === undefined ? null : String(value)

/** Expects these rows to be stored, and no others; of each, the columns of the expected row. */
async function expectRows(
  warehouse: Warehouse,
  table: string,
  expected: readonly (readonly [key: string, Row])[],
): Promise<void> {
  const rows = await rowsOf(warehouse, table)
  const columns = Object.keys(expected[0]?.[1] ?? {}).filter((name) => name in (rows[0] ?? {}))
  const shown = (row: Row): (string | null)[] => columns.map((name) => textOf(row[name]))
  const found = rows.map((row) => {
    const { tenant_id: tenant, repair_order_id: order, id } = row
    return [[tenant, order, id].filter((one) => one !== undefined).join('-'), shown(row)] as const
  })
  const wanted = expected.map(([key, row]) => [key, shown(row)] as const)
  expect([table, columns, Object.fromEntries(found)]).toEqual([table, columns, Object.fromEntries(wanted)])
}

type Bills = Awaited<ReturnType<typeof storedBills>>

const ofServices = (bills: Bills): [string, Row][] =>
  bills.flatMap(({ tenant, bill }) =>
    servicesOf(bill).map(
      ({ service, hours, lines_without_hours, sales_cents: _, ...sums }): [string, Row] => [
        `${tenant}-${bill.order.id}-${service.id}`,
        {
          ...Object.fromEntries(Object.entries(sums).map(([name, value]) => [`_${name}`, value])),
          _labor_nine: magnitude(hours) < unit * unit ? hours : null,
          _hours_unknown: lines_without_hours,
        },
      ],
    ),
  )

const ofLines = (bills: Bills, kind: Kind): [string, Row][] =>
  bills.flatMap(({ tenant, bill: { order, lines } }) =>
    lines
      .filter((line) => line.kind === kind)
      .map(({ item, amount, discount, tax, cost }): [string, Row] => [
        `${tenant}-${order.id}-${item.id}`,
        {
          _amount_cents: amount,
          _discount_cents: amount === null ? null : discount,
          _tax_cents: tax,
          _cost_cents: cost,
        },
      ]),
  )

/** Expects the sums of services to match the oracle. Their orders may have something in quarantine. */
export async function expectServices(warehouse: Warehouse): Promise<void> {
  await expectRows(warehouse, 'repair_order_services', ofServices(await storedBills(warehouse)))
}

/** Expects all of it to match the oracle, and returns the number of orders. */
export async function expectOracle(warehouse: Warehouse): Promise<number> {
  const bills = await storedBills(warehouse)
  const totals = bills.map(({ tenant, bill }): [string, Row] => {
    const { fixed_price_ignored, lines_in_quarantine, ...amounts } = amountsOf(bill)
    return [`${tenant}-${bill.order.id}`, amounts]
  })
  await expectRows(warehouse, 'repair_order_totals', totals)
  await expectRows(warehouse, 'repair_order_services', ofServices(bills))
  for (const kind of kinds) await expectRows(warehouse, `repair_order_${lists[kind]}`, ofLines(bills, kind))
  return bills.length
}
