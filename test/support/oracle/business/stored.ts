/**
 * What a warehouse stores of orders besides their records: their totals, what each line adds, and the sums of their
 * services. Compared with the bills of the records that its rows make up. Orders must have nothing in quarantine.
 */
import { expect } from 'vitest'
import type { Warehouse } from '../../harness/warehouse.js'
import { rowsOf } from '../rows.js'
import { type Fields, magnitude, type Row, unit } from './amounts.js'
import { type Bill, billOf, type Kind, kinds, netsOf } from './bills.js'
import { servicesOf } from './lines.js'
import { amountsOf } from './orders.js'

/** Numbers as the API sends them, whatever a database returns for them. */
const sent = (row: Row): Row =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value,
    ]),
  )

/** Rows by the values of these columns. */
function by(rows: readonly Row[], ...columns: readonly string[]): (row: Row) => Row[] {
  const keyOf = (row: Row, names: readonly string[]): string => names.map((name) => row[name]).join('-')
  const found = new Map<string, Row[]>()
  for (const row of rows) {
    const group = found.get(keyOf(row, columns))
    if (group) group.push(row)
    else found.set(keyOf(row, columns), [row])
  }
  // An owner has its own id instead of its items' reference.
  const own = columns.map((name, i) => (i === columns.length - 1 ? 'id' : name))
  return (owner) => found.get(keyOf(owner, own)) ?? []
}

/** The bills of all stored orders, deleted ones too. */
async function storedBills(
  warehouse: Warehouse,
): Promise<{ readonly tenant: unknown; readonly bill: Bill }[]> {
  const read = async (table: string): Promise<Row[]> =>
    (await rowsOf(warehouse, `repair_order${table}`)).map(sent)
  const lines = await Promise.all(
    ['labors', 'parts', 'sublets', 'hazmats'].map(async (kind) => {
      const ofService = by(await read(`_${kind}`), 'tenant_id', 'repair_order_id', 'service_id')
      return [kind, ofService] as const
    }),
  )
  const servicesOfOrder = by(await read('_services'), 'tenant_id', 'repair_order_id')
  const payments = by(await read('_payments'), 'tenant_id', 'repair_order_id')
  return (await read('s')).map((order) => {
    const services = servicesOfOrder(order).map((service): Fields => {
      const items = lines.map(([kind, ofService]) => [kind, ofService(service)])
      return { ...service, ...Object.fromEntries(items) }
    })
    return { tenant: order.tenant_id, bill: billOf({ ...order, services, payments: payments(order) }) }
  })
}

const textOf = (value: unknown): string | null =>
  value === null || value === undefined ? null : String(value)

/** Expects these rows to be stored, and no others; of each, the columns of the expected row. */
async function expectRows(
  warehouse: Warehouse,
  table: string,
  expected: ReadonlyMap<string, Row>,
): Promise<void> {
  const rows = await rowsOf(warehouse, table)
  const columns = Object.keys([...expected.values()][0] ?? {}).filter((name) => name in (rows[0] ?? {}))
  const shown = (row: Row): (string | null)[] => columns.map((name) => textOf(row[name]))
  const found = rows.map((row) => {
    const { tenant_id: tenant, repair_order_id: order, id } = row
    return [[tenant, order, id].filter((one) => one !== undefined).join('-'), shown(row)] as const
  })
  const wanted = [...expected].map(([key, row]) => [key, shown(row)] as const)
  expect([table, columns, Object.fromEntries(found)]).toEqual([table, columns, Object.fromEntries(wanted)])
}

const sumsOf = (bill: Bill): Map<unknown, Row> =>
  new Map(
    servicesOf(bill).map((of) => [
      of.service.id,
      {
        _labor_nine: magnitude(of.hours) < unit * unit ? of.hours : null,
        _labor_cents: of.labor,
        _labor_discount_cents: of.laborDiscount,
        _parts_cents: of.parts,
        _parts_discount_cents: of.partsDiscount,
        _sublets_cents: of.sublets,
        _hazmats_cents: of.hazmats,
        _cost_cents: of.cost,
        _gross_profit_cents: of.profit,
        _hours_unknown: of.withoutHours,
      },
    ]),
  )

const addedBy = (bill: Bill, kind: Kind): Map<unknown, Row> =>
  new Map(
    netsOf(bill, kind).map(({ line, discount, tax }) => [
      line.item.id,
      {
        _amount_cents: line.amount,
        _discount_cents: line.amount === null ? null : discount,
        _tax_cents: tax,
        _cost_cents: line.costs ? line.cost : null,
      },
    ]),
  )

type Bills = Awaited<ReturnType<typeof storedBills>>

/** Rows of all orders by their keys. */
const ofAll = (bills: Bills, rowsIn: (bill: Bill) => Map<unknown, Row>): Map<string, Row> =>
  new Map(
    bills.flatMap(({ tenant, bill }) =>
      [...rowsIn(bill)].map(([id, row]) => [`${tenant}-${bill.order.id}-${id}`, row] as const),
    ),
  )

/** Expects the sums of services to match the oracle. Their orders may have something in quarantine. */
export async function expectServices(warehouse: Warehouse): Promise<void> {
  await expectRows(warehouse, 'repair_order_services', ofAll(await storedBills(warehouse), sumsOf))
}

/** Expects all of it to match the oracle, and returns the number of orders. */
export async function expectOracle(warehouse: Warehouse): Promise<number> {
  const bills = await storedBills(warehouse)
  const totals = bills.map(({ tenant, bill }) => {
    const { fixed_price_ignored, lines_in_quarantine, ...amounts } = amountsOf(bill)
    return [`${tenant}-${bill.order.id}`, amounts] as const
  })
  await expectRows(warehouse, 'repair_order_totals', new Map(totals))
  await expectRows(warehouse, 'repair_order_services', ofAll(bills, sumsOf))
  for (const kind of kinds)
    await expectRows(
      warehouse,
      `repair_order_${kind}s`,
      ofAll(bills, (bill) => addedBy(bill, kind)),
    )
  return bills.length
}
