/** The inbox is separate from the warehouse: adopt and copy must not leave it out; what forget does, underevents.test.ts shows. */
import { beforeAll, describe, expect, it } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { type Address, configure } from '../../support/harness/place.js'
import { sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { sample } from '../../support/harness/size.js'
import { bothWarehouses, reopen } from '../../support/harness/warehouse.js'
import { EventBench } from '../../support/world/events.js'

const resources = ['repair_orders', 'notes']

interface Copied {
  readonly status: string
  readonly left_out: object[]
  readonly tables: { readonly table: string; readonly rows: number; readonly equal: boolean }[]
}

describe.each(bothWarehouses())('on $name', (kind) => {
  let sandbox: Sandbox
  let address: Address
  let events: EventBench

  beforeAll(async () => {
    sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 3, seed: 5 })
    address = await kind.viewed()
    const warehouse = await reopen(address)
    await sync(sandbox, warehouse, { resources })
    events = await EventBench.open(sandbox, warehouse)
    for (const tenant of sandbox.tenantIds)
      await events.put({ tenant, resource: 'repair_orders', id: 77_777 })
  })

  const run = async <T>(words: readonly string[], api: object = {}): Promise<T> => {
    const config = configure(sandbox, address, resources, { api })
    const { code, stderr, json } = await shopsync([...words, '--json', '--config', config])
    expect([words, code, stderr]).toEqual([words, 0, expect.any(String)])
    return json<T>()
  }
  const copy = async (to: Address): Promise<Copied> =>
    run<Copied>(['copy', '--to', to.url, ...(to.url.startsWith('sqlite') ? [] : ['--to-schema', to.schema])])

  // From each, and to each; copy.test.ts does each pair. Of what is read while events come, one target shows most.
  const targets = bothWarehouses().filter(({ name }) => name === 'sqlite' || kind.name === 'sqlite')

  it.each(targets)('copy to $name copies it, too', async (other) => {
    const to = other.address()
    const { tables, left_out } = await copy(to)
    expect(tables).toContainEqual(expect.objectContaining({ table: 'sync_events', rows: 2, equal: true }))
    expect(left_out).toEqual([])
    // Nobody listens to the copy.
    expect(tables.map(({ table }) => table)).not.toContain('sync_listeners')
    const there = await reopen(to)
    const copied = await EventBench.open(sandbox, there)
    expect(await copied.states()).toEqual(['waiting', 'waiting'])
  })

  it.each(sample(targets))('copy to $name keeps reading while events come', async (other) => {
    const [tenant = 0] = sandbox.tenantIds
    const before = (await events.rows()).length
    const put = (n: number): Promise<void> =>
      events.putAll(Array.from({ length: n }, () => ({ tenant, resource: 'repair_orders', id: 1 })))
    await put(1200)
    let isCopying = true
    const copying = copy(other.address()).finally(() => {
      isCopying = false
    })
    while (isCopying) {
      await put(5)
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
    const { status, tables } = await copying
    const table = tables.find(({ table: name }) => name === 'sync_events')
    expect([status, table?.equal]).toEqual(['ok', true])
    expect(table?.rows).toBeGreaterThanOrEqual(before + 1200)
    expect((await events.rows()).length).toBeGreaterThan(before + 1200)
  })

  it('adopt empties it, unless the data is the same', async () => {
    const before = (await events.rows()).length
    const up_at = '2026-01-01T00:00:00.000000Z'
    await events.listens({ source: `${sandbox.url} 42`, up_at, ended_at: up_at })
    await run(['adopt', '--same-data', '--yes'], { partnerId: '7' })
    expect([await events.inbox.source(), (await events.rows()).length]).toEqual([`${sandbox.url} 7`, before])
    await run(['adopt', '--yes'], { partnerId: '8' })
    expect(await events.rows()).toEqual([])
  })
})
