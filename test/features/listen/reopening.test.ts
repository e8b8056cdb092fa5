/** `listen` and `schedule` as processes whose warehouse is replaced: they open the one that is there now, or refuse it. */
import { copyFileSync, existsSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { dump, keepRows } from '../../support/harness/backup.js'
import { type Ended, shopsync } from '../../support/harness/call.js'
import { type Listening, sendEvent, startListening } from '../../support/harness/listening.js'
import { type Address, configure } from '../../support/harness/place.js'
import { eventBody } from '../../support/harness/receiver.js'
import { onlyJob, until } from '../../support/harness/scheduler.js'
import { isWhole, sample } from '../../support/harness/size.js'
import { reopen, rowsOf, warehouses } from '../../support/harness/warehouse.js'

const resources = ['repair_orders', 'payments']
let sandbox: Sandbox
beforeAll(async () => {
  sandbox = await createSandbox({ tenants: 1, repairOrders: 4, seed: 3 })
})
/** A test that fails leaves its program running. */
const started: Listening[] = []
afterAll(async () => {
  for (const { run } of started) run.child.kill('SIGKILL')
  await sandbox.close()
})

interface Here {
  readonly address: Address
  /** The file of a SQLite warehouse. */
  readonly file: string
  run(...words: string[]): Promise<Ended>
  start(command: 'listen' | 'schedule'): Promise<Listening>
}

/** A warehouse that was synced, in a folder with a configuration. */
async function here(address: Address): Promise<Here> {
  const more = { events: { port: 0 }, schedule: { listen: { port: 0 }, events: true } }
  const folder = dirname(configure(sandbox, address, resources, more))
  onlyJob(folder, 'yearly', { schedule: '0 4 1 1 *' })
  const env = { API_SECRET: sandbox.secret }
  const run = (...words: string[]): Promise<Ended> => shopsync(words, { cwd: folder, env })
  expect((await run('sync')).code).toBe(0)
  const start = async (command: 'listen' | 'schedule'): Promise<Listening> => {
    const listening = await startListening(folder, env, [], command)
    started.push(listening)
    return listening
  }
  return { address, file: address.url.slice('sqlite:'.length), run, start }
}

const tenant = (): number => sandbox.tenantIds[0] ?? 0
const ready = ({ url }: Listening): Promise<number> =>
  fetch(new URL('/ready', url)).then(
    ({ status }) => status,
    () => 503,
  )
const send = ({ url }: Listening, id: string, record: number): Promise<number> =>
  sendEvent(url, sandbox.secret, eventBody({ id, tenant: tenant(), record })).catch(() => 503)

/** Sends events until the signal fires. Resolves to the ids of those that were accepted. */
async function sending(to: Listening, record: number, signal: AbortSignal): Promise<string[]> {
  const accepted: string[] = []
  for (let i = 0; !signal.aborted; i++) {
    if ((await send(to, `sent ${i}`, record)) === 200) accepted.push(`sent ${i}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return accepted
}

async function storedEvents({ run }: Here): Promise<{ event_id: string; state: string }[]> {
  const listed = await run('events', 'list', '--last', '100000', '--json')
  return listed.json<{ events: { event_id: string; state: string }[] }>().events
}

const isSettled = async (there: Here): Promise<boolean> =>
  (await storedEvents(there)).every(({ state }) => state === 'settled')

/** Paths of fields that nobody knew, as the warehouse has them. */
async function driftOf({ address }: Here): Promise<unknown[]> {
  const warehouse = await reopen(address)
  const found = await rowsOf(warehouse, 'sync_drift')
  await warehouse.close()
  return found.map(({ path }) => path)
}

/**
 * The warehouse is replaced under a program, which goes on with the one that is there, at the same address. A database
 * that is restored has the events of then; beside a file, they stay.
 */
async function goesOn(
  there: Here,
  command: 'listen' | 'schedule',
  put: () => Promise<void> | void,
  {
    keepsEvents = true,
    before,
    after,
  }: {
    readonly keepsEvents?: boolean
    readonly before?: (listening: Listening) => Promise<void>
    readonly after?: () => Promise<void>
  } = {},
): Promise<void> {
  const [id = 0] = sandbox.store.ids(tenant(), 'repair_orders')
  const listening = await there.start(command)
  expect(await ready(listening)).toBe(200)
  await before?.(listening)
  const enough = new AbortController()
  const accepted = keepsEvents ? sending(listening, id, enough.signal) : []
  await put()
  await until(() => listening.stderr().includes('Everything was opened again'))
  expect(listening.stderr()).toMatch(/replaced.* while this program was up/)
  await until(async () => (await ready(listening)) === 200)
  sandbox.store.change(tenant(), 'repair_orders', id, { detail: `${command} goes on` })
  expect(await send(listening, 'afterwards', id)).toBe(200)
  enough.abort()
  const ids = await accepted
  await until(() => isSettled(there))
  expect((await there.run('why', 'repair_orders', String(id), '--json')).stdout).toContain('goes on')
  const stored = new Set((await storedEvents(there)).map(({ event_id }) => event_id))
  expect(ids.filter((sent) => !stored.has(sent))).toEqual([])
  await after?.()
  expect((await there.run('events', 'list')).stdout).not.toContain('Nobody')
  expect(listening.run.child.exitCode).toBeNull()
  listening.run.child.kill('SIGTERM')
  expect((await listening.run.ended).code).toBe(0)
  expect((await there.run('reconcile')).code).toBe(0)
}

describe.each(warehouses())('$name', (kind) => {
  test('listen goes on with a database of before, and remembers nothing of the former one', async () => {
    const there = await here(await kind.migrated())
    // On SQLite the file stays the same, on Postgres even the tables are others.
    const restore = await (kind.name === 'sqlite' ? keepRows(there.address, 'kept') : dump(there.address))
    expect((await there.run('sync')).code).toBe(0)
    const [, id = 0] = sandbox.store.ids(tenant(), 'repair_orders')
    sandbox.store.change(tenant(), 'repair_orders', id, { novel_field: 'seen' })
    await goesOn(there, 'listen', restore, {
      keepsEvents: false,
      before: async (listening) => {
        expect(await send(listening, 'before', id)).toBe(200)
        await until(async () => (await driftOf(there)).length > 0)
        // A turn and the restore would wait for each other's tables, and Postgres would end one of them.
        await until(() => isSettled(there))
      },
      after: async () => expect(await driftOf(there)).toEqual(['novel_field']),
    })
  })
})

describe.concurrent('a SQLite file', () => {
  const [sqlite] = warehouses()
  const replaced = async (): Promise<Here> => {
    const there = await here(await sqlite!.migrated())
    copyFileSync(there.file, `${there.file}.backup`)
    expect((await there.run('sync')).code).toBe(0)
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

  const refused: [
    what: string,
    command: 'listen' | 'schedule',
    says: string,
    make: (file: string) => void,
  ][] = [
    [
      'of another source',
      'schedule',
      'belongs to the source',
      (file) => {
        const other = new BetterSqlite3(file)
        other.exec("update sync_source set partner_id = 'another'; pragma wal_checkpoint(truncate)")
        other.close()
      },
    ],
    ['without anything', 'listen', 'There is no warehouse yet', (file) => writeFileSync(file, '')],
    ['of another kind', 'schedule', 'cannot be read', (file) => writeFileSync(file, 'x'.repeat(10_000))],
  ]
  test.each(sample(refused))('a file %s is refused by %s', async (_what, command, says, make) => {
    const there = await replaced()
    make(`${there.file}.backup`)
    const content = readFileSync(`${there.file}.backup`)
    const listening = await there.start(command)
    renameSync(`${there.file}.backup`, there.file)
    const { code, stderr } = await listening.run.ended
    expect([code, stderr]).toEqual([expect.any(Number), expect.stringContaining(says)])
    expect([2, 3]).toContain(code)
    expect(readFileSync(there.file).equals(content)).toBe(true)
  })
})
