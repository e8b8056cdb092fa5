/** A process that was stopped for longer than its lease lasts, and then continues, must not write. */
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { template } from '../../src/sandbox/index.js'
import { Program } from '../support/harness/process.js'
import { syncInOrder } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { contents, migrate, reopen, rowsOf, warehouses } from '../support/harness/warehouse.js'
import { type Order, orderText, workerScript } from '../support/harness/worker.js'

const leaseMs = 1500
const sandbox = await sandboxOfFile()

const put = (id: number, description: string, minute: number): void => {
  const time = new Date(Date.parse('2026-01-01T00:00:00Z') + minute * 60_000).toISOString()
  sandbox.store.put(1, 'notes', { ...template('notes', id, time), description })
}

describe.each(warehouses())('$name', (kind) => {
  it.each([1, 2, 3])('stopped at its request %i, it finds the fence closed', async (at) => {
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    for (let id = 1; id <= 250; id++) put(id, 'old', id)
    const warehouse = kind.address()
    const mine = await reopen(warehouse)
    await migrate(mine)
    const order: Order = { sandbox, warehouse, resources: ['notes'], concurrency: 1, leaseMs }
    let lists = 0
    let stopped = (): void => {}
    const stop = new Promise<void>((resolve) => {
      stopped = resolve
    })
    const off = sandbox.onRequest(({ resource }) => {
      if (resource !== 'notes' || ++lists !== at) return
      first.kill('SIGSTOP')
      stopped()
    })
    const first = new Program(workerScript, [orderText(order)])
    await Promise.race([stop, first.ended.then(({ stdout, stderr }) => Promise.reject(stdout + stderr))])
    off()
    await sleep(leaseMs + 500)
    for (let id = 1; id <= 250; id++) put(id, 'new', 1000 + id)
    const report = await syncInOrder(sandbox, mine, { resources: ['notes'] })
    expect(report.status).toBe('ok')
    const before = { rows: await contents(mine), cursors: await rowsOf(mine, 'sync_cursors') }
    first.kill('SIGCONT')
    const ended = await first.ended
    expect(ended.code, ended.stdout + ended.stderr).toBe(4)
    expect({ rows: await contents(mine), cursors: await rowsOf(mine, 'sync_cursors') }).toEqual(before)
    await mine.close()
  })
})
