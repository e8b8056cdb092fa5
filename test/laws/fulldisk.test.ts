/**
 * A warehouse that can't grow any more: a real write fails in the middle of a run. What is committed is complete, rows
 * and watermark stay together, and once there is room, the next run ends equal to the source. The room is limited by a
 * maximum file size, which needs no permissions.
 */
import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { template } from '../../src/sandbox/index.js'
import { shopsync } from '../support/harness/call.js'
import { type Address, configure } from '../support/harness/place.js'
import { startPostgres } from '../support/harness/postgres.js'
import { Program, type ProgramOptions, program } from '../support/harness/process.js'
import { syncInOrder } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import {
  bothWarehouses,
  contents,
  open,
  reopen,
  rowsOf,
  type Warehouse,
} from '../support/harness/warehouse.js'
import { timeOf } from '../support/world/notes.js'

const resources = ['notes', 'categories']
const records = 600

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
      const record = template(resource, id, timeOf(id))
      sandbox.store.put(1, resource, resource === 'notes' ? { ...record, description: noise() } : record)
    }
  const undisturbed = await open(bothWarehouses()[0]!)
  await syncInOrder(sandbox, undisturbed, { resources })
  wanted = await contents(undisturbed)
})

/** What lies before a watermark is there, and the run broke in the middle. */
async function judge(warehouse: Warehouse): Promise<void> {
  for (const { resource, watermark } of await rowsOf(warehouse, 'sync_cursors'))
    if (watermark !== null) expect(await rowsOf(warehouse, String(resource))).toHaveLength(records)
  const stored = (await rowsOf(warehouse, 'notes')).length
  expect(stored).toBeGreaterThan(0)
  expect(stored).toBeLessThan(records)
}

/** A run that breaks off for want of room, and the next one once there is some. */
async function expectCutOff(address: Address, limit?: ProgramOptions, grow?: () => Promise<void>) {
  const config = configure(sandbox, address, resources)
  const full = await new Program(program, ['sync', '--config', config, '--json'], limit).ended
  expect(full.code, full.stderr).toBe(1)
  expect(full.stdout).toContain('what is committed is complete')
  await grow?.()
  const warehouse = await reopen(address)
  await judge(warehouse)
  const next = await shopsync(['sync', '--config', config, '--json'])
  expect(next.code, next.stderr).toBe(0)
  expect(await contents(warehouse)).toEqual(wanted)
}

describe.skipIf(process.platform === 'win32')('a file that cannot grow', () => {
  it('of SQLite', async () => expectCutOff(await bothWarehouses()[0]!.viewed(), { kilobytes: 8000 }))

  it('of Postgres', async () => {
    const postgres = await startPostgres({ megabytes: 3 })
    await expectCutOff({ url: postgres.url, schema: 'full' }, {}, async () => {
      await postgres.crash()
      await postgres.start()
    })
    await postgres.stop()
  })
})

it('a database that the disk is too full for ends the run with a hint, and the next one continues', async () => {
  const warehouse = await open(bothWarehouses()[0]!)
  const most = (pages: number) => sql`pragma max_page_count = ${sql.lit(pages)}`.execute(warehouse.db)
  await most(2000)
  const hint = expect.stringContaining('Free some space')
  await expect(syncInOrder(sandbox, warehouse, { resources })).rejects.toMatchObject({ exitCode: 1, hint })
  await judge(warehouse)
  await most(2 ** 30)
  await syncInOrder(sandbox, warehouse, { resources })
  expect(await contents(warehouse)).toEqual(wanted)
})
