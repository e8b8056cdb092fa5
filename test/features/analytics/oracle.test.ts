/**
 * Compares every cell of the business views with oracle.ts, in both warehouses: for a realistic business, with services
 * that two orders show, and for one with values that nobody would enter on purpose. The views, the snapshot and the
 * report must handle those, too.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { configure } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { ask } from '../../support/harness/views.js'
import {
  bothWarehouses,
  type Kind,
  reopen,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { spoil } from '../../support/world/hostile.js'
import { putOddInvoices } from '../../support/world/oddinvoices.js'
import { isWhole } from '../../support/world/size.js'
import { showTwice } from '../../support/world/twice.js'
import { checkedViews, dayIn, expectedRows, type Row, type World } from './oracle.js'

const resources = [
  ...['repair_orders', 'recommendations', 'past_recommendations', 'payments', 'inventories'],
  ...['purchase_records', 'customers', 'staffs', 'shops', 'assignments'],
  ...['appointments', 'payment_transactions', 'canned_jobs'],
]
const report = { timeZone: 'America/Chicago', shopTimeZones: { '101/2': 'Asia/Kathmandu' } }

const zones = new Map<unknown, boolean>()
/** Asked for each pair of orders. */
function isZone(name: unknown): name is string {
  const known = zones.get(name)
  if (known !== undefined) return known
  let isOne = typeof name === 'string'
  try {
    if (isOne) new Intl.DateTimeFormat('en', { timeZone: name as string })
  } catch {
    isOne = false
  }
  zones.set(name, isOne)
  return isOne
}

/** A shop's configured zone, else the one it sends, else the report's. */
const zonesOf =
  ({ store }: Sandbox): World['zoneOf'] =>
  (tenant, shop) => {
    const sent = store.all(tenant, 'shops').find(({ id }) => id === shop)?.time_zone
    const configured = report.shopTimeZones[`${tenant}/${shop}` as '101/2']
    return configured ?? (isZone(sent) ? sent : report.timeZone)
  }

const options = { tenants: 2, repairOrders: 70, seed: 23, until: '2026-11-20T12:00:00Z' } as const
const lifelike = await sandboxOfFile(options)
showTwice(lifelike)
const hostile = await sandboxOfFile(options)
showTwice(hostile)
spoil(hostile)
for (const sandbox of [lifelike, hostile]) putOddInvoices(sandbox)

const worldOf = (sandbox: Sandbox): World => ({
  tenants: sandbox.store.tenantIds.map((tenant) => ({
    tenant,
    of: (resource) => sandbox.store.all(tenant, resource),
  })),
  zoneOf: zonesOf(sandbox),
  now: new Date().toISOString(),
})

/** Numbers as a person compares them: fifteen digits, integers in full. */
const plain = (value: unknown): unknown => {
  if (typeof value === 'bigint') return String(value)
  if (typeof value !== 'number') return value ?? null
  return Number.isSafeInteger(value) ? String(value) : String(Number(value.toPrecision(15)))
}

const texts = (rows: readonly Row[]): string[] =>
  rows
    .map((row) =>
      JSON.stringify(
        Object.fromEntries(
          Object.keys(row)
            .sort()
            .map((name) => [name, plain(row[name])]),
        ),
      ),
    )
    .sort()

/** Rows of one side that the other lacks. */
const lacking = (rows: readonly string[], others: readonly string[]): string[] => {
  const there = new Set(others)
  return rows.filter((row) => !there.has(row))
}

describe.each([
  ['a business as it could be', lifelike],
  ['a business with absurd values', hostile],
])('%s', (name, sandbox) => {
  // Absurd values are where databases differ.
  const isPlayed = (kind: Kind): boolean => sandbox === hostile || isWhole() || warehouses().includes(kind)
  describe.each(bothWarehouses().filter(isPlayed))('$name', (kind) => {
    let warehouse: Warehouse
    let run: (...words: string[]) => ReturnType<typeof shopsync>
    beforeAll(async () => {
      const address = await kind.viewed()
      const config = configure(sandbox, address, resources, { report })
      run = (...words) => shopsync([...words, '--config', config])
      const ended = await run('sync')
      expect(ended.code, ended.stdout + ended.stderr).toBe(0)
      warehouse = await reopen(address)
    })
    afterAll(() => warehouse.close())

    it.each(checkedViews)('%s', async (view) => {
      let [found, expected] = [[''], ['']]
      let today = ''
      // Midnight in a zone may pass between the two.
      do {
        const world = worldOf(sandbox)
        today = `${dayIn(report.timeZone, world.now)} ${dayIn('Asia/Kathmandu', world.now)}`
        const rows = expectedRows(view, world)
        expected = texts(rows)
        found = texts(
          await ask(warehouse, view, `select ${Object.keys(rows[0] ?? {}).join(', ')} from {view}`),
        )
      } while (
        today !==
        `${dayIn(report.timeZone, new Date().toISOString())} ${dayIn('Asia/Kathmandu', new Date().toISOString())}`
      )
      expect(expected.length).toBeGreaterThan(view.startsWith('dim_') ? 1 : 5)
      expect([lacking(found, expected).slice(0, 3), lacking(expected, found).slice(0, 3)]).toEqual([[], []])
      expect(found).toHaveLength(expected.length)
    })

    it('has what its name says', async () => {
      const [row] = await ask(
        warehouse,
        'service_totals',
        'select sum(lines_without_hours) as labor_cents, sum(labor_hours) as labor_hours from {view}',
      )
      expect(Number(row?.labor_cents) > 10).toBe(name.includes('absurd'))
      expect(Number(row?.labor_hours)).toBeGreaterThan(100)
    })

    // What was entered in earnest is reported in test/features/report.
    it.runIf(sandbox === hostile || isWhole())('can be stored as a snapshot, and reported', async () => {
      const taken = await run('snapshot', '--json')
      expect(taken.code, taken.stderr).toBe(0)
      expect(taken.json()).toMatchObject({ status: 'ok', shops: 4 })
      const written = await run('report', '--out', '/dev/null')
      expect(written.code, written.stderr).toBe(0)
    })
  })
})
