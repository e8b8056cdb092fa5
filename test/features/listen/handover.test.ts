/**
 * Cron next to a listener: commands that write get the warehouse from a listener that is busy with 50 events per
 * second, none ends with 4 because of it, and events continue afterwards.
 */
import { randomBytes } from 'node:crypto'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { type Listening, sendEvent, startListening } from '../../support/harness/listening.js'
import { type Address, configure } from '../../support/harness/place.js'
import { spawned } from '../../support/harness/process.js'
import { eventBody } from '../../support/harness/receiver.js'
import { until } from '../../support/harness/scheduler.js'
import { isWhole } from '../../support/harness/size.js'
import { bothWarehouses, reopen, rowsOf } from '../../support/harness/warehouse.js'

const resources = ['repair_orders', 'payments']

describe.each(bothWarehouses())('on $name', (kind) => {
  let sandbox: Sandbox
  let address: Address
  let config: string
  let listening: Listening

  beforeEach(async () => {
    sandbox = await createSandbox({ tenants: 3, repairOrders: 20, seed: 5 })
    address = await kind.viewed()
    config = configure(sandbox, address, resources, { schedule: { listen: { port: 0 } } })
    expect((await run('sync')).code).toBe(0)
    listening = await startListening(dirname(config), {}, ['--config', config, '--port', '0'])
  }, 120_000)
  afterEach(async () => {
    listening.run.kill('SIGKILL')
    await sandbox.close()
  })

  const run = (...words: string[]) => spawned([...words, '--config', config], { cwd: dirname(config) })

  /**
   * Changes orders and sends their events, 50 per second, until it is told to stop; returns what was not answered with
   * 200.
   */
  function stream(): { stop: () => Promise<number[]> } {
    const [tenant = 0] = sandbox.tenantIds
    const ids = sandbox.store.ids(tenant, 'repair_orders').slice(1)
    const sent: Promise<number>[] = []
    const timer = setInterval(() => {
      const n = sent.length
      const record = ids[n % ids.length] ?? 0
      sandbox.store.change(tenant, 'repair_orders', record, { detail: `change ${n}` })
      const body = eventBody({ id: `stream ${n}`, tenant, record })
      sent.push(sendEvent(listening.url, sandbox.secret, body).catch(() => 0))
    }, 20)
    return {
      stop: async () => {
        clearInterval(timer)
        return (await Promise.all(sent)).filter((status) => status !== 200)
      },
    }
  }

  /** Whether the newest change of an order reaches the warehouse through its event. */
  async function goesOn(what: string): Promise<void> {
    const [tenant = 0] = sandbox.tenantIds
    const [record = 0] = sandbox.store.ids(tenant, 'repair_orders')
    sandbox.store.change(tenant, 'repair_orders', record, { detail: what })
    await sendEvent(listening.url, sandbox.secret, eventBody({ id: what, tenant, record }))
    const warehouse = await reopen(address)
    await until(async () =>
      (await rowsOf(warehouse, 'repair_orders')).some(
        ({ tenant_id, id, detail }) => tenant_id === tenant && id === record && detail === what,
      ),
    )
    await warehouse.close()
  }

  // That a command gets the warehouse from a listener, listenprocess.test.ts shows.
  it.runIf(isWhole())(
    'hourly, forget and copy start, and events continue',
    async () => {
      const streaming = stream()
      await sleep(500)
      const forgotten = sandbox.tenantIds[2] ?? 0
      const target =
        kind.name === 'sqlite'
          ? ['--to', `sqlite:${join(dirname(config), 'copy.db')}`]
          : ['--to', address.url, '--to-schema', `c_${randomBytes(6).toString('hex')}`]
      for (const words of [
        ['run', 'hourly'],
        ['forget', '--tenant', String(forgotten), '--yes'],
        ['copy', ...target],
      ]) {
        const ended = await run(...words)
        expect([words[0], ended.code, ended.stderr]).toEqual([words[0], 0, expect.any(String)])
        await goesOn(`after ${words[0]}`)
      }
      expect(await streaming.stop()).toEqual([])
      listening.run.kill('SIGTERM')
      expect((await listening.run.ended).code).toBe(0)
    },
    240_000,
  )
})
