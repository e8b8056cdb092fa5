/** `shopsync run`: how the settings of a job's file affect its run. */

import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Place, viewedPlace } from '../../support/harness/place.js'
import type { RunReport } from '../../support/harness/runs.js'
import { writeJob } from '../../support/harness/scheduler.js'

let here: Place
beforeAll(async () => {
  here = await viewedPlace({ repairOrders: 2, tenants: 1 })
  here.configure({ sync: { resources: ['notes', 'statuses'] } })
})
afterAll(() => here.remove())

const steps = [{ command: 'sync' }, { command: 'reconcile' }]

test("ends at its file's time limit, but the flag takes precedence", async () => {
  here.sandbox.script([{ when: { resource: 'notes' }, fault: { kind: 'stall' } }])
  writeJob(here.folder, 'mine', { steps, timeLimit: 'PT0.5S' })
  const { code, stdout } = await here.run('run', 'mine', '--json')
  // A limit that ends before any cursor has started is an error, without a report.
  expect([code, stdout]).toEqual([1, expect.stringMatching(/time.limit/)])
  here.sandbox.script([])
  expect(await here.run('run', 'mine', '--time-limit', 'PT1H')).toMatchObject({ code: 0 })
})

test('continues after a failed step, unless its file says stop', async () => {
  here.sandbox.script([{ when: { resource: 'notes' }, fault: { kind: 'status', status: 500 } }])
  const stepsOf = async (onFailure: string): Promise<number[]> => {
    writeJob(here.folder, 'mine', { steps, onFailure })
    const { code, json } = await here.run('run', 'mine', '--json')
    expect(code).toBe(1)
    return [...new Set(json<RunReport>().cursors.map(({ step }) => step))]
  }
  expect(await stepsOf('continue')).toEqual([1, 2])
  expect(await stepsOf('stop')).toEqual([1])
  here.sandbox.script([])
})

test('a job counts its steps; the reason of one step is that of the job', async () => {
  writeJob(here.folder, 'two', { steps: [{ command: 'sync' }, { command: 'verify' }] })
  expect((await here.run('sync')).code).toBe(0)
  here.sandbox.store.revoke(101)
  const report = (await here.run('run', 'two', '--json')).json<RunReport>()
  expect(report.reason).toBe('no_grants')
  expect(new Set(report.cursors.map(({ step }) => step))).toEqual(new Set([1, 2]))
  here.sandbox.store.grant(101)
})

test('steps of a job make one document, with the requests of all; a value that two of them meet is counted once', async () => {
  const at = '2026-11-21T00:00:00Z'
  here.sandbox.store.put(101, 'notes', { id: 1, repair_order_id: 'x', created_at: at, updated_at: at })
  const step = { command: 'sync', resources: ['notes'], full: true }
  writeJob(here.folder, 'twice', { steps: [step, step, { command: 'sync', resources: ['statuses'] }] })
  const report = (await here.run('run', 'twice', '--json')).json<RunReport>()
  expect(report.quarantined).toBe(1)
  expect(report.cursors.map(({ resource }) => resource)).toEqual(['notes', 'notes', 'statuses'])
  // Each step requests the authorizations once, and each cursor once.
  expect(report.requests).toBe(3 + report.cursors.length)
})

test('waits for another run as long as its file says', async () => {
  const db = new Database(join(here.folder, 'data/warehouse.db'))
  const expires = new Date(Date.now() + 50_000).toISOString().replace('Z', '000Z')
  db.prepare("update sync_lease set owner = 'other', host = 'elsewhere', expires_at = ?").run(expires)
  db.close()
  writeJob(here.folder, 'mine', { wait: 'PT0.2S' })
  const { code, stderr } = await here.run('run', 'mine')
  expect(code).toBe(4)
  expect(stderr).toContain('Waiting up to')
})
