/**
 * Measures how late records become visible, which determines up to when a cursor is complete and how far it looks back.
 */
import { describe, expect, it } from 'vitest'
import { addMicros } from '../../../src/engine/base/timestamp.js'
import { headlineOf as headline } from '../../../src/features/health/words.js'
import { template } from '../../../src/sandbox/index.js'
import { latenessOf, overlapOf, type RunOptions, type Source, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { statusOf } from '../../support/harness/status.js'
import { kept, readLateness, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'
import { HandClock } from '../../support/world/clocks.js'
import { lose, only, reconcile } from '../../support/world/notes.js'

const begin = '2026-03-01T00:00:00.000000Z'
const clock = new HandClock(begin)
const sandbox = await sandboxOfFile({ data: 'none', clock })
const options: RunOptions = { resources: ['notes'], clock: clock.skewed, overlapMs: 600_000 }

const later = (seconds: number): string => addMicros(begin, BigInt(seconds) * 1_000_000n)
const put = (id: number, time: string): void => sandbox.store.put(1, 'notes', template('notes', id, time))
const wait = (seconds: number): void => clock.pass(seconds * 1000)

function prepare(count: number): void {
  clock.micros = BigInt(Date.parse(begin)) * 1000n
  clock.skew = 0n
  sandbox.reset()
  sandbox.store.addTenant({ id: 1 })
  for (let id = 1; id <= count; id++) put(id, later(-3600 * (count + 1 - id)))
}

/** Each page takes ten seconds. */
const slowly = (source: Source): Source =>
  new Between(source, (_, ask) => {
    wait(10)
    return ask()
  })

const cursorOf = async (warehouse: Warehouse, resource = 'notes') =>
  (await rowsOf(warehouse, 'sync_cursors')).find((row) => row.resource === resource)

const measured = async (warehouse: Warehouse) =>
  latenessOf(await readLateness(warehouse, later(0))).get('notes')

describe.each(warehouses())('$name', (kind) => {
  const place = kept(kind)
  it('complete_through moves with every walk, even if the list does not change', async () => {
    prepare(5)
    const warehouse = await place.open()
    await sync(sandbox, warehouse, options)
    expect(await cursorOf(warehouse)).toMatchObject({ complete_through: later(-1), watermark: later(-3600) })
    wait(7200)
    const idle = only(await sync(sandbox, warehouse, options))
    expect(idle).toMatchObject({ requests: 1, rows_upserted: 0 })
    expect(await cursorOf(warehouse)).toMatchObject({
      complete_through: later(7199),
      complete_through_before: null,
      // The first load has seen everything there is; later walks don't see deletions.
      deletes_checked_at: later(0),
    })
  })

  it('a first load does not check for deletions if there were rows here, or if it was not proven', async () => {
    prepare(5)
    const warehouse = await place.open()
    await sync(sandbox, warehouse, options)
    const anew = { watermark: null, deletes_checked_at: null }
    await warehouse.db.updateTable('sync_cursors').set(anew).execute()
    await sync(sandbox, warehouse, options)
    expect(await cursorOf(warehouse)).toMatchObject({ completeness: 'proven', deletes_checked_at: null })
    const countless = await place.open()
    const uncounted = (source: Source): Source =>
      new Between(source, async (_request, ask) => ({ ...(await ask()), total: undefined }) as never)
    const found = only(await sync(sandbox, countless, { ...options, around: uncounted }))
    expect(found?.completeness).toBe('unproven')
    expect(await cursorOf(countless)).toMatchObject({ deletes_checked_at: null })
  })

  it.each([
    ['the source’s clock', 30, true, -1],
    ['our clock, where that is behind the source’s', -3600, true, -3601],
    ['our clock, where the source sends no Date', 30, false, 29],
  ])('complete_through begins at %s', async (_, skew, isDated, through) => {
    prepare(5)
    clock.skew = BigInt(skew) * 1_000_000n
    const dateless = (source: Source): Source =>
      new Between(source, async (_request, ask) => ({ ...(await ask()), serverDate: undefined }))
    const warehouse = await place.open()
    await sync(sandbox, warehouse, { ...options, ...(!isDated && { around: dateless }) })
    expect(await cursorOf(warehouse)).toMatchObject({ complete_through: later(through) })
  })

  it('a walk that takes some time is complete through its first response', async () => {
    prepare(5)
    const warehouse = await place.open()
    await sync(sandbox, warehouse, options)
    for (let id = 100; id < 250; id++) put(id, later(1))
    wait(60)
    await sync(sandbox, warehouse, { ...options, around: slowly, readAhead: 0 })
    expect(await cursorOf(warehouse)).toMatchObject({ walked_at: later(70), complete_through: later(59) })
  })

  it('a record that comes late is measured, sets complete_through back, and shows in status', async () => {
    prepare(5)
    const warehouse = await place.open()
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
    // Anything older than thirty days doesn't count.
    expect(await readLateness(warehouse, later(31 * 86_400))).toEqual([])
    wait(3600)
    await sync(sandbox, warehouse, options)
    expect(await cursorOf(warehouse)).toMatchObject({
      complete_through: later(3560),
      complete_through_before: null,
    })
  })

  it('records that came back from deletion, or that an unproven walk left out, are not late', async () => {
    prepare(5)
    const warehouse = await place.open()
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
  })

  it('records that were counted but not shown, or lost and read again with the whole list, are not late', async () => {
    prepare(5)
    const warehouse = await place.open()
    await sync(sandbox, warehouse, options)
    wait(60)
    await lose(warehouse, [3])
    const whole = await sync(sandbox, warehouse, { ...options, mode: 'full' })
    expect(only(whole)).toMatchObject({ rows_upserted: 1 })
    wait(60)
    const { odd } = sandbox.store.collection(1, 'notes')
    put(6, later(10))
    odd.hidden.add(6)
    expect(only(await sync(sandbox, warehouse, options))).toMatchObject({ reason: 'counted_not_shown' })
    wait(60)
    odd.heal()
    expect(only(await sync(sandbox, warehouse, options))).toMatchObject({ rows_upserted: 1 })
    expect((await measured(warehouse))?.largestMicros ?? 0).toBe(0)
  })

  it('for a list that shows a record twice, lateness is measured as for any other', async () => {
    prepare(5)
    sandbox.store.collection(1, 'notes').odd.twice.set(3, 1)
    const warehouse = await place.open()
    expect(only(await sync(sandbox, warehouse, options))).toMatchObject({ reason: 'listed_twice' })
    wait(60)
    put(6, later(-100))
    await sync(sandbox, warehouse, options)
    expect(await measured(warehouse)).toMatchObject({ largestMicros: 100_000_000 })
  })

  it('reconcile reports when deletions were checked, and records that only it found are counted separately', async () => {
    prepare(5)
    const warehouse = await place.open()
    await sync(sandbox, warehouse, { ...options, overlapMs: 1000 })
    wait(60)
    put(6, later(-7200))
    await reconcile(sandbox, warehouse, { ...options, overlapMs: 1000, around: slowly })
    // Its two pages are answered ten seconds apart.
    expect(await cursorOf(warehouse)).toMatchObject({ deletes_checked_at: later(60) })
    expect(await measured(warehouse)).toMatchObject({
      records: 0,
      reconciled: { records: 1, largestMicros: 7_270_000_000 },
    })
    wait(60)
    await sync(sandbox, warehouse, { ...options, overlapMs: 1000 })
    expect(await cursorOf(warehouse)).toMatchObject({ complete_through: later(140 - 7270) })
  })

  const day = 86_400
  const headlineOf = async (warehouse: Warehouse, resource: string): Promise<string> => {
    const settings = { resources: [resource], deletesUncheckedAfterMs: 30 * 24 * 3_600_000 }
    return headline(await statusOf(sandbox, warehouse, { ...settings, nowMicros: clock.nowMicros() }))
  }

  it.each(['notes', 'repair_orders'])(
    '%s may lack late records until a reading of the whole list finds none',
    async (resource) => {
      prepare(0)
      for (let id = 1; id <= 5; id++) sandbox.store.put(1, resource, template(resource, id, later(id - 10)))
      const warehouse = await place.open()
      const own = { ...options, resources: [resource], overlapMs: 300_000 }
      await sync(sandbox, warehouse, own)
      expect(await headlineOf(warehouse, resource)).toContain('all fresh')
      wait(day)
      sandbox.store.put(1, resource, template(resource, 9, later(-3 * day)))
      const doubted = `${resource} may lack late records since Feb 26`
      // At once, after each walk that looks back less far, and even if those have caught up with what was claimed before.
      await reconcile(sandbox, warehouse, own)
      expect(await headlineOf(warehouse, resource)).toContain(`${doubted}; every cursor`)
      wait(3600)
      await sync(sandbox, warehouse, own)
      expect(await headlineOf(warehouse, resource)).toContain(`${doubted}; every cursor`)
      wait(6 * day)
      await sync(sandbox, warehouse, own)
      expect(await headlineOf(warehouse, resource)).toContain(`${resource} may lack late records since Mar 4`)
      await (resource === 'notes'
        ? reconcile(sandbox, warehouse, own)
        : sync(sandbox, warehouse, { ...own, mode: 'full' }))
      expect(await headlineOf(warehouse, resource)).toContain('all fresh')
      wait(3600)
      await sync(sandbox, warehouse, own)
      expect(await headlineOf(warehouse, resource)).toContain('all fresh')
    },
  )

  it.each<[name: string, away: () => void, back: () => void]>([
    ['undeleted', () => sandbox.store.remove(1, 'notes', 2), () => put(2, later(-14_400))],
    [
      'listed again',
      () => sandbox.store.collection(1, 'notes').odd.archived.add(2),
      () => {
        sandbox.store.collection(1, 'notes').odd.heal()
        put(2, later(-8000))
      },
    ],
    [
      'undeleted with a backup',
      () => {},
      () => {
        put(9, later(-3 * day))
        put(5, later(-30 * day))
      },
    ],
  ])('a record that was %s is not late', async (_, away, back) => {
    prepare(5)
    const warehouse = await place.open()
    const own = { ...options, overlapMs: 1000 }
    await sync(sandbox, warehouse, own)
    wait(60)
    away()
    await reconcile(sandbox, warehouse, own)
    wait(60)
    back()
    expect(only(await reconcile(sandbox, warehouse, own))?.reconciled).not.toMatchObject({
      stored: 0,
      went_back: 0,
    })
    expect((await measured(warehouse))?.reconciled.records ?? 0).toBe(0)
  })

  it('rows that vanished from the warehouse are not late', async () => {
    prepare(300)
    const warehouse = await place.open()
    await sync(sandbox, warehouse, options)
    // One is requested by its id; for thirty, a list of everything costs less.
    for (const lost of [[2], Array.from({ length: 30 }, (_, i) => 7 * (i + 1))]) {
      await lose(warehouse, lost)
      wait(60)
      const report = await reconcile(sandbox, warehouse, options)
      expect(only(report)).toMatchObject({ status: 'ok', reconciled: { stored: lost.length } })
    }
    expect(await rowsOf(warehouse, 'sync_lateness')).toEqual([])
  })

  it('a stamp before 1970 does not show how late its record is', async () => {
    prepare(5)
    const warehouse = await place.open()
    await sync(sandbox, warehouse, options)
    wait(60)
    put(6, '0001-01-01T00:00:00.000000Z')
    expect(only(await reconcile(sandbox, warehouse, options))).toMatchObject({ reconciled: { stored: 1 } })
    expect(await rowsOf(warehouse, 'sync_lateness')).toEqual([])
  })

  it('a list of names is complete through its request, including deletions', async () => {
    prepare(0)
    sandbox.store.tenant(1).strings.set('customer_payment_types', ['Cash'])
    const warehouse = await place.open()
    await sync(sandbox, warehouse, { ...options, resources: ['customer_payment_types'] })
    expect(await cursorOf(warehouse, 'customer_payment_types')).toMatchObject({
      complete_through: later(-1),
      deletes_checked_at: later(0),
    })
  })
})

describe('of a thousand records', () => {
  const bucket = (records: number, upToMs: number) => ({
    ...{ resource: 'notes', way: 'walk' as const, records, upToMs, largestMicros: upToMs * 900 },
  })
  it('status shows how late 999 were at most, and how late the latest was', () => {
    const rows = [bucket(1, 65_536), bucket(1, 1024), bucket(998, 0)]
    expect(latenessOf(rows).get('notes')).toMatchObject({
      mostMicros: 1_024_000,
      largestMicros: 58_982_400,
    })
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
