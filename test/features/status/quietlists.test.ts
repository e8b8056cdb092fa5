/** Lists that bring nothing although they usually do: how soon they are found, how seldom in vain, and who is told. */
import { describe, expect, it } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { template } from '../../../src/sandbox/index.js'
import { metricsOf } from '../../support/harness/metrics.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { isWhole, sized } from '../../support/harness/size.js'
import { statusOf } from '../../support/harness/status.js'
import { kept, warehouses } from '../../support/harness/warehouse.js'
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

describe.each(warehouses())('$name', (kind) => {
  const stock = kept(kind)

  it('a list that stops is quiet after three days and three polls, until something comes', async () => {
    const sandbox = await sandboxOfFile({ data: 'none', tenants: [{ id: 101 }, { id: 102 }] })
    const [warehouse, all, hook] = [await stock.open(), await receiver(), await receiver()]
    const usual = ruleOf(all.url, { on: ['failed', 'unproven', 'stale'] })
    const world = new AlertingWorld(sandbox, warehouse, [usual, ruleOf(hook.url, { on: ['quiet'] })])
    const never = { deletesUncheckedAfterMs: 86_400_000_000 }
    world.settings = { tellsQuiet: true, ...never, tenantNames: { 101: 'Main Street Auto' } }
    const told = async (days: number): Promise<readonly string[]> => {
      await world.pass(days)
      await world.run()
      const got = hook.take()
      return got.map((message) => `${lineOf(message)}; ${message.text.split(': ').slice(1, 4).join(': ')}`)
    }
    const status = () => statusOf(sandbox, warehouse, { nowMicros: world.clock.nowMicros(), ...never })
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
    expect((await status()).quiet).toBeUndefined()
    expect(await told(0.01)).toEqual([
      'opened: quiet 101/notes; needs attention: notes of Main Street Auto: nothing new for 3 days; usually 28 a day. Compare with the source',
    ])
    const during = await status()
    expect(during).toMatchObject({ healthy: true, incidents: [] })
    expect(during.quiet).toMatchObject([{ tenant_id: 101, resource: 'notes', polls: 3, usual_a_day: 28 }])
    const metrics = await metricsOf(warehouse, { nowMicros: world.clock.nowMicros() })
    expect([metrics.sum('cursors_quiet'), metrics.text.includes('kind="quiet"')]).toEqual([1, false])
    expect(await told(30)).toEqual([])
    put('notes', 5000, 1)
    expect(await told(0)).toEqual([
      'resolved: quiet 101/notes; over: notes of Main Street Auto: nothing new for 3 days; usually 28 a day',
    ])
    expect((await status()).quiet).toBeUndefined()
    expect(all.take()).toEqual([])
  })
})
