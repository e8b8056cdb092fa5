/** How late records become visible is measured, and says up to when a cursor is complete and how far it looks back. */
import { describe, expect, it } from 'vitest'
import { template } from '../../src/sandbox/index.js'
import { latenessOf, overlapOf } from '../../src/sync/run/lateness.js'
import { addMicros } from '../../src/timestamp.js'
import { readLateness } from '../../src/warehouse/lateness.js'
import type { Warehouse } from '../../src/warehouse/warehouse.js'
import { HandClock } from '../support/clocks.js'
import { only, reconcile } from '../support/notes.js'
import { type RunOptions, sync } from '../support/run.js'
import { sandboxOfFile } from '../support/sandbox.js'
import { statusOf } from '../support/status.js'
import { open, rowsOf, warehouses } from '../support/warehouse.js'

const begin = '2026-03-01T00:00:00.000000Z'
const clock = new HandClock(begin)
const sandbox = await sandboxOfFile({ data: 'none', clock })
const options: RunOptions = { resources: ['notes'], clock, overlapMs: 600_000 }

const later = (seconds: number): string => addMicros(begin, BigInt(seconds) * 1_000_000n)
const put = (id: number, time: string): void => sandbox.store.put(1, 'notes', template('notes', id, time))
const wait = (seconds: number): void => clock.pass(seconds * 1000)

function prepare(count: number): void {
  clock.micros = BigInt(Date.parse(begin)) * 1000n
  sandbox.reset()
  sandbox.store.addTenant({ id: 1 })
  for (let id = 1; id <= count; id++) put(id, later(-3600 * (count + 1 - id)))
}

const cursorOf = async (warehouse: Warehouse, resource = 'notes') =>
  (await rowsOf(warehouse, 'sync_cursors')).find((row) => row.resource === resource)

const measured = async (warehouse: Warehouse) =>
  latenessOf(await readLateness(warehouse, later(0))).get('notes')

describe.each(warehouses())('$name', (kind) => {
  it('complete_through moves with every walk, also of a list that stands still', async () => {
    prepare(5)
    const warehouse = await open(kind)
    await sync(sandbox, warehouse, options)
    expect(await cursorOf(warehouse)).toMatchObject({ complete_through: later(-1), watermark: later(-3600) })
    wait(7200)
    const idle = only(await sync(sandbox, warehouse, options))
    expect(idle).toMatchObject({ requests: 1, rows_upserted: 0 })
    expect(await cursorOf(warehouse)).toMatchObject({
      complete_through: later(7199),
      complete_through_before: null,
      deletes_checked_at: null,
    })
    await warehouse.close()
  })

  it('a record that comes late is measured, sets complete_through back, and status says so', async () => {
    prepare(5)
    const warehouse = await open(kind)
    put(6, later(-1))
    await sync(sandbox, warehouse, options)
    wait(60)
    // In time, and 100 seconds late.
    put(7, later(30))
    put(8, later(-100))
    await sync(sandbox, warehouse, options)
    expect(await measured(warehouse)).toMatchObject({ records: 2, largestMicros: 100_000_000 })
    expect(await cursorOf(warehouse)).toMatchObject({
      complete_through: later(-40),
      complete_through_before: later(-1),
    })
    const status = await statusOf(sandbox, warehouse, { nowMicros: clock.nowMicros() })
    expect(status.cursors[0]).toMatchObject({
      complete_through: later(-40),
      complete_through_before: later(-1),
    })
    expect(status.lateness).toMatchObject([{ resource: 'notes', records: 2, largest_seconds: 100 }])
    wait(3600)
    await sync(sandbox, warehouse, options)
    expect(await cursorOf(warehouse)).toMatchObject({
      complete_through: later(3560),
      complete_through_before: null,
    })
    await warehouse.close()
  })

  it('what came back from deletion, and what a walk that proved nothing left out, is not late', async () => {
    prepare(5)
    const warehouse = await open(kind)
    put(6, later(-1))
    await sync(sandbox, warehouse, options)
    sandbox.store.remove(1, 'notes', 5)
    await reconcile(sandbox, warehouse, options)
    wait(60)
    put(5, later(-50))
    await sync(sandbox, warehouse, options)
    expect((await measured(warehouse))?.largestMicros ?? 0).toBe(0)
    await warehouse.write([
      warehouse.db.updateTable('sync_cursors').set({ status: 'failed', completeness: 'unproven' }).compile(),
    ])
    put(9, later(-40))
    await sync(sandbox, warehouse, options)
    expect((await measured(warehouse))?.largestMicros ?? 0).toBe(0)
    await warehouse.close()
  })

  it('reconcile says when deletions were checked, and what only it brought is counted apart', async () => {
    prepare(5)
    const warehouse = await open(kind)
    await sync(sandbox, warehouse, { ...options, overlapMs: 1000 })
    wait(60)
    put(6, later(-7200))
    await reconcile(sandbox, warehouse, { ...options, overlapMs: 1000 })
    expect(await cursorOf(warehouse)).toMatchObject({ deletes_checked_at: later(60) })
    expect(await measured(warehouse)).toMatchObject({
      records: 0,
      reconciled: { records: 1, largestMicros: 7_260_000_000 },
    })
    wait(60)
    await sync(sandbox, warehouse, { ...options, overlapMs: 1000 })
    expect(await cursorOf(warehouse)).toMatchObject({ complete_through: later(120 - 7260) })
    await warehouse.close()
  })

  it('rows that vanished from the warehouse are not late', async () => {
    prepare(5)
    const warehouse = await open(kind)
    await sync(sandbox, warehouse, options)
    await warehouse.write([warehouse.db.deleteFrom('notes').where('id', '=', 2).compile()])
    wait(60)
    const report = await reconcile(sandbox, warehouse, options)
    expect(only(report)).toMatchObject({ status: 'ok', reconciled: { stored: 1 } })
    expect(await rowsOf(warehouse, 'sync_lateness')).toEqual([])
    await warehouse.close()
  })

  it('a stamp before 1970 tells nobody how late its record is', async () => {
    prepare(5)
    const warehouse = await open(kind)
    await sync(sandbox, warehouse, options)
    wait(60)
    put(6, '0001-01-01T00:00:00.000000Z')
    expect(only(await reconcile(sandbox, warehouse, options))).toMatchObject({ reconciled: { stored: 1 } })
    expect(await rowsOf(warehouse, 'sync_lateness')).toEqual([])
    await warehouse.close()
  })

  it('a list of names is complete through its request, deletions included', async () => {
    prepare(0)
    sandbox.store.tenant(1).strings.set('customer_payment_types', ['Cash'])
    const warehouse = await open(kind)
    await sync(sandbox, warehouse, { ...options, resources: ['customer_payment_types'] })
    expect(await cursorOf(warehouse, 'customer_payment_types')).toMatchObject({
      complete_through: later(-1),
      deletes_checked_at: later(0),
    })
    await warehouse.close()
  })
})

describe('the overlap "auto"', () => {
  const row = { resource: 'notes', day: '', upToMs: 1 }
  const of = (records: number, seconds: number, way: 'walk' | 'reconcile' = 'walk') => ({
    ...row,
    way,
    records,
    largestMicros: seconds * 1e6,
  })
  it.each([
    ['is five minutes while nothing is known', [], 300],
    ['is five minutes until a thousand records were seen', [of(999, 1)], 300],
    ['is twice the largest of a thousand, even before', [of(999, 400)], 800],
    ['is twice the largest', [of(1000, 45)], 90],
    ['is a minute at least', [of(1000, 1)], 60],
    ['is six hours at most', [of(1000, 86_400)], 21_600],
    ['is doubled when reconcile brings a late record', [of(1000, 45), of(1, 9000, 'reconcile')], 180],
  ])('%s', (_, rows, seconds) => {
    expect(overlapOf('auto', latenessOf(rows), 'notes')).toBe(seconds * 1000)
  })
})
