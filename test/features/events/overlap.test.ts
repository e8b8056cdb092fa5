/**
 * Rings go back less far than the overlap, and move the watermark. A record that becomes visible late, in a list
 * without its own events or after its event was lost, must reach the warehouse with the next planned walk all the same,
 * and its lateness has to be noticed.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { addMicros } from '../../../src/engine/base/timestamp.js'
import { template } from '../../../src/sandbox/index.js'
import { floorOf, type RunOptions } from '../../support/harness/runs.js'
import { addLateness, rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { HandClock } from '../../support/world/clocks.js'
import { EventWorld } from '../../support/world/eventworld.js'
import { liveIds, only } from '../../support/world/notes.js'

const begin = '2026-03-01T00:00:00.000000Z'
const later = (seconds: number): string => addMicros(begin, BigInt(seconds) * 1_000_000n)

/** The id of the record that becomes visible late. */
const late = 900

describe.each(warehouses())('on $name', (kind) => {
  let w: EventWorld
  let resource: string
  let overlapMs: number

  beforeEach(async () => {
    const clock = new HandClock(begin)
    w = await EventWorld.open(kind, { data: 'none', tenants: [{ id: 1 }], clock })
  })
  afterEach(() => w.close())

  const put = (id: number, time: string): void =>
    w.sandbox.store.put(1, resource, template(resource, id, time))
  const at = (seconds: number): void => {
    w.clock.micros = BigInt(Date.parse(begin)) * 1000n + BigInt(seconds) * 1_000_000n
  }
  const plan = (more: RunOptions = {}) => w.sync({ resources: [resource], overlapMs, ...more })
  const cursor = async () => (await w.cursor(resource)) ?? {}
  const update = (columns: object) =>
    w.warehouse.write([w.warehouse.db.updateTable('sync_cursors').set(columns).compile()])
  const isFetched = async (): Promise<boolean> => (await liveIds(w.warehouse, resource)).includes(late)
  const measured = async () =>
    (await rowsOf(w.warehouse, 'sync_lateness')).map(({ records, largest_us }) => [
      Number(records),
      Number(largest_us) / 1e6,
    ])
  /** At that time, a record changes and an event announces it. */
  async function ring(seconds: number, id = 1000 + seconds): Promise<void> {
    at(seconds)
    put(id, later(seconds))
    await w.put({ resource, id, version: later(seconds) })
    await w.turn({ overlapMs })
  }

  /** A record becomes visible that late, after a ring has passed it. Further rings move the watermark beyond it. */
  async function comesLate(stamp: number, lateness: number): Promise<void> {
    await ring(stamp + lateness - 5)
    at(stamp + lateness)
    put(late, later(stamp))
    const last = stamp + lateness + 20 + overlapMs / 1000
    for (const time of [stamp + lateness + 15, last]) await ring(time)
    expect(await cursor()).toMatchObject({ completeness: 'proven', watermark: later(last) })
    expect(await isFetched()).toBe(false)
    at(stamp + lateness + 60 + overlapMs / 1000)
  }

  /** A synced list. It is known that its records come in time, so rings go back by half a minute. */
  async function prepare(name = 'payments', overlap = 60_000): Promise<void> {
    ;[resource, overlapMs] = [name, overlap]
    for (let id = 1; id <= 5; id++) put(id, later(-3600 * id))
    await plan()
    const day = { resource, day: begin.slice(0, 10), way: 'walk' } as const
    const buckets = [{ upToMs: 0, records: 1000, largestMicros: 0 }]
    await w.warehouse.write(addLateness(w.warehouse.db, day, buckets))
  }

  it.each([
    ['45 seconds late, with an overlap of a minute, in a list that others ring', 'payments', 60_000, 45],
    ['45 seconds late, with an overlap of a minute, whose event was lost', 'repair_orders', 60_000, 45],
    ['two minutes late, with the default overlap, in a list that others ring', 'payments', 300_000, 120],
    ['two minutes late, with the default overlap, whose event was lost', 'repair_orders', 300_000, 120],
  ])('the next planned walk fetches a record that came %s', async (_, name, overlap, seconds) => {
    await prepare(name, overlap)
    await comesLate(100, seconds)
    const report = only(await plan(), name)
    expect(report).toMatchObject({ status: 'ok', completeness: 'proven', requests: 1, records_changed: 1 })
    expect(await isFetched()).toBe(true)
    // Half a minute of its lateness is certain: no ring that went back far enough has found it.
    const through = later(100 + seconds + 60 + overlap / 1000 - 30)
    expect(await cursor()).toMatchObject({ complete_through: through })
    // An idle walk costs a request, and the next one starts at this one's watermark.
    const { watermark } = await cursor()
    const idle = async () =>
      expect(only(await plan(), name)).toMatchObject({ requests: 1, records_changed: 0 })
    expect(await w.floor(idle, name)).toBe(floorOf(String(watermark), overlap))
  })

  it('the next planned walk fetches a late record also behind a hole that a ring met', async () => {
    await prepare()
    const hole = { after: later(90), until: later(140), records: 1 }
    await update({ remembered: JSON.stringify({ holes: [hole] }) })
    await ring(140)
    put(late, later(100))
    await ring(300)
    expect(JSON.stringify((await cursor()).remembered)).not.toContain('from')
    await plan()
    expect(await cursor()).toMatchObject({ completeness: 'proven', remembered: null })
    expect(await isFetched()).toBe(true)
  })

  it('rings measure no lateness; planned walks count what rings fetched, and measure from each other', async () => {
    await prepare()
    await ring(3)
    await ring(5)
    expect(await measured()).toEqual([[1000, 0]])
    expect(await cursor()).toMatchObject({ walked_at: later(0), planned_watermark: later(-3600) })
    at(8)
    put(late, later(-40))
    await ring(20)
    await ring(120)
    expect(await isFetched()).toBe(false)
    at(130)
    await plan()
    // The record was stamped 40 s before the first planned walk began.
    expect(await measured()).toEqual(expect.arrayContaining([[1, 40]]))
    expect((await measured()).find(([, seconds]) => seconds === 0)).toEqual([1004, 0])
    const planned = { walked_at: later(130), planned_watermark: later(120), complete_through: later(90) }
    expect(await cursor()).toMatchObject(planned)
    // Rings go back further from now on, and claim less.
    expect(await w.floor(() => ring(140), resource)).toBe(floorOf(later(120), 60_000))
    expect(await cursor()).toMatchObject({ complete_through: later(100), walked_at: later(130) })
  })

  it('a record that a ring does find late counts as late', async () => {
    await prepare()
    put(late, later(-10))
    await ring(3)
    expect(await isFetched()).toBe(true)
    expect(await measured()).toEqual(expect.arrayContaining([[1, 10]]))
    expect(await cursor()).toMatchObject({ complete_through: later(-7) })
  })

  it('reconcile starts where the next planned walk does', async () => {
    await prepare()
    await comesLate(100, 45)
    // Its walk has fetched the record, so its comparison found nothing.
    expect(only(await plan({ mode: 'reconcile' }), resource)).toMatchObject({
      completeness: 'proven',
      reconciled: { stored: 0, deleted: 0 },
    })
    expect(await isFetched()).toBe(true)
  })

  it('in a warehouse without the column, starts at the last planned walk in the history of runs', async () => {
    await prepare()
    const forget = () => update({ planned_watermark: null })
    await forget()
    await comesLate(100, 45)
    await forget()
    await plan()
    expect(await isFetched()).toBe(true)
    // If none is on record, the list is read completely, unless no ring can have moved the watermark.
    const floorWithout = async (...modes: string[]) => {
      await forget()
      await w.warehouse.db.deleteFrom('sync_run_cursors').where('mode', 'in', modes).execute()
      return w.floor(plan, resource)
    }
    expect(await floorWithout('sync')).toMatch(/^0001/)
    const { watermark } = await cursor()
    expect(await floorWithout('sync', 'events')).toBe(floorOf(String(watermark), overlapMs))
  })
})
