/** While a run makes a first load, what it hasn't reached needs nobody: status, metrics, alerts and the report agree. */

import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import { template } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { metricsOf } from '../../support/harness/metrics.js'
import { configure } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { until } from '../../support/harness/scheduler.js'
import { closeAll } from '../../support/harness/server.js'
import { reopen, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { AlertingWorld, lineOf, receiver, ruleOf } from '../../support/world/alerting.js'

const resources = ['customers', 'payments', 'repair_orders']
const sandbox = await sandboxOfFile()
sandbox.store.addTenant({ id: 101 })
for (const resource of resources)
  sandbox.store.put(101, resource, template(resource, 101, '2026-01-01T00:00:00Z'))
afterAll(closeAll)

describe.each(warehouses())('on $name', (kind) => {
  it('the first load is under way, exit 0; without a run, its lists were never read, exit 1', async () => {
    const address = kind.address()
    const config = configure(sandbox, address, resources)
    const call = (...words: string[]) => shopsync([...words, '--config', config], { cwd: dirname(config) })
    const look = async () => {
      const status = await call('status')
      const warehouse = await reopen(address)
      const metrics = await metricsOf(warehouse, { resources })
      const counted = ['ok', 'never', 'loading', 'stale'].map((state) => metrics.sum('cursors', { state }))
      const alerts = await told(warehouse)
      await warehouse.close()
      await call('report')
      const page = readFileSync(join(dirname(config), 'report.html'), 'utf8')
      return { code: status.code, text: status.stdout, counted, alerts, page }
    }
    const looks: Awaited<ReturnType<typeof look>>[] = []
    let held: Record<string, unknown> = {}
    const off = sandbox.onRequest(async ({ resource }) => {
      if (resource !== 'repair_orders' || looks.length > 0) return
      // Its request stays open until the other two lists are stored.
      const warehouse = await reopen(address)
      await until(
        async () =>
          (await rowsOf(warehouse, 'sync_cursors')).filter((row) => row.last_success_at).length === 2,
      )
      looks.push(await look())
      held = (await rowsOf(warehouse, 'sync_lease'))[0] ?? {}
      await warehouse.close()
    })
    expect((await call('sync')).code).toBe(0)
    off()
    const [during] = looks
    expect(during).toMatchObject({ code: 0, alerts: [], text: expect.stringContaining('first load: ') })
    expect(during?.text).toMatch(/first load: \d of 3 lists read\.\n/)
    expect(during?.text).not.toMatch(/stale|failing|✗/)
    const [ok = 0, never, loading = 0, stale] = during?.counted ?? []
    expect([ok + loading, never, loading > 0, stale]).toEqual([3, 0, true, 0])
    expect(during?.page).toContain('the first load is under way')

    // The same warehouse with the run that was killed: nobody reaches these lists.
    const warehouse = await reopen(address)
    const { db } = warehouse
    await warehouse.write([
      db
        .updateTable('sync_cursors')
        .set({ last_success_at: null, status: null, completeness: null, complete_through: null })
        .where('resource', '=', 'repair_orders')
        .compile(),
    ])
    await warehouse.close()
    expect(held).toMatchObject({ owner: expect.any(String) })
    const after = await look()
    expect(after).toMatchObject({ code: 1, text: expect.stringMatching(/1 of 3 cursors stale or failing/) })
    expect(after.counted).toEqual([2, 1, 0, 0])
    expect(after.page).not.toContain('the first load is under way')
  })

  it('what a run has read itself is not stale while it is at work, however long that takes', async () => {
    const address = await kind.viewed()
    const config = configure(sandbox, address, resources)
    const call = (...words: string[]) => shopsync([...words, '--config', config], { cwd: dirname(config) })
    expect((await call('sync')).code).toBe(0)
    const warehouse = await reopen(address)
    const { db } = warehouse
    const day = 86_400_000n
    const ago = (hours: bigint): string => fromMicros((BigInt(Date.now()) - (hours * day) / 24n) * 1000n)
    const read = async (at: string) =>
      warehouse.write([db.updateTable('sync_cursors').set({ last_success_at: at }).compile()])
    const hold = async (owner: string | null) =>
      warehouse.write([
        db
          .updateTable('sync_lease')
          .set({
            owner,
            command: 'sync',
            host: 'elsewhere',
            claimed_at: ago(60n),
            expires_at: fromMicros(BigInt(Date.now() + 30_000) * 1000n),
          })
          .compile(),
      ])
    const seen = async (): Promise<unknown[]> => {
      const metrics = await metricsOf(warehouse, { resources })
      return [(await call('status')).code, metrics.sum('cursors', { state: 'stale' }), await told(warehouse)]
    }
    await hold('a run')
    await read(ago(50n))
    expect(await seen()).toEqual([0, 0, []])
    // Read before this run began.
    await read(ago(70n))
    const stale = resources.map((resource) => `stale 101/${resource}`).join(', ')
    expect(await seen()).toEqual([1, 3, [`opened: ${stale}`]])
    await read(ago(50n))
    await hold(null)
    expect(await seen()).toEqual([1, 3, [`opened: ${stale}`]])
    await warehouse.close()
  })

  /** What a listener's check reports to a rule that has heard of nothing. */
  async function told(warehouse: Warehouse): Promise<string[]> {
    const hook = await receiver()
    const world = new AlertingWorld(sandbox, warehouse, [ruleOf(hook.url)])
    world.settings = { resources }
    const startedAt = fromMicros(world.clock.nowMicros())
    await world.tell({ runId: null, job: null, startedAt, reports: [], isLook: true })
    return hook
      .take()
      .filter(({ type }) => type === 'opened')
      .map(lineOf)
  }
})
