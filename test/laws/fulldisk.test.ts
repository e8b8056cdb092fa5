/**
 * A warehouse that can't grow any more: a real write fails in the middle of a run. What is committed is complete, rows
 * and watermark stay together, and once there is room, the next run ends equal to the source. The room is limited by a
 * maximum file size, which needs no permissions; in `npm run test:long`, a small disk is filled, too, if one may be made.
 */
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { template } from '../../src/sandbox/index.js'
import { shopsync } from '../support/harness/call.js'
import { type Address, configure } from '../support/harness/place.js'
import { startPostgres } from '../support/harness/postgres.js'
import { Program, type ProgramOptions, program } from '../support/harness/process.js'
import { syncInOrder } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { scratch } from '../support/harness/scratch.js'
import { isWhole } from '../support/harness/size.js'
import { contents, migrate, reopen, rowsOf, type Warehouse } from '../support/harness/warehouse.js'

const resources = ['notes', 'customers']
const records = 950
const time = (n: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + n * 60_000).toISOString()

/**
 * Sixteen kilobytes that can't be compressed: the notes outgrow every other table, including the calendar, and what waits
 * beside the file to be moved into it.
 */
const noise = (): string => randomBytes(12_000).toString('base64')

const sandbox = await sandboxOfFile()
let wanted: unknown
beforeAll(async () => {
  sandbox.store.addTenant({ id: 1 })
  for (const resource of resources)
    for (let id = 1; id <= records; id++) {
      const record = template(resource, id, time(id))
      sandbox.store.put(1, resource, resource === 'notes' ? { ...record, description: noise() } : record)
    }
  const undisturbed = await reopen({ url: `sqlite:${join(scratch(), 'warehouse.db')}`, schema: '' })
  await migrate(undisturbed)
  await syncInOrder(sandbox, undisturbed, { resources })
  wanted = await contents(undisturbed)
  await undisturbed.close()
})

const sync = (address: Address, limit: ProgramOptions = {}): Program =>
  new Program(program, ['sync', '--config', configure(sandbox, address, resources), '--json'], limit)

/** What lies before a watermark is there, and the run broke in the middle. */
async function judge(warehouse: Warehouse): Promise<void> {
  for (const { resource, watermark } of await rowsOf(warehouse, 'sync_cursors'))
    if (watermark !== null) expect(await rowsOf(warehouse, String(resource))).toHaveLength(records)
  const stored = (await rowsOf(warehouse, 'notes')).length
  expect(stored).toBeGreaterThan(0)
  expect(stored).toBeLessThan(records)
}

async function goOn(address: Address, warehouse: Warehouse): Promise<void> {
  const config = configure(sandbox, address, resources)
  const next = await shopsync(['sync', '--config', config, '--json'])
  expect(next.code, next.stderr).toBe(0)
  expect(await contents(warehouse)).toEqual(wanted)
  await warehouse.close()
}

describe.skipIf(process.platform === 'win32')('a file that cannot grow', () => {
  it('of SQLite', async () => {
    const address = { url: `sqlite:${join(scratch(), 'warehouse.db')}`, schema: '' }
    const full = await sync(address, { kilobytes: 16_000 }).ended
    expect(full.code, full.stderr).toBe(1)
    expect(full.stdout).toContain('what is committed is complete')
    const warehouse = await reopen(address)
    await judge(warehouse)
    await goOn(address, warehouse)
  })

  it('of Postgres', async () => {
    const postgres = await startPostgres({ megabytes: 3 })
    const address = { url: postgres.url, schema: 'full' }
    const full = await sync(address).ended
    expect(full.code, full.stderr).toBe(1)
    expect(full.stdout).toContain('what is committed is complete')
    await postgres.crash()
    await postgres.start()
    const warehouse = await reopen(address)
    await judge(warehouse)
    await goOn(address, warehouse)
    await postgres.stop()
  })
})

/** A file system of this many kilobytes. undefined if we aren't allowed to make one. */
function smallDisk(kilobytes: number): { path: string; grow: () => void; close: () => void } | undefined {
  const path = join(scratch(), 'disk')
  mkdirSync(path)
  const mount = (...options: string[]): void =>
    void execFileSync('mount', ['-t', 'tmpfs', ...options, 'tmpfs', path], { stdio: 'ignore' })
  try {
    mount('-o', `size=${kilobytes}k`)
  } catch {
    return undefined
  }
  const close = (): void => void execFileSync('umount', [path])
  return { path, grow: () => mount('-o', 'remount,size=200m'), close }
}

describe('a full disk', () => {
  const disk = isWhole() ? smallDisk(16_000) : undefined
  afterAll(() => disk?.close())

  it.runIf(disk)('ends the run with a hint, and the next one continues', async () => {
    const address = { url: `sqlite:${join(disk!.path, 'warehouse.db')}`, schema: '' }
    const full = await sync(address).ended
    expect(full.code, full.stderr).toBe(1)
    expect(full.stdout).toContain('Free some space')
    disk!.grow()
    const warehouse = await reopen(address)
    await judge(warehouse)
    await goOn(address, warehouse)
  })
})
