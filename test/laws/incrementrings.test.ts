/** Copies that are continued (docs/increments.md) beside rings, whose walks end in another order than they began. */
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { Inbox } from '../../src/features/events/inbox.js'
import { createSandbox } from '../../src/sandbox/index.js'
import { shopsync } from '../support/harness/call.js'
import { configure } from '../support/harness/place.js'
import { bothWarehouses, changesThrough, reopen, rowsOf } from '../support/harness/warehouse.js'
import { CopyReader } from '../support/world/increments.js'

describe.each(bothWarehouses())('$name', (kind) => {
  it('a copy that is continued beside rings ends equal to the warehouse', async () => {
    const sandbox = await createSandbox({ tenants: 2, repairOrders: 8, seed: 7 })
    const lists = ['notes', 'repair_orders']
    const address = await kind.viewed()
    const config = configure(sandbox, address, lists)
    const run = async (...words: string[]): Promise<void> => {
      const { code, stderr } = await shopsync([...words, '--config', config])
      expect(code, stderr).toBe(0)
    }
    await run('sync')
    const warehouse = await reopen(address)
    await (await Inbox.open(warehouse)).close()
    const reader = await CopyReader.open(address, lists)
    await reader.poll()
    for (const tenant of sandbox.tenantIds) {
      const [note = 0] = sandbox.store.ids(tenant, 'notes')
      sandbox.store.change(tenant, 'notes', note, { description: 'rung' })
      const [order = 0] = sandbox.store.ids(tenant, 'repair_orders')
      sandbox.store.change(tenant, 'repair_orders', order, { services: [] })
    }
    // The first request is answered, because others wait for it. Then one tenant's walk ends after the other's.
    let isFirst = true
    let held: number | undefined
    let isHeld = true
    sandbox.onRequest(async ({ tenant, resource }) => {
      const passes = isFirst || resource !== 'notes'
      isFirst = false
      if (passes) return
      held ??= tenant ?? undefined
      while (isHeld && tenant === held) await sleep(10)
    })
    const ringing = run('events', 'ring')
    const rung = async (): Promise<string[]> =>
      (await rowsOf(warehouse, 'notes')).flatMap(({ description, _synced_at }) =>
        description === 'rung' ? [String(_synced_at)] : [],
      )
    while ((await rung()).length === 0) await sleep(20)
    const [stored = ''] = await rung()
    expect((await changesThrough(warehouse)) <= stored).toBe(true)
    await reader.poll()
    isHeld = false
    await ringing
    await reader.poll()
    expect(await rung()).toHaveLength(2)
    expect(await reader.differences()).toEqual({})
    for (const each of [reader, warehouse]) await each.close()
    await sandbox.close()
  })
})
