/** Lists that bring nothing although they usually do: how soon they are found, how seldom in vain, and what people read. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, describe, expect, it } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import type { QuietList } from '../../../src/features/health/quietlists.js'
import { readStatus, type StatusReport } from '../../../src/features/health/statusdocument.js'
import { statusText } from '../../../src/features/health/words.js'
import type { Why } from '../../../src/features/why/work.js'
import { createSandbox, template } from '../../../src/sandbox/index.js'
import { syncedPlace } from '../../support/harness/place.js'
import { scratch } from '../../support/harness/scratch.js'
import { closeAll } from '../../support/harness/server.js'
import { isWhole, sized } from '../../support/harness/size.js'
import { open, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { AlertingWorld, lineOf, receiver, ruleOf } from '../../support/world/alerting.js'
import { playYear } from '../../support/world/quietyear.js'

describe('a simulated year', () => {
  const lists = sized(12, 400)
  const incidentsIn = (played: ReturnType<typeof playYear>): number =>
    played.reduce((sum, { incidents }) => sum + incidents, 0)

  it('calls at most one list in a hundred quiet while the source is well', () => {
    const played = playYear({ lists, seed: 1 })
    expect(played.filter(({ usual }) => usual > 21).length).toBeGreaterThan(lists / 40)
    expect(incidentsIn(played)).toBeLessThanOrEqual(lists / 100)
  })

  it('finds a source that serves the copy of some day on the fourth day, at whatever hour that began', () => {
    const frozenAt = (list: number): number => 40 * 24 + ((list * 37) % 168)
    const played = playYear({ lists: sized(36, 400), seed: 2, days: 50, frozenAt })
    const busy = played.filter(({ usual }) => usual > 21)
    expect(busy.length).toBeGreaterThan(1)
    for (const { found } of busy) {
      expect(found?.hours).toBeGreaterThanOrEqual(72)
      expect(found?.hours).toBeLessThanOrEqual(96)
    }
  })

  it.runIf(isWhole())('with long weekends needs a rule that waits for two days', () => {
    const days = [14, 42, 140, 179, 245, 325, 326, 354]
    const closed = { lists: 100, seed: 1, holidays: new Set(days) }
    expect(incidentsIn(playYear(closed))).toBeGreaterThan(10)
    expect(incidentsIn(playYear({ ...closed, after: 48 }))).toBeLessThanOrEqual(2)
  })
})

const closers: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
  await closeAll()
})

const names = { 101: 'Main Street Auto' }

async function statusOf(warehouse: Warehouse, { clock, sandbox }: AlertingWorld): Promise<StatusReport> {
  return readStatus({
    ...{ warehouse, label: 'here', source: { baseUrl: sandbox.url, partnerId: sandbox.partnerId } },
    ...{ tenants: null, exceptTenants: [], shards: 0, resources: ['notes', 'payments'] },
    ...{ staleAfterMs: 86_400_000, deletesUncheckedAfterMs: 86_400_000_000, nowMicros: clock.nowMicros() },
  })
}

describe.each(warehouses())('$name', (kind) => {
  it('a list that stops is quiet after three days and three polls, until something comes', async () => {
    const sandbox = await createSandbox({ data: 'none', tenants: [{ id: 101 }, { id: 102 }] })
    const [warehouse, all, hook] = [await open(kind), await receiver(), await receiver()]
    closers.push(
      () => sandbox.close(),
      () => warehouse.close(),
    )
    const usual = ruleOf(all.url, { on: ['failed', 'unproven', 'stale'] })
    const world = new AlertingWorld(sandbox, warehouse, [usual, ruleOf(hook.url, { on: ['quiet'] })])
    world.settings = { tellsQuiet: true, deletesUncheckedAfterMs: 86_400_000_000, tenantNames: names }
    const told = async (days: number): Promise<readonly string[]> => {
      await world.pass(days)
      await world.run()
      const got = hook.take()
      return got.map((message) => `${lineOf(message)}; ${message.text.split(': ').slice(1, 4).join(': ')}`)
    }
    const put = (resource: string, from: number, amount: number): void => {
      for (let id = from; id < from + amount; id++)
        sandbox.store.put(
          101,
          resource,
          template(resource, id, fromMicros(1_770_000_000_000_000n + BigInt(id) * 1_000_000n)),
        )
    }
    put('notes', 1, 5)
    await told(0)
    // Payments come in one import, which is no habit.
    put('payments', 1, 100)
    for (let hour = 1; hour <= 10; hour++) {
      put('notes', 100 * hour, 20)
      expect(await told(1 / 24)).toEqual([])
    }
    // The machine is down: no time in which nothing was asked counts, and three polls have to find nothing.
    expect(await told(3.1)).toEqual([])
    expect(await told(0)).toEqual([])
    const before = await statusOf(warehouse, world)
    expect(before.quiet).toBeUndefined()
    expect(await told(0.01)).toEqual([
      'opened: quiet 101/notes; needs attention: notes of Main Street Auto: nothing new for 3 days; usually 28 a day. Compare with the source',
    ])
    const during = await statusOf(warehouse, world)
    expect(during).toMatchObject({ healthy: true, incidents: [] })
    expect(during.quiet).toMatchObject([{ tenant_id: 101, resource: 'notes', polls: 3, usual_a_day: 28 }])
    const words = '! notes of Main Street Auto: nothing new for 3 days; usually 28 a day'
    expect(statusText(during, { tenantNames: names })).toContain(words)
    expect(statusText(during, { failing: true })).not.toContain('usually')
    expect(await told(30)).toEqual([])
    put('notes', 5000, 1)
    expect(await told(0)).toEqual([
      'resolved: quiet 101/notes; over: notes of Main Street Auto: nothing new for 3 days; usually 28 a day',
    ])
    expect((await statusOf(warehouse, world)).quiet).toBeUndefined()
    expect(all.take()).toEqual([])
  })
})

it('status shows it and ends with 0, and so does why; only a rule that names it reports it; the metrics count it', async () => {
  const [message, textfile] = [join(scratch(), 'told.txt'), join(scratch(), 'shopsync.prom')]
  const command = ['sh', '-c', `cat >> ${message}`]
  const told = (): string => (existsSync(message) ? readFileSync(message, 'utf8') : '')
  const here = await syncedPlace({ tenants: 2, repairOrders: 4 }, {})
  closers.push(() => here.remove())
  const configure = (...on: string[]): void =>
    here.configure({
      alerts: { rules: [{ command, ...(on.length > 0 && { on }) }] },
      metrics: { textfile },
      report: { tenantNames: names },
    })
  const since = new Date(Date.now() - 80 * 3_600_000).toISOString().replace('Z', '000Z')
  const db = new Database(join(here.folder, 'data/warehouse.db'))
  db.prepare(
    `update sync_cursors set quiet_since = ?, quiet_polls = 2, usual_news = 41 where tenant_id = 101 and resource = 'repair_orders'`,
  ).run(since)
  const id = String(db.prepare('select max(id) from repair_orders where tenant_id = 101').pluck().get())
  db.close()
  configure()
  expect(await here.run('sync')).toMatchObject({ code: 0 })
  expect(told()).toBe('')
  const said = 'repair_orders of Main Street Auto: nothing new for 3 days; usually 41 a day'
  const why = (row: string, tenant: string) => here.run('why', 'repair_orders', row, '--tenant', tenant)
  const shows = async (): Promise<void> => {
    const { code, stdout, stderr } = await here.run('status')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`! ${said}`)
    const { quiet } = (await here.run('status', '--json')).json<{ quiet: readonly QuietList[] }>()
    expect(quiet).toMatchObject([{ tenant_id: 101, resource: 'repair_orders', quiet_since: since }])
    expect((await here.run('status', '--tenant', '102')).stdout).not.toContain('usually')
    expect((await why(id, '101')).stdout).toContain(`! ${said}`)
    expect((await why(id, '102')).stdout).not.toContain('usually')
    expect(readFileSync(textfile, 'utf8')).toContain('shopsync_cursors_quiet 1\n')
    expect(readFileSync(textfile, 'utf8')).not.toContain('kind="quiet"')
  }
  await shows()
  // A row that is missing is what people ask about when a source serves an old copy.
  expect(await why('999999999', '101')).toMatchObject({ code: 1, stdout: expect.stringContaining(said) })
  expect((await here.run('why', 'customers', '1', '--json')).json<Why>().quiet).toBeUndefined()
  configure('quiet')
  expect(await here.run('sync')).toMatchObject({ code: 0 })
  expect(told()).toContain(said)
  await shows()
})
