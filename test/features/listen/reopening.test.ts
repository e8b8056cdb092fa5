/**
 * `listen` and `schedule` while something is replaced under them: the warehouse, and they open the one that is there now, or
 * refuse it; or the configuration, and they read it again and go on, or end if theirs is still another one. What they write
 * is as if only the newer configuration had ever been there.
 */
import { copyFileSync, existsSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterAll, describe, expect, it, test } from 'vitest'
import { resources as declared } from '../../../schema/index.js'
import { dump, keepRows } from '../../support/harness/backup.js'
import { type Ended, shopsync } from '../../support/harness/call.js'
import { sendEvent } from '../../support/harness/listening.js'
import { model } from '../../support/harness/model.js'
import { type Address, configure } from '../../support/harness/place.js'
import { freePort } from '../../support/harness/postgres.js'
import { eventBody } from '../../support/harness/receiver.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { jobsIn, onlyJob, until, writeJob } from '../../support/harness/scheduler.js'
import { httpServer } from '../../support/harness/server.js'
import { isWhole, sample } from '../../support/harness/size.js'
import { type Up, upHere } from '../../support/harness/uphere.js'
import { lookAt, reopen, rowsOf, warehouses } from '../../support/harness/warehouse.js'

type Command = 'listen' | 'schedule'

const sandbox = await sandboxOfFile({ tenants: 1, repairOrders: 4, seed: 3 })
const [tenant = 0] = sandbox.tenantIds
const [order = 0, other = 0] = sandbox.store.ids(tenant, 'repair_orders')

/** A test that fails leaves its program running. */
const started: Up[] = []
afterAll(async () => {
  for (const { end } of started) await end()
})

/** A warehouse that was synced, in a folder with a configuration. */
async function here(address: Address, events: object = { port: 0 }) {
  const config = configure(sandbox, address, ['repair_orders', 'payments'], {
    events,
    schedule: { listen: false, events: true },
  })
  const folder = dirname(config)
  onlyJob(folder, 'yearly', { schedule: '0 4 1 1 *' })
  async function run(...words: string[]): Promise<Ended> {
    const ended = await shopsync(words, { cwd: folder })
    expect([words, ended.code, ended.stderr]).toEqual([words, 0, expect.any(String)])
    return ended
  }
  await run('sync')
  const start = async (...words: [Command, ...string[]]): Promise<Up> => {
    const up = await upHere(words, { cwd: folder })
    started.push(up)
    return up
  }
  return { address, config, folder, file: address.url.slice('sqlite:'.length), run, start }
}
type Here = Awaited<ReturnType<typeof here>>

const stderrOf = ({ call }: Up): string => call.stderr.text
const stop = async ({ end }: Up): Promise<void> => expect((await end()).code).toBe(0)
const ready = ({ url }: Up): Promise<number> =>
  fetch(new URL('/ready', url)).then(
    ({ status }) => status,
    () => 503,
  )
const send = ({ url }: Up, id: string, record = order): Promise<number> =>
  sendEvent(url, sandbox.secret, eventBody({ id, tenant, record })).catch(() => 503)

/** Changes the order at the source, and announces it; `id`: the event's. */
async function changed(up: Up, id: string, more: object = {}): Promise<void> {
  sandbox.store.change(tenant, 'repair_orders', order, { detail: id, ...more })
  expect(await send(up, id)).toBe(200)
}

/** Sends events until the signal fires. Resolves to the ids of those that were accepted. */
async function sending(to: Up, signal: AbortSignal): Promise<string[]> {
  const accepted: string[] = []
  for (let i = 0; !signal.aborted; i++) {
    if ((await send(to, `sent ${i}`)) === 200) accepted.push(`sent ${i}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return accepted
}

const storedEvents = async ({ run }: Here) =>
  (await run('events', 'list', '--last', '100000', '--json')).json<{
    readonly events: readonly { readonly event_id: string; readonly state: string }[]
  }>().events
const isSettled = async (there: Here): Promise<boolean> =>
  (await storedEvents(there)).every(({ state }) => state === 'settled')

/**
 * The warehouse is replaced under a program, which goes on with the one that is there, at the same address. A database
 * that is restored has the events of then; beside a file, they stay.
 */
async function goesOn(
  there: Here,
  command: Command,
  put: () => Promise<void> | void,
  { before }: { readonly before?: (up: Up) => Promise<void> } = {},
): Promise<void> {
  const up = await there.start(command)
  expect(await ready(up)).toBe(200)
  await before?.(up)
  const enough = new AbortController()
  const accepted = before ? [] : sending(up, enough.signal)
  await put()
  await until(() => stderrOf(up).includes('Everything was opened again'))
  expect(stderrOf(up)).toMatch(/replaced.* while this program was up/)
  await until(async () => (await ready(up)) === 200)
  await changed(up, `${command} goes on`)
  enough.abort()
  const ids = await accepted
  await until(() => isSettled(there))
  expect((await there.run('why', 'repair_orders', String(order), '--json')).stdout).toContain('goes on')
  const stored = new Set((await storedEvents(there)).map(({ event_id }) => event_id))
  expect(ids.filter((sent) => !stored.has(sent))).toEqual([])
  await stop(up)
  await there.run('reconcile')
}

describe.each(warehouses())('$name', (kind) => {
  test('listen goes on with a database of before, and remembers nothing of the former one', async () => {
    const there = await here(await kind.migrated())
    // On SQLite the file stays the same, on Postgres even the tables are others.
    const restore = await (kind.name === 'sqlite' ? keepRows(there.address, 'kept') : dump(there.address))
    await there.run('sync')
    sandbox.store.change(tenant, 'repair_orders', other, { novel_field: 'seen' })
    /** Paths of fields that nobody knew, as the warehouse has them. */
    const drift = async (): Promise<unknown[]> =>
      (await lookAt(there.address, (warehouse) => rowsOf(warehouse, 'sync_drift'))).map(({ path }) => path)
    await goesOn(there, 'listen', restore, {
      before: async (up) => {
        expect(await send(up, 'before', other)).toBe(200)
        await until(async () => (await drift()).length > 0)
        // A turn and the restore would wait for each other's tables, and Postgres would end one of them.
        await until(() => isSettled(there))
      },
    })
    expect(await drift()).toEqual(['novel_field'])
  })
})

describe.concurrent('a SQLite file', () => {
  const [sqlite] = warehouses()
  const replaced = async (): Promise<Here> => {
    const there = await here(await sqlite!.migrated())
    copyFileSync(there.file, `${there.file}.backup`)
    await there.run('sync')
    return there
  }

  test('listen goes on with a restored backup', async () => {
    const there = await replaced()
    await goesOn(there, 'listen', () => renameSync(`${there.file}.backup`, there.file))
    // SQLite's files of the former one are gone with it.
    expect(existsSync(`${there.file}-wal`)).toBe(false)
  })

  test.runIf(isWhole())('schedule goes on with a link to a backup', async () => {
    const there = await replaced()
    symlinkSync(`${there.file}.backup`, `${there.file}.link`)
    await goesOn(there, 'schedule', () => renameSync(`${there.file}.link`, there.file))
  })

  const ofAnother = (file: string): void => {
    const db = new BetterSqlite3(file)
    db.exec("update sync_source set partner_id = 'another'; pragma wal_checkpoint(truncate)")
    db.close()
  }
  const refused: [what: string, command: Command, says: string, make: (file: string) => void][] = [
    ['without anything', 'listen', 'There is no warehouse yet', (file) => writeFileSync(file, '')],
    ['of another source', 'schedule', 'belongs to the source', ofAnother],
    ['of another kind', 'schedule', 'cannot be read', (file) => writeFileSync(file, 'x'.repeat(10_000))],
  ]
  test.each(sample(refused))('a file %s is refused by %s', async (_what, command, says, make) => {
    const there = await replaced()
    make(`${there.file}.backup`)
    const content = readFileSync(`${there.file}.backup`)
    const { call } = await there.start(command)
    renameSync(`${there.file}.backup`, there.file)
    const { code, stderr } = await call.ended
    expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining(says)])
    expect([2, 3]).toContain(code)
    expect(readFileSync(there.file).equals(content)).toBe(true)
  })
})

const newer = {
  report: { timeZone: 'Pacific/Auckland', taxRates: 'fraction' },
  resources: { repair_orders: { columns: { color: 'text' as const }, history: true } },
}

/** Rewrites a configuration with these settings. */
const change = (file: string, more: object): void =>
  writeFileSync(file, JSON.stringify({ ...JSON.parse(readFileSync(file, 'utf8')), ...more }))

describe.each(warehouses())('another configuration, on $name', (kind) => {
  async function opened() {
    const there = await here(await kind.viewed(), { port: await freePort(), settle: 'PT0S' })
    const warehouse = await reopen(there.address, model(declared, newer.resources))
    const rows = (table: string) => rowsOf(warehouse, table)
    const orderNow = async () => (await rows('repair_orders')).find(({ id }) => id === order)
    const isStored = (detail: string) => until(async () => (await orderNow())?.detail === detail)
    return { ...there, warehouse, rows, orderNow, isStored }
  }

  /** A program that stays up while somebody changes the configuration, types `sync`, and an order changes. */
  async function besideSync(
    { start, run, rows, orderNow, isStored, config }: Awaited<ReturnType<typeof opened>>,
    command: Command,
  ): Promise<Up> {
    const up = await start(command)
    await changed(up, `before ${command}`, { color: `before ${command}` })
    await isStored(`before ${command}`)
    change(config, newer)
    await run('sync')
    await changed(up, `after ${command}`, { color: `after ${command}` })
    await isStored(`after ${command}`)
    expect(await orderNow()).toMatchObject({ color: `after ${command}`, _extra: null })
    // The new column had the list read again, which shows another row for the same version.
    expect(await rows('repair_orders_history')).toMatchObject([
      { id: order, color: null, _extra: { color: `before ${command}` } },
      { id: order, color: `before ${command}`, _extra: null },
    ])
    return up
  }

  const timesRead = (up: Up): number => stderrOf(up).split('and is read again').length - 1

  it('listen reads a changed configuration again', async () => {
    const there = await opened()
    const { rows, warehouse, run } = there
    const up = await besideSync(there, 'listen')
    // What it derived is what would be computed now.
    const totals = async () =>
      (await rows('repair_order_totals')).map(({ _synced_at, ...derived }) => derived)
    const derived = await totals()
    await warehouse.write([warehouse.db.deleteFrom('sync_derived').compile()])
    await run('migrate')
    expect(await totals()).toEqual(derived)
    await stop(up)
    expect(timesRead(up)).toBe(1)
  })

  it.runIf(isWhole())(
    'schedule reads a changed configuration again, and makes up for the job that found it',
    async () => {
      const there = await opened()
      const { rows, run, warehouse, folder, config } = there
      const planned_at = '2026-01-01T04:00:00.000000Z'
      const missed = { job: 'late', schedule: '0 4 1 1 *', time_zone: 'UTC', planned_at, attempts: 0 }
      await warehouse.write([jobsIn(warehouse).insertInto('sync_jobs').values(missed).compile()])
      const up = await besideSync(there, 'schedule')
      change(config, { report: { timeZone: 'Asia/Tokyo' } })
      await run('sync')
      const before = await rows('sync_derived')
      const beats = await httpServer((_request, response) => response.end())
      // Due as soon as its file is seen, within ten seconds.
      writeJob(folder, 'late', { schedule: '0 4 1 1 *', heartbeat: `${beats.url}/late` })
      await until(() => beats.seen.length > 0)
      await stop(up)
      // Nobody was told of the attempt that found another configuration.
      expect(beats.seen.map(({ url }) => url)).toEqual(['/late?exit=0'])
      expect([timesRead(up), stderrOf(up).includes('Catching up on a missed run')]).toEqual([2, true])
      expect(await rows('sync_derived')).toEqual(before)
    },
  )

  it('ends with 2 if its own configuration is still another one', async () => {
    const { address, config, run, start, rows, orderNow } = await opened()
    const elsewhere = configure(sandbox, address, ['repair_orders', 'payments'], {
      events: { port: 0, settle: 'PT0S' },
    })
    const up = await start('listen', '--config', elsewhere)
    change(config, newer)
    await run('sync')
    await changed(up, 'two')
    expect(await up.call.ended).toMatchObject({
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
