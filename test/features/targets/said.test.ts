/** What `plan`, `status`, alerts and the metrics show about targets; nothing without targets. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { template } from '../../../src/sandbox/index.js'
import { type Place, syncedPlace } from '../../support/harness/place.js'

const targets = { '*': 'PT6H', repair_orders: 'PT15M' }

interface Freshness {
  readonly needed_for_most: number
  readonly needed_for_all: number
  readonly share: number | null
}

describe('plan', () => {
  let here: Place
  beforeAll(async () => {
    // Of a window of a second, no answer is so late that it is taken for a shorter one.
    here = await syncedPlace({ tenants: 2, repairOrders: 4, rate: { limit: 100, window: 1 } }, { targets })
  })
  afterAll(() => here.remove())

  const plan = async (...words: string[]): Promise<Freshness | undefined> =>
    (await here.run('plan', ...words, '--json')).json<{ readonly freshness?: Freshness }>().freshness

  it('shows how many requests the targets take, what the rate limit allows, and what to expect', async () => {
    const said = await plan()
    expect(said).toMatchObject({ lists: 42, window: 360_000, stretched: false, longest_wait_seconds: 86_400 })
    // Two lists every 15 minutes, 40 every 6 hours.
    expect(said?.needed_for_all).toBe(Math.ceil(2 * 4 + 40 / 6))
    expect(said?.share).toBe(1)
    const { stdout } = await here.run('plan')
    expect(stdout).toMatch(
      /^Freshness: for 95% of changes to arrive within their targets, runs need \d+ requests an hour; for all of them, always, 15\.\nThe rate limit gives [\d,]+ an hour \(100 in .*, counted by partner\): 100% of changes should arrive within target\.\n {2}repair_orders PT15M 100%, .*18 more: --json\. Longest wait of any list: 1 d/m,
    )
  })

  it('counts only the changes of lists with a target, and shows no share if none has one', async () => {
    here.configure({ targets: { repair_orders: 'PT15M' } })
    const said = await plan()
    expect(said).toMatchObject({ lists: 42, share: 1, needed_for_all: Math.ceil(2 * 4 + 40 / 24) })
    expect(said?.needed_for_most).toBeLessThanOrEqual(said?.needed_for_all ?? 0)
    // Of the orders alone, 95% take nearly as many polls as all.
    expect(said?.needed_for_most).toBeGreaterThanOrEqual(8)
    const { stdout } = await here.run('plan', '--resource', 'payments')
    expect(stdout).toContain(
      'Freshness: none of 2 lists has a target; polling each within polling.atLeast needs 1 request an hour.',
    )
    // The length of so short a window is a guess.
    expect(stdout).toMatch(
      /^The rate limit gives [\d,]+ an hour \(.*\)\.\n {2}Longest wait of any list: 1 d\./m,
    )
    expect(await plan('--resource', 'payments')).toMatchObject({ lists: 2, share: null, resources: [] })
  })

  it('omits that without targets, for other runs, and before the first run', async () => {
    here.configure({})
    expect(await plan()).toBeUndefined()
    expect((await here.run('plan')).stdout).not.toContain('Freshness')
    here.configure({ targets })
    expect((await here.run('plan', 'reconcile')).stdout).not.toContain('Freshness')
    here.configure({ targets, warehouse: { url: 'sqlite:./other.db' } })
    expect((await here.run('plan')).code).toBe(0)
    expect(await plan()).toBeUndefined()
  })
})

describe('what was counted', () => {
  const resources = ['notes', 'repair_orders', 'shops', 'vehicles']
  let here: Place
  let textfile: string
  let alerted: string
  beforeAll(async () => {
    const rate = { limit: 100_000, window: 60 }
    here = await syncedPlace({ tenants: 2, repairOrders: 4, rate }, { targets, sync: { resources } })
    textfile = join(here.folder, 'targets.prom')
    alerted = join(here.folder, 'alerted.txt')
  })
  afterAll(() => here.remove())

  const configure = (more: Record<string, object>): void =>
    here.configure({ sync: { resources }, metrics: { textfile }, ...more })

  interface Told {
    readonly resource: string
    readonly oldest_poll_at: string
    readonly oldest_poll_seconds: number
  }
  const status = async (): Promise<readonly Told[] | undefined> =>
    (await here.run('status', '--json')).json<{ readonly freshness?: readonly Told[] }>().freshness

  const metrics = (): string => readFileSync(textfile, 'utf8')

  function inWarehouse(statement: string): void {
    const db = new Database(join(here.folder, 'data/warehouse.db'))
    db.exec(statement)
    db.close()
  }

  /** A change made this many minutes ago, which the next sync finds. */
  async function changed(id: number, minutesAgo: number): Promise<void> {
    const at = new Date(Date.now() - minutesAgo * 60_000).toISOString()
    here.sandbox.store.put(101, 'repair_orders', template('repair_orders', id, at))
    inWarehouse(
      `update sync_cursors set watermark = '2020-01-01T00:00:00.000000Z' where tenant_id = 101 and resource = 'repair_orders'`,
    )
    expect(await here.run('sync')).toMatchObject({ code: 0 })
  }

  it('status and the metrics show each target, what was in time within 24 hours, and the oldest poll', async () => {
    configure({ targets })
    await changed(9001, 5)
    await changed(9002, 40)
    const said = await status()
    expect(said).toHaveLength(resources.length)
    const orders = said?.find(({ resource }) => resource === 'repair_orders')
    expect(orders).toMatchObject({ target_seconds: 900, met: 1, missed: 1 })
    expect(orders?.oldest_poll_seconds).toBeLessThan(600)
    const { stdout, code } = await here.run('status')
    expect(stdout).toMatch(/^ {2}repair_orders PT15M: 50% of 2 changes in time, oldest poll 20/m)
    expect(stdout).toMatch(/^ {2}vehicles PT6H: no changes, oldest poll 20/m)
    expect(code).toBe(0)
    expect(metrics()).toContain('shopsync_changes_total{met="true",resource="repair_orders"} 1\n')
    expect(metrics()).toContain('shopsync_changes_total{met="false",resource="repair_orders"} 1\n')
    expect(metrics()).toContain('shopsync_target_seconds{resource="repair_orders"} 900\n')
    expect(metrics()).toMatch(/^shopsync_oldest_poll_seconds\{resource="vehicles"\} [\d.]+$/m)
  })

  it('without targets they show nothing of it', async () => {
    configure({})
    expect(await status()).toBeUndefined()
    expect((await here.run('status')).stdout).not.toContain('Targets')
    await here.run('sync')
    expect(metrics()).not.toMatch(/shopsync_(changes_total|target_seconds|oldest_poll)/)
  })

  it('behind_target opens if most changes came late, only for rules that name it, and is over when they come in time', async () => {
    const command = ['sh', '-c', `cat >> ${alerted}`]
    const told = (): string => (existsSync(alerted) ? readFileSync(alerted, 'utf8') : '')
    inWarehouse('delete from sync_delays')
    configure({ targets, alerts: { rules: [{ command }] } })
    await changed(9003, 40)
    expect(told()).not.toContain('behind_target')
    expect((await here.run('status')).code).toBe(0)
    configure({ targets, alerts: { rules: [{ on: ['behind_target'], command }] } })
    // Everything was late, but not for an hour yet.
    await changed(9004, 41)
    expect(told()).not.toContain('behind_target')
    expect((await here.run('status')).code).toBe(0)
    // As if everything counted so far were part of the last full hour.
    const since = new Date(Date.now() - 3_600_000).toISOString().slice(0, 13)
    inWarehouse(`update sync_delays set hour = '${since}:00:00.000000Z'`)
    expect(await here.run('sync')).toMatchObject({ code: 0 })
    expect(told()).toContain(`${since}:00:00`)
    expect(told()).toMatch(/"opened".*repair_orders: 2 of 2 changes missed the target of PT15M/)
    expect((await here.run('status')).code).toBe(1)
    for (const id of [9005, 9006, 9007]) await changed(id, 1)
    expect(told()).toMatch(/"resolved".*repair_orders/)
  })

  it('lists that the configuration leaves out make no poll old', async () => {
    configure({ targets })
    inWarehouse(
      `update sync_cursors set polled_at = '2020-01-01T00:00:00.000000Z' where tenant_id = 102 or resource = 'notes'`,
    )
    const oldOf = async (): Promise<(string | undefined)[]> =>
      ((await status()) ?? []).flatMap(({ resource, oldest_poll_at: at }) =>
        at.startsWith('2020') ? resource : [],
      )
    /** Where the operator's page shows a poll of 2020. */
    const operations = async (): Promise<readonly string[]> => {
      expect(await here.run('report', '--operations')).toMatchObject({ code: 0 })
      return readFileSync(join(here.folder, 'operations.html'), 'utf8').match(/\b2020\b/g) ?? []
    }
    expect((await oldOf()).toSorted()).toEqual(resources)
    expect((await operations()).length).toBeGreaterThan(2)
    for (const left of [{ exceptTenants: [102] }, { tenants: [101] }]) {
      configure({ targets, sync: { ...left, resources: ['vehicles', 'shops'] } })
      expect(await oldOf()).toEqual([])
      expect(await operations()).toEqual([])
      expect(await here.run('sync', '--tenant', '101')).toMatchObject({ code: 0 })
      const ages = [...metrics().matchAll(/^shopsync_oldest_poll_seconds.* ([\d.]+)$/gm)]
      expect(ages).toHaveLength(2)
      for (const [, age] of ages) expect(Number(age)).toBeLessThan(600)
    }
  })
})
