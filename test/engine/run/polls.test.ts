/** Each walk keeps what polls find: how many new and changed records, in how many hours. */
import { describe, expect, it } from 'vitest'
import { addMicros } from '../../../src/engine/base/timestamp.js'
import { countDelays } from '../../../src/features/targets/delays.js'
import { withDelays } from '../../../src/features/targets/tables.js'
import { template } from '../../../src/sandbox/index.js'
import { polled, type RunOptions, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { kept, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { HandClock } from '../../support/world/clocks.js'
import { only } from '../../support/world/notes.js'

const begin = '2026-03-01T00:00:00.000000Z'
const clock = new HandClock(begin)
const sandbox = await sandboxOfFile({ data: 'none', clock })
const options: RunOptions = { resources: ['notes'], clock: clock.skewed }

const later = (seconds: number): string => addMicros(begin, BigInt(seconds) * 1_000_000n)
const wait = (hours: number): void => clock.pass(hours * 3_600_000)
const put = (id: number, time: string): void => sandbox.store.put(1, 'notes', template('notes', id, time))

function prepare(count: number): void {
  clock.micros = BigInt(Date.parse(begin)) * 1000n
  clock.skew = 0n
  sandbox.reset()
  sandbox.store.addTenant({ id: 1 })
  for (let id = 1; id <= count; id++) put(id, later(-3600 * (count + 1 - id)))
}

async function polls(warehouse: Warehouse, resource = 'notes') {
  const row = (await rowsOf(warehouse, 'sync_cursors')).find((one) => one.resource === resource)
  const number = (value: unknown): number | null => (value === null ? null : Number(value))
  return {
    polledAt: row?.polled_at,
    news: number(row?.news),
    unannounced: number(row?.news_unannounced),
    hours: number(row?.news_hours),
  }
}

async function quiet(warehouse: Warehouse) {
  const [row] = await rowsOf(warehouse, 'sync_cursors')
  return { since: row?.quiet_since, polls: Number(row?.quiet_polls), usual: Number(row?.usual_news) }
}

const weight = (hours: number): number => Math.exp(-hours / 168)

describe.each(warehouses())('$name', (kind) => {
  const place = kept(kind)
  it('a poll adds what it found and the hours since the last one; older data weighs less', async () => {
    prepare(5)
    const warehouse = await place.open()
    await sync(sandbox, warehouse, options)
    expect(await polls(warehouse)).toEqual({ polledAt: begin, news: null, unannounced: null, hours: null })
    wait(2)
    for (const id of [2, 3, 6]) put(id, later(3600 + id))
    await sync(sandbox, warehouse, options)
    expect(await polls(warehouse)).toEqual({ polledAt: later(7200), news: 3, unannounced: 3, hours: 2 })
    wait(168)
    expect(only(await sync(sandbox, warehouse, options))).toMatchObject({ requests: 1, rows_upserted: 0 })
    const { news, hours } = await polls(warehouse)
    expect(news).toBeCloseTo(3 * weight(168), 5)
    expect(hours).toBeCloseTo(2 * weight(168) + 168, 5)
  })

  it('one import counts as 20; several pages are one poll', async () => {
    prepare(5)
    const warehouse = await place.open()
    await sync(sandbox, warehouse, options)
    wait(1)
    for (let id = 10; id < 260; id++) put(id, later(1800 + id))
    await sync(sandbox, warehouse, options)
    expect(await polls(warehouse)).toMatchObject({ news: 20, hours: 1 })
  })

  it('first loads, --full and lists that are read again do not count', async () => {
    prepare(5)
    const warehouse = await place.open()
    await sync(sandbox, warehouse, options)
    wait(3)
    put(7, later(3600))
    await sync(sandbox, warehouse, { ...options, mode: 'full' })
    expect(await polls(warehouse)).toEqual({
      polledAt: later(3 * 3600),
      news: null,
      unannounced: null,
      hours: null,
    })
  })

  it('a clock that jumps ahead by years, and back again, leaves an estimate that recovers', async () => {
    prepare(5)
    const warehouse = await place.open()
    await sync(sandbox, warehouse, options)
    clock.skew = 3_000_000_000_000_000n
    await sync(sandbox, warehouse, options)
    clock.skew = 0n
    wait(1)
    await sync(sandbox, warehouse, options)
    const { polledAt, hours } = await polls(warehouse)
    expect(polledAt).toBe(later(3600))
    expect(hours).toBeLessThanOrEqual(720)
  })

  it('a poll after one whose clock was ahead counts nothing, since its interval is unknown', async () => {
    prepare(5)
    const warehouse = await place.open()
    await sync(sandbox, warehouse, options)
    wait(2)
    clock.skew = 86_400_000_000n
    await sync(sandbox, warehouse, options)
    const ahead = await polls(warehouse)
    expect(ahead).toMatchObject({ polledAt: later(26 * 3600), news: 0, hours: 26 })
    clock.skew = 0n
    wait(1)
    for (const id of [6, 7, 8]) put(id, later(2.5 * 3600 + id))
    await sync(sandbox, warehouse, options)
    expect(await polls(warehouse)).toEqual({ ...ahead, polledAt: later(3 * 3600) })
    wait(1)
    put(9, later(3.5 * 3600))
    await sync(sandbox, warehouse, options)
    const { news, hours } = await polls(warehouse)
    expect(news).toBe(1)
    expect(hours).toBeCloseTo(26 * weight(1) + 1, 5)
  })

  it('complete polls that find nothing count since the last one that found something', async () => {
    prepare(5)
    const warehouse = await place.open()
    const round = async (): Promise<string> => {
      wait(1)
      return String(only(await sync(sandbox, warehouse, options))?.completeness)
    }
    await sync(sandbox, warehouse, options)
    put(6, later(3000))
    await round()
    // In an hour, three of them; but in a week no more.
    const usual = (24 * 3) / 168
    for (const id of [7, 8]) put(id, later(3600 + id))
    await round()
    const since = later(2 * 3600)
    expect(await quiet(warehouse)).toMatchObject({ since, polls: 0, usual: expect.closeTo(usual, 2) })
    await round()
    expect(await quiet(warehouse)).toMatchObject({ since, polls: 1, usual: expect.closeTo(usual, 2) })
    sandbox.script([{ when: { tenant: 1, resource: 'notes' }, fault: { kind: 'status', status: 500 } }])
    await round()
    sandbox.script([{ when: { nth: 1 }, before: { kind: 'poison', tenant: 1, resource: 'notes', ids: [8] } }])
    expect(await round()).toBe('unproven')
    expect(await quiet(warehouse)).toMatchObject({ since, polls: 1 })
    sandbox.script([{ when: { nth: 1 }, before: { kind: 'heal', tenant: 1, resource: 'notes' } }])
    await round()
    expect(await quiet(warehouse)).toMatchObject({ since, polls: 2 })
    wait(1)
    await sync(sandbox, warehouse, { ...options, mode: 'full' })
    expect(await quiet(warehouse)).toMatchObject({ since, polls: 2 })
    put(9, later(7 * 3600 + 60))
    await round()
    expect(await quiet(warehouse)).toMatchObject({
      since: expect.stringMatching(/^2026-03-01T08:00/),
      polls: 0,
    })
  })

  it('a list of names counts its new names', async () => {
    prepare(1)
    sandbox.store.tenant(1).strings.set('customer_payment_types', ['cash'])
    const names = { ...options, resources: ['customer_payment_types'] }
    const warehouse = await place.open()
    await sync(sandbox, warehouse, names)
    wait(1)
    sandbox.store.tenant(1).strings.set('customer_payment_types', ['cash', 'card', 'check'])
    await sync(sandbox, warehouse, names)
    expect(await polls(warehouse, 'customer_payment_types')).toMatchObject({ news: 2, hours: 1 })
  })

  it("with targets, each change counts as met or missed by the source's clock", async () => {
    prepare(5)
    const warehouse = await place.open()
    const arrived = countDelays({ targetOf: () => 1_800_000 })
    const counted = { ...options, arrived }
    await sync(sandbox, warehouse, counted)
    wait(1)
    // Our clock runs two hours ahead, so it doesn't show how long a change took.
    clock.skew = 7_200_000_000n
    put(6, later(600))
    put(7, later(3000))
    put(8, later(3590))
    await sync(sandbox, warehouse, counted)
    const rows = () => warehouse.read((db) => withDelays(db).selectFrom('sync_delays').selectAll().execute())
    const row = { resource: 'notes', hour: later(3 * 3600) }
    expect(await rows()).toEqual([{ ...row, met: 2, missed: 1 }])
    put(9, later(3600))
    await sync(sandbox, warehouse, counted)
    expect(await rows()).toEqual([{ ...row, met: 3, missed: 1 }])
  })

  it('without targets, nothing is counted by target', async () => {
    prepare(2)
    const warehouse = await place.open()
    await sync(sandbox, warehouse, options)
    put(3, later(60))
    wait(1)
    await sync(sandbox, warehouse, options)
    const rows = await warehouse.read((db) => withDelays(db).selectFrom('sync_delays').selectAll().execute())
    expect(rows).toEqual([])
  })
})

it('a poll before the last one, under a clock that was set back, counts nothing', () => {
  const before = { polledAt: later(3600), news: 1, unannounced: 1, hours: 5 }
  const found = { news: 2, unannounced: 0 }
  const quietFrom = { quiet_since: later(0), quiet_polls: 0 }
  expect(polled(before, later(0), found)).toEqual({ polled_at: later(0), ...quietFrom })
  // Nothing is quiet since a time that has not come.
  const ahead = { ...before, quietSince: later(1800), quietPolls: 2 }
  expect(polled(ahead, later(0), { ...found, news: 0 })).toEqual({ polled_at: later(0), ...quietFrom })
})
