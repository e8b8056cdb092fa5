/** The totals of orders, computed by hand: stored and read back in every warehouse, and recomputed from the rows. */
import { beforeAll, describe, expect, it } from 'vitest'
import { known } from '../support/harness/runs.js'
import { bothWarehouses, open, rowsOf, type Warehouse } from '../support/harness/warehouse.js'
import { expectServices } from '../support/oracle/business/stored.js'
import { stamp, storeOrders } from '../support/world/orders.js'
import { computeAnew } from './anew.js'
import { cases } from './cases.js'

const table = 'repair_order_totals'
type Lines = Readonly<Record<string, readonly Record<string, unknown>[]>>

const computedOf = (kind: string): string[] =>
  known.tableByName
    .get(`repair_order_${kind}`)!
    .columns.flatMap(({ name, computedBy }) => (computedBy === table ? [name] : []))

it('has at least 40 cases', () => {
  expect(cases.length).toBeGreaterThanOrEqual(40)
})

describe.each(bothWarehouses())('$name', (kind) => {
  let warehouse: Warehouse
  let lines: Lines
  const stored = new Map<unknown, Record<string, unknown>>()
  beforeAll(async () => {
    warehouse = await open(kind)
    await storeOrders(
      warehouse,
      cases.map(({ record }) => record),
      stamp(60),
    )
    for (const row of await rowsOf(warehouse, table)) stored.set(row.repair_order_id, row)
    lines = await readLines()
  })

  const readLines = async (): Promise<Lines> => {
    const kinds = [...new Set(cases.flatMap(({ nets = {} }) => Object.keys(nets)))]
    const read = kinds.map(async (kind) => [kind, await rowsOf(warehouse, `repair_order_${kind}`)] as const)
    return Object.fromEntries(await Promise.all(read))
  }

  /** The values computed for the lines or services of an order, in the order of its record. */
  const netsOf = (all: Lines, order: unknown, kind: string): unknown[][] => {
    const lines = (all[kind] ?? []).filter(({ repair_order_id }) => repair_order_id === order)
    const first = cases.find(({ record }) => record.id === order)?.record.services as { id: unknown }[]
    const services = first.map(({ id }) => id)
    return lines
      .sort(
        (a, b) =>
          services.indexOf(a.service_id ?? a.id) - services.indexOf(b.service_id ?? b.id) ||
          Number(a.position) - Number(b.position),
      )
      .map((line) => computedOf(kind).map((name) => line[name]))
  }

  it.each(cases)('$name', ({ record, row, nets = {} }) => {
    expect(stored.get(record.id)).toMatchObject(row)
    for (const [kind, wanted] of Object.entries(nets)) expect(netsOf(lines, record.id, kind)).toEqual(wanted)
  })

  it('is the same when recomputed from the stored rows', async () => {
    await expectServices(warehouse)
    await computeAnew(warehouse)
    await expectServices(warehouse)
    const rows = await rowsOf(warehouse, table)
    expect(rows).toEqual(rows.map(({ repair_order_id }) => stored.get(repair_order_id)))
    expect(rows).toHaveLength(cases.length)
    const anew = await readLines()
    for (const { record, nets = {} } of cases)
      for (const [kind, wanted] of Object.entries(nets)) expect(netsOf(anew, record.id, kind)).toEqual(wanted)
  })
})
