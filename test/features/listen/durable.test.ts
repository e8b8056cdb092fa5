/** What was answered is on disk: a listener that is killed right after its answers has lost none of them. */
import { dirname } from 'node:path'
import { sql } from 'kysely'
import { beforeEach, describe, expect, it } from 'vitest'
import type { Sandbox } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { sendEvent, startStaying } from '../../support/harness/listening.js'
import { type Address, configure } from '../../support/harness/place.js'
import { eventBody } from '../../support/harness/receiver.js'
import { sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { isWhole } from '../../support/harness/size.js'
import { bothWarehouses, reopen, type Warehouse } from '../../support/harness/warehouse.js'
import { EventBench } from '../../support/world/events.js'

describe.each(bothWarehouses())('on $name', (kind) => {
  let sandbox: Sandbox
  let warehouse: Warehouse
  let address: Address
  let config: string

  beforeEach(async () => {
    sandbox = await sandboxOfFile({ tenants: 1, repairOrders: 2 })
    address = await kind.migrated()
    warehouse = await reopen(address)
    await sync(sandbox, warehouse, { resources: ['repair_orders'] })
    config = configure(sandbox, address, ['repair_orders'], { schedule: { listen: { port: 0 } } })
  })

  it('each event that was answered 2xx is there after SIGKILL', async () => {
    const [tenant = 0] = sandbox.tenantIds
    const flags = ['--config', config, '--port', '0', '--no-ring']
    for (const killedAfter of isWhole() ? [1, 60] : [60]) {
      const { run, url } = await startStaying(['listen', ...flags], { cwd: dirname(config) })
      const answered: string[] = []
      let n = 0
      const sender = async (): Promise<void> => {
        for (;;) {
          const id = `${killedAfter} ${n++}`
          const status = await sendEvent(url, sandbox.secret, eventBody({ id, tenant })).catch(() => 0)
          if (status === 0) return
          expect(status).toBe(200)
          answered.push(id)
          if (answered.length === killedAfter) run.kill('SIGKILL')
        }
      }
      await Promise.all(Array.from({ length: 16 }, sender))
      expect((await run.ended).signal).toBe('SIGKILL')
      const listed = await shopsync(['events', 'list', '--last', '100000', '--json', '--config', config])
      const { events } = listed.json<{ events: { event_id: string }[] }>()
      const there = new Set(events.map(({ event_id }) => event_id))
      expect(answered.filter((id) => !there.has(id))).toEqual([])
      expect(answered.length).toBeGreaterThanOrEqual(killedAfter)
    }
  })

  it('its commits survive a power cut, whatever the database does otherwise', async () => {
    // A server may be configured not to wait for its disk.
    const careless = new URL(address.url)
    if (kind.name === 'postgres') careless.searchParams.set('options', '-c synchronous_commit=off')
    const other = await reopen({ ...address, url: kind.name === 'postgres' ? careless.href : address.url })
    await EventBench.open(sandbox, other)
    const dialect = await other.dialect.beside({ name: 'events', table: 'sync_events', creates: false })
    const asked = kind.name === 'postgres' ? sql`show synchronous_commit` : sql`pragma synchronous`
    const rows = await dialect?.transaction(
      async (session) => (await session.run(asked.compile(dialect.db))).rows,
    )
    // SQLite's 2 is FULL.
    expect(rows).toEqual([kind.name === 'postgres' ? { synchronous_commit: 'on' } : { synchronous: 2 }])
    await dialect?.close()
  })
})
