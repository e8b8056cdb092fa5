/** A warehouse that another program locks for a while: the sync waits. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import BetterSqlite3 from 'better-sqlite3'
import { beforeAll, expect, it } from 'vitest'
import { template } from '../../src/sandbox/index.js'
import { configure } from '../support/harness/place.js'
import { Program, program } from '../support/harness/process.js'
import { known } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { scratch } from '../support/harness/scratch.js'
import { migrate, openWarehouse, reopen, rowsOf } from '../support/harness/warehouse.js'

const resources = ['notes', 'customers']
const time = (n: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + n * 60_000).toISOString()

const sandbox = await sandboxOfFile()
beforeAll(async () => {
  sandbox.store.addTenant({ id: 1 })
  for (const resource of resources)
    for (let id = 1; id <= 550; id++) sandbox.store.put(1, resource, template(resource, id, time(id)))
})

it('waits for another writer', async () => {
  const url = `sqlite:${join(scratch(), 'warehouse.db')}`
  const config = configure(sandbox, { url, schema: '' }, resources)
  const made = await openWarehouse({ url, schema: '', model: known })
  await migrate(made)
  await made.close()
  const writer = new BetterSqlite3(url.slice('sqlite:'.length))
  let reached = (): void => {}
  const first = new Promise<void>((resolve) => {
    reached = resolve
  })
  const off = sandbox.onRequest(({ resource, page }) => {
    if (resource !== 'notes' || page !== 2) return
    writer.exec('begin immediate')
    reached()
  })
  const run = new Program(program, ['sync', '--config', config])
  await first
  off()
  // It has to find the lock before it is gone: its next request can only come after that.
  await sleep(2000)
  writer.exec('commit')
  writer.close()
  const ended = await run.ended
  expect(ended.code, ended.stderr).toBe(0)
  const warehouse = await reopen({ url, schema: '' })
  for (const resource of resources) expect(await rowsOf(warehouse, resource)).toHaveLength(550)
  await warehouse.close()
})
