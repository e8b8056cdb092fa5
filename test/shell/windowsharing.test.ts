/** Commands beside a run that shares its rate-limit window take from its row (docs/scale.md, One rate window). */
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { inFile } from '../support/harness/databases.js'
import { metricsOf } from '../support/harness/metrics.js'
import { viewedPlace } from '../support/harness/place.js'
import { eventBody } from '../support/harness/receiver.js'
import { listenHere } from '../support/harness/uphere.js'
import { reopen } from '../support/harness/warehouse.js'

/** Of so long a window that no test meets its end. */
const rate = { limit: 10_000, window: 43_200 }
const resources = ['repair_orders', 'payments', 'customers']

const here = await viewedPlace({ repairOrders: 3, tenants: 2, rate })
here.configure({ sync: { resources }, schedule: { listen: { port: 0 } } })

const file = (): string => join(here.folder, 'data/warehouse.db')
const taken = (from = file()): number | undefined =>
  inFile(from, (db) => db.prepare<[], number>('select taken from sync_rate').pluck().get())

/** As a shard of this warehouse would have left it. */
const share = (resetsAt: number): void => {
  const row = `('42', ${resetsAt}, 10000, 5000)`
  const insert = `insert into sync_rate (rule, resets_at, "limit", taken) values ${row}`
  inFile(file(), (db) => db.exec(`delete from sync_rate; ${insert}`))
}
const thisWindow = (): number => (Math.floor(Date.now() / 1000 / rate.window) + 1) * rate.window

describe('a shared window', () => {
  it('is of no concern to a single process', async () => {
    expect((await here.run('sync')).code).toBe(0)
    expect(taken()).toBe(undefined)
    share(thisWindow() - rate.window)
    expect((await here.run('verify')).code).toBe(0)
    expect(taken()).toBe(5000)
  })

  it.each([['verify'], ['plan', 'reconcile'], ['check']])('is shared by %s', async (...words) => {
    share(thisWindow())
    await here.run(...words)
    // A hundredth, and the requests it had sent when it found the row.
    expect(taken()).toBeGreaterThan(5100)
    expect(taken()).toBeLessThan(5150)
  })

  it('is shared by a listener, and shown as a metric', async () => {
    share(thisWindow())
    const listening = await listenHere(here.folder, here.sandbox.secret)
    const [tenant = 0] = here.sandbox.tenantIds
    const [id = 0] = here.sandbox.store.ids(tenant, 'repair_orders')
    // The first list that it asks for shows it the row.
    for (let i = 0; taken() === 5000 && i < 100; i++) {
      const body = eventBody({ tenant, record: id, id: `e${i}` })
      await fetch(listening.url, { method: 'POST', headers: { 'x-api-secret': here.sandbox.secret }, body })
      await new Promise((resolve) => setTimeout(resolve, 200))
    }
    expect(taken()).toBeGreaterThan(5100)
    expect((await listening.end()).code).toBe(0)
    const warehouse = await reopen({ url: `sqlite:${file()}`, schema: '' })
    expect((await metricsOf(warehouse)).all('rate_left')).toMatchObject([
      { labels: { rule: '42' }, value: rate.limit - (taken() ?? 0) },
    ])
    share(thisWindow() - rate.window)
    expect((await metricsOf(warehouse)).all('rate_left')).toEqual([])
  })

  it('stays behind when the warehouse is copied', async () => {
    share(thisWindow())
    expect((await here.run('copy', '--to', 'sqlite:./data/copy.db')).code).toBe(0)
    expect(taken(join(here.folder, 'data/copy.db'))).toBe(undefined)
  })
})
