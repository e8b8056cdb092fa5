/**
 * Programs that stay up beside commands with a newer configuration: they read it again and go on, and end if theirs is
 * still another one. What they write is as if only the newer configuration had ever been there.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { resources as declared } from '../../../schema/index.js'
import { createSandbox } from '../../../src/sandbox/index.js'
import { type Ended, shopsync } from '../../support/harness/call.js'
import { type Listening, sendEvent, startListening } from '../../support/harness/listening.js'
import { model } from '../../support/harness/model.js'
import { type Address, configure } from '../../support/harness/place.js'
import { freePort } from '../../support/harness/postgres.js'
import { eventBody } from '../../support/harness/receiver.js'
import { onlyJob, until, writeJob } from '../../support/harness/scheduler.js'
import { closeAll, httpServer } from '../../support/harness/server.js'
import { isWhole } from '../../support/harness/size.js'
import { reopen, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'

const resources = ['repair_orders', 'shops']
const sandbox = await createSandbox({ tenants: 1, repairOrders: 6, seed: 4 })
const [tenant = 0] = sandbox.tenantIds
const [order = 0] = sandbox.store.ids(tenant, 'repair_orders')
const beats = await httpServer((_request, response) => response.end())
afterAll(async () => {
  await sandbox.close()
  await closeAll()
})

const newer = {
  report: { timeZone: 'Pacific/Auckland', taxRates: 'fraction' },
  resources: { repair_orders: { columns: { color: 'text' as const }, history: true } },
}

/** Rewrites a configuration with these settings. */
const change = (file: string, more: object): void =>
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...more }))

describe.each(warehouses())('$name', (kind) => {
  let address: Address
  let file: string
  let events: object
  let warehouse: Warehouse

  beforeEach(async () => {
    address = await kind.viewed()
    events = { port: await freePort(), settle: 'PT0S' }
    file = configure(sandbox, address, resources, { events, schedule: { listen: false, events: true } })
    onlyJob(dirname(file), 'mine', { schedule: '0 4 1 1 *' })
    await run('sync')
    warehouse = await reopen(address, model(declared, newer.resources))
  })
  afterEach(async () => {
    for (const { run: started } of listenings.splice(0)) started.kill('SIGKILL')
    await warehouse.close()
  })

  async function run(...words: string[]): Promise<Ended> {
    const ended = await shopsync([...words, '--config', file], { cwd: dirname(file) })
    expect([words, ended.code, ended.stderr]).toEqual([words, 0, expect.any(String)])
    return ended
  }

  const rows = (table: string): Promise<Record<string, unknown>[]> => rowsOf(warehouse, table)
  const orderNow = async () => (await rows('repair_orders')).find(({ id }) => id === order)

  const listenings: Listening[] = []
  async function start(command: 'listen' | 'schedule', config = file): Promise<Listening> {
    const listening = await startListening(dirname(config), {}, ['--config', config], command)
    listenings.push(listening)
    return listening
  }

  /** Changes an order at the source, and announces it; `id`: the event's. */
  async function changed({ url }: Listening, id: string): Promise<void> {
    sandbox.store.change(tenant, 'repair_orders', order, { color: id, detail: id })
    expect(await sendEvent(url, sandbox.secret, eventBody({ id, tenant, record: order }))).toBe(200)
  }

  const stop = async ({ run: { child, ended }, stderr }: Listening): Promise<string> => {
    child.kill('SIGTERM')
    expect((await ended).code).toBe(0)
    return stderr()
  }

  /** Rows of totals, as they were derived. */
  const totals = async () => (await rows('repair_order_totals')).map(({ _synced_at, ...derived }) => derived)

  /** A program that stays up while somebody changes the configuration, types `sync`, and an order changes. */
  async function besideSync(command: 'listen' | 'schedule'): Promise<Listening> {
    const listening = await start(command)
    await changed(listening, `before ${command}`)
    await until(async () => (await orderNow())?.detail === `before ${command}`)
    change(file, newer)
    await run('sync')
    await changed(listening, `after ${command}`)
    await until(async () => (await orderNow())?.detail === `after ${command}`)
    expect(await orderNow()).toMatchObject({ color: `after ${command}`, _extra: null })
    // The new column had the list read again, which shows another row for the same version.
    expect(await rows('repair_orders_history')).toMatchObject([
      { id: order, color: null, _extra: { color: `before ${command}` } },
      { id: order, color: `before ${command}`, _extra: null },
    ])
    return listening
  }

  const timesRead = (stderr: string): number => stderr.split('and is read again').length - 1

  it('listen reads a changed configuration again', async () => {
    const listening = await besideSync('listen')
    // What it derived is what would be computed now.
    const derived = await totals()
    await warehouse.write([warehouse.db.deleteFrom('sync_derived').compile()])
    await run('migrate')
    expect(await totals()).toEqual(derived)
    expect(timesRead(await stop(listening))).toBe(1)
  })

  it.runIf(isWhole())(
    'schedule reads a changed configuration again, and makes up for the job that found it',
    async () => {
      const planned_at = '2026-01-01T04:00:00.000000Z'
      const missed = { job: 'late', schedule: '0 4 1 1 *', time_zone: 'UTC', planned_at, attempts: 0 }
      // A table of the feature, which the warehouse's own types don't know.
      await warehouse.db
        .insertInto('sync_jobs' as 'sync_meta')
        .values(missed as never)
        .execute()
      const listening = await besideSync('schedule')
      change(file, { report: { timeZone: 'Asia/Tokyo' } })
      await run('sync')
      const before = await rows('sync_derived')
      // Due as soon as its file is seen, within ten seconds.
      writeJob(dirname(file), 'late', { schedule: '0 4 1 1 *', heartbeat: `${beats.url}/late` })
      await until(() => beats.seen.length > 0)
      // Nobody was told of the attempt that found another configuration.
      expect(beats.seen.splice(0).map(({ url }) => url)).toEqual(['/late?exit=0'])
      const stderr = await stop(listening)
      expect([timesRead(stderr), stderr.includes('Catching up on a missed run')]).toEqual([2, true])
      expect(await rows('sync_derived')).toEqual(before)
    },
  )

  it('ends with 2 if its own configuration is still another one', async () => {
    const other = configure(sandbox, address, resources, { events })
    const listening = await start('listen', other)
    change(file, newer)
    await run('sync')
    await changed(listening, 'two')
    expect(await listening.run.ended).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(
        /Two configurations shape the warehouse .* report\.taxRates, report\.timeZone, resources\.repair_orders\.columns, resources\.repair_orders\.history/,
      ),
    })
    expect(await orderNow()).not.toMatchObject({ detail: 'two' })
    // Nothing was recomputed, so a sync has nothing to give back.
    const before = await rows('sync_derived')
    await run('sync')
    expect(await rows('sync_derived')).toEqual(before)
  })
})
