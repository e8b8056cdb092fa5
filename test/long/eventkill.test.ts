/**
 * A listener, runs by cron next to it, and a source that changes and sends its events, while all of them are killed or
 * stopped: every event that was answered with 2xx is settled in the end, and no run ends with 4 because of a listener.
 * EVENT_KILLS=…, EVENTS=… and STOP_SECONDS=15,120 set how much of it.
 */
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Sandbox } from '../../src/sandbox/index.js'
import { type Ended, shopsync } from '../support/harness/call.js'
import { type Staying, startStaying } from '../support/harness/listening.js'
import { type Address, configure } from '../support/harness/place.js'
import { Program, program } from '../support/harness/process.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { bothWarehouses, lockHolder, reopen, type Warehouse } from '../support/harness/warehouse.js'
import { randomFrom } from '../support/world/random.js'

const { EVENT_KILLS = '50', EVENTS = '5000', STOP_SECONDS = '15,120' } = process.env
const kills = Number(EVENT_KILLS)
const perSecond = 50
/** The longest pause between two runs, in ms. */
const pause = 3000
const lists = ['repair_orders', 'customers', 'payments']

type Listed = Readonly<Record<'event_id' | 'resource' | 'state' | 'reason', string>> &
  Readonly<Record<'tenant_id' | 'record_id', number>>

describe.each(bothWarehouses())('on $name', (kind) => {
  const random = randomFrom(11)
  const pick = <T>(some: readonly T[]): T | undefined => some[Math.floor(random() * some.length)]
  let sandbox: Sandbox
  let address: Address
  let warehouse: Warehouse
  let config: string
  let listening: Staying
  let port: number
  let running: Program | undefined
  let runs: Ended[]
  let isEnding: boolean
  let loops: Promise<void>[]

  beforeEach(async () => {
    sandbox = await sandboxOfFile({ tenants: 2, repairOrders: 60, seed: 11 })
    address = await kind.migrated()
    warehouse = await reopen(address)
    config = configure(sandbox, address, lists, { schedule: { listen: { port: 0 } } })
    const { code, stderr } = await inProcess('sync')
    expect(code, stderr).toBe(0)
    port = 0
    await listen()
    sandbox.subscribe(listening.url)
    isEnding = false
    runs = []
    loops = [changing(), syncing()]
  })
  afterEach(async () => {
    isEnding = true
    listening.run.kill('SIGKILL')
    await Promise.all(loops)
    await warehouse.close()
  })

  /** Starts a listener where the last one was. */
  async function listen(): Promise<void> {
    listening = await startStaying(['listen', '--config', config, '--port', String(port)], {
      cwd: dirname(config),
    })
    port = Number(new URL(listening.url).port)
  }

  /** The program in a process of its own. */
  async function inProcess(...words: string[]): Promise<Ended> {
    const { PATH = '' } = process.env
    running = new Program(program, [...words, '--config', config], { cwd: dirname(config), env: { PATH } })
    const ended = await running.ended
    running = undefined
    return ended
  }

  async function changing(): Promise<void> {
    const { store, tenantIds } = sandbox
    const deleted = new Map<number, number>()
    for (let n = 1; !isEnding; n++) {
      const tenant = pick(tenantIds) ?? 0
      const list = random() < 0.7 ? 'repair_orders' : 'customers'
      const id = pick(store.ids(tenant, list)) ?? 0
      const gone = deleted.get(tenant) ?? 0
      // Few enough for the deletion guard, at any hour.
      if (list === 'repair_orders' && n % 150 === 0 && gone < 4) {
        store.remove(tenant, list, id)
        deleted.set(tenant, gone + 1)
      } else store.change(tenant, list, id, list === 'customers' ? { city: `${n}` } : { detail: `${n}` })
      await sleep(1000 / perSecond)
    }
  }

  async function syncing(): Promise<void> {
    while (!isEnding) {
      runs.push(await inProcess('sync', '--quiet'))
      await sleep(random() * pause)
    }
  }

  /** Lets changes and runs finish. */
  async function calm(): Promise<void> {
    isEnding = true
    await Promise.all(loops)
    await sandbox.delivered()
  }

  /** Ids of events that were answered with 200. */
  const answered = (): Set<string> =>
    new Set(sandbox.deliveries.filter(({ status }) => status === 200).map(({ event }) => event))

  const inbox = async (): Promise<readonly Listed[]> => {
    const { json } = await shopsync(['events', 'list', '--last', '100000', '--json', '--config', config])
    return json<{ events: Listed[] }>().events
  }
  const waiting = async () => (await inbox()).filter(({ state }) => state === 'waiting')

  /**
   * Waits until no event of an existing record is waiting; after three minutes, returns those that still are. If a record is
   * gone and its deletion wasn't announced, it is looked for again for a quarter of an hour.
   */
  async function unsettled(): Promise<string[]> {
    for (const until = performance.now() + 180_000; ; ) {
      const left = (await waiting()).filter(
        ({ tenant_id, resource, record_id }) =>
          sandbox.store.get(tenant_id, resource, record_id) !== undefined,
      )
      if (left.length === 0 || performance.now() > until)
        return left.map(({ event_id, reason }) => `${event_id} ${reason}`)
      await sleep(500)
    }
  }

  async function expectAllSettled(): Promise<void> {
    expect(await unsettled()).toEqual([])
    const events = await inbox()
    const there = new Set(events.map(({ event_id }) => event_id))
    expect([...answered()].filter((id) => !there.has(id))).toEqual([])
    for (const { code, stderr } of runs) expect([0, null], stderr).toContain(code)
    console.log(kind.name, answered().size, 'answered;', runs.length, 'runs')
    listening.run.kill('SIGTERM')
    expect((await listening.run.ended).code).toBe(0)
    for (const words of [['reconcile'], ['sync']]) expect((await inProcess(...words)).code).toBe(0)
    expect(await waiting()).toEqual([])
    expect(await inProcess('verify', '--full')).toMatchObject({ code: 0 })
  }

  it(`${kills} kills of the listener, of a run, of both`, async () => {
    const killed = { listener: 0, run: 0 }
    while (killed.listener + killed.run < kills || answered().size < Number(EVENTS)) {
      await sleep(200 + random() * 3000)
      if (killed.listener + killed.run >= kills) continue
      const whom = Math.floor(random() * 3)
      if (whom !== 0 && running) {
        running.kill('SIGKILL')
        killed.run += 1
      }
      if (whom === 1) continue
      listening.run.kill('SIGKILL')
      await listening.run.ended
      killed.listener += 1
      await sleep(random() * 500)
      await listen()
    }
    await calm()
    console.log(kind.name, 'killed', killed)
    await expectAllSettled()
  })

  it.each(STOP_SECONDS.split(',').map(Number))(
    'a listener that is stopped for %i seconds',
    async (seconds) => {
      await sleep(5000)
      for (;;) {
        const holder = await lockHolder(warehouse)
        if (holder?.owner && holder.command === 'listen') break
        await sleep(2)
      }
      listening.run.kill('SIGSTOP')
      await sleep(seconds * 1000)
      listening.run.kill('SIGCONT')
      await sleep(10_000)
      await calm()
      await expectAllSettled()
    },
  )
})
