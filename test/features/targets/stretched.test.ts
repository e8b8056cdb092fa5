/** A rate limit that is too small for `polling.atLeast`: what status, alerts, metrics and the report then call stale. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { addMicros, canonical } from '../../../src/engine/base/timestamp.js'
import type { StatusReport } from '../../../src/features/health/statusdocument.js'
import { withDelays } from '../../../src/features/targets/tables.js'
import { template } from '../../../src/sandbox/index.js'
import { type Address, type Place, place } from '../../support/harness/place.js'
import { reopen, type Warehouse, warehouses } from '../../support/harness/warehouse.js'

const targets = { '*': 'PT1M' }
/** The shortest that goes with `atLeast`: an hour and a minute. */
const staleAfter = 'PT1H1M'

let here: Place
let address: Address
let warehouse: Warehouse
let rate = { limit: 1000, window: 3600 }
const ago = (minutes: number): string =>
  addMicros(canonical(new Date().toISOString()) ?? '', BigInt(-minutes) * 60_000_000n)

/** 42 lists a minute are 2,520 requests an hour, and half of the limit gives 500: lists wait 5 minutes. */
async function begin(kind: ReturnType<typeof warehouses>[number], limit: number): Promise<void> {
  rate = { limit, window: 3600 }
  here = await place({ tenants: 2, repairOrders: 4, rate })
  address = await kind.viewed()
  configure()
  // Late in an hour, one answer of a limit says nothing of how long its window is.
  expect(await here.run('migrate')).toMatchObject({ code: 0 })
  warehouse = await reopen(address)
  await seen({ limit, seconds: 3600 })
  expect(await here.run('sync', '--due')).toMatchObject({ code: 0 })
}
const seen = (window: object): Promise<number> =>
  warehouse.write([
    warehouse.db.deleteFrom('sync_meta').where('name', '=', 'rate window').compile(),
    warehouse.db
      .insertInto('sync_meta')
      .values({ name: 'rate window', value: JSON.stringify(window) })
      .compile(),
  ])
const configure = (more: Record<string, object> = {}): void =>
  here.configure({
    ...{ targets, polling: { atLeast: 'PT1M' }, status: { staleAfter } },
    warehouse: { url: address.url, ...(address.url.startsWith('sqlite') ? {} : { schema: address.schema }) },
    ...more,
  })
afterEach(() => here.remove())

/** Lets the last success of each list be so long ago. */
const age = (minutes: number): Promise<number> =>
  warehouse.write([
    warehouse.db
      .updateTable('sync_cursors')
      .set({ last_success_at: ago(minutes) })
      .compile(),
  ])

const status = async (): Promise<StatusReport> => (await here.run('status', '--json')).json<StatusReport>()
const states = ({ cursors }: StatusReport): string[] => [...new Set(cursors.map(({ state }) => state))]

describe.each(warehouses())('$name', (kind) => {
  it('stale means beyond the stretched bound, and status tells why lists wait', async () => {
    await begin(kind, 1000)
    await age(63)
    const well = await status()
    expect(states(well)).toEqual(['ok'])
    expect(well).toMatchObject({
      healthy: true,
      stale_after_seconds: Math.round((42 / 500 + 1) * 3600),
      stretched_polling: { lists: 42, window: 1000, needed_for_bound: 5040, longest_wait_seconds: 302 },
    })
    expect((await here.run('status')).stdout).toContain(
      "✗ Polling each of 42 lists within polling.atLeast needs a rate limit of 5,040 requests an hour, and there are 1,000: some lists wait 5 min 2 s. Set a longer polling.atLeast, or ask the source's operator for a larger limit.",
    )
    await age(66)
    expect(states(await status())).toEqual(['stale'])
  })

  it('the alert, the metrics and the operator’s page know the same bound', async () => {
    await begin(kind, 1000)
    const file = join(here.folder, 'told.txt')
    const textfile = join(here.folder, 'shopsync.prom')
    configure({
      alerts: { rules: [{ on: ['stale'], command: ['sh', '-c', `cat >> ${file}`] }] },
      metrics: { textfile },
      sync: { tenants: [101] },
    })
    await age(63)
    await here.run('sync', '--resource', 'notes')
    expect(readFileSync(textfile, 'utf8')).toContain('shopsync_cursors{state="stale"} 0\n')
    expect(() => readFileSync(file)).toThrow('ENOENT')
    await here.run('report', '--operations', '--out', 'operations.html')
    expect(readFileSync(join(here.folder, 'operations.html'), 'utf8')).toMatch(
      /Targets, last 24 hours[\s\S]*some lists wait 5 min 2 s/,
    )
    await age(66)
    await here.run('sync', '--resource', 'notes')
    expect(readFileSync(textfile, 'utf8')).toContain('shopsync_cursors{state="stale"} 20\n')
    expect(readFileSync(file, 'utf8')).toContain('"kind":"stale"')
  })

  it('a round under a larger limit, and a configuration without targets, take the bound back', async () => {
    await begin(kind, 1000)
    await age(63)
    configure({ targets: { '*': 'PT1M' }, polling: { atLeast: 'PT10M' }, status: { staleAfter: 'PT70M' } })
    expect((await status()).stretched_polling).toBeUndefined()
    here.configure({
      status: { staleAfter },
      warehouse: {
        url: address.url,
        ...(address.url.startsWith('sqlite') ? {} : { schema: address.schema }),
      },
    })
    expect(states(await status())).toEqual(['stale'])
    configure()
    expect(states(await status())).toEqual(['ok'])
    rate.limit = 100_000
    await seen({ limit: 100_000, seconds: 3600, resetsAt: 0 })
    expect(await here.run('sync', '--due')).toMatchObject({ code: 0 })
    await age(63)
    expect(states(await status())).toEqual(['stale'])
  })

  it('a run late in a window knows from earlier ones how long windows are; of another limit it knows nothing', async () => {
    await begin(kind, 1000)
    const length = async (): Promise<unknown> =>
      (await here.run('plan', '--json')).json<{ rate: { window_seconds: number } }>().rate.window_seconds
    await seen({ limit: 1000, seconds: 86_400, resetsAt: 0 })
    expect(await length()).toBe(86_400)
    await seen({ limit: 999, seconds: 86_400, resetsAt: 0 })
    expect(await length()).toBeLessThanOrEqual(3600)
    expect(await here.run('sync', '--due')).toMatchObject({ code: 0 })
    const row = warehouse.db.selectFrom('sync_meta').select('value').where('name', '=', 'rate window')
    const kept = async (): Promise<{ limit: number; seconds: number }> =>
      JSON.parse((await row.executeTakeFirst())?.value ?? '')
    expect(await kept()).toMatchObject({ limit: 1000 })
    // The end of a later window shows that windows aren't that long.
    await seen({ limit: 1000, seconds: 86_400, resetsAt: Date.now() - 3_600_000 })
    expect(await here.run('sync', '--due')).toMatchObject({ code: 0 })
    expect((await kept()).seconds).toBeLessThan(7300)
  })

  it('a round over some lists takes nothing back', async () => {
    await begin(kind, 1000)
    expect(await here.run('sync', '--due', '--tenant', '101')).toMatchObject({ code: 0 })
    expect((await status()).stretched_polling).toMatchObject({ lists: 42 })
  })

  it('sync_delays keeps history.keep, and no hour longer', async () => {
    await begin(kind, 100_000)
    const hour = (days: number): string => `${ago(days * 1440).slice(0, 13)}:00:00.000000Z`
    const delays = withDelays(warehouse.db)
    const old = [20, 5].map((days) => ({ resource: 'notes', hour: hour(days), met: 1, missed: 0 }))
    await warehouse.write([delays.insertInto('sync_delays').values(old).compile()])
    configure({ history: { keep: 'P10D' } })
    here.sandbox.store.put(101, 'notes', template('notes', 900, ago(0)))
    const earlier = { polled_at: ago(30), watermark: '2020-01-01T00:00:00.000000Z' }
    await warehouse.write([warehouse.db.updateTable('sync_cursors').set(earlier).compile()])
    expect(await here.run('sync', '--due')).toMatchObject({ code: 0 })
    const kept = await delays.selectFrom('sync_delays').selectAll().where('resource', '=', 'notes').execute()
    expect(kept.map((row) => row.hour).toSorted()).toEqual([hour(5), hour(0)])
  })
})
