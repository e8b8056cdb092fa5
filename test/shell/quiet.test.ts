/** With --quiet, cron mails what needs attention, one per line, and nothing else. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { StatusReport } from '../../src/features/health/statusdocument.js'
import { type Place, viewedPlace } from '../support/harness/place.js'
import type { RunReport } from '../support/harness/runs.js'
import { closeAll, httpServer } from '../support/harness/server.js'

let here: Place

beforeEach(async () => {
  here = await viewedPlace({ repairOrders: 2 })
  here.configure({ sync: { resources: ['notes', 'categories'] } })
})
afterEach(() => here.remove())

const warehouse = (): Database.Database => new Database(join(here.folder, 'data/warehouse.db'))
const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '')

describe('a run', () => {
  test('that fails in a cursor says so in a line', async () => {
    here.sandbox.script([
      { when: { tenant: 101, resource: 'notes' }, fault: { kind: 'status', status: 500 } },
    ])
    for (const words of [['run', 'hourly'], ['sync']]) {
      const { code, stdout, stderr } = await here.run(...words, '--quiet')
      expect([code, stdout]).toEqual([1, ''])
      expect(linesOf(stderr)).toHaveLength(1)
      expect(stderr).toMatch(new RegExp(`^shopsync: ${words.at(-1)}: tenant 101, notes: .*500`))
    }
    here.sandbox.script([])
    expect(await here.run('run', 'hourly', '--quiet')).toMatchObject({ code: 0, stdout: '', stderr: '' })
  })

  test('with undeliverable alerts and heartbeat reports that, one per line', async () => {
    const refusing = await httpServer((_request, response) => response.writeHead(404).end())
    const alerts = { rules: [{ webhook: `${refusing.url}/hidden` }], heartbeat: `${refusing.url}/beat` }
    here.configure({ sync: { resources: ['notes'] }, alerts })
    here.sandbox.script([{ when: { resource: 'notes' }, fault: { kind: 'status', status: 500 } }])
    const { stderr } = await here.run('sync', '--tenant', '101', '--quiet')
    expect(linesOf(stderr).sort()).toEqual([
      expect.stringMatching(
        /^shopsync: A heartbeat was not accepted: .*alerts\.heartbeat.*404.*check --alerts$/,
      ),
      expect.stringMatching(/^shopsync: An alert was not accepted.*alerts\.rules\[0\].*404.*check --alerts$/),
      expect.stringMatching(/^shopsync: sync: tenant 101/),
    ])
    expect(stderr).not.toContain('hidden')
    await closeAll()
  })

  test('names each tenant that is no longer granted once, in each run; so do status, check and verify', async () => {
    await here.run('sync')
    here.sandbox.store.revoke(101)
    for (const words of [
      ['run', 'hourly'],
      ['sync'],
      ['sync', '--tenant', '101'],
      ['verify'],
      ['status'],
      ['check'],
    ]) {
      const { code, stdout, stderr } = await here.run(...words, '--quiet')
      expect([words, code, stdout]).toEqual([words, 1, ''])
      expect(linesOf(stderr)).toEqual([expect.stringMatching(/tenant 101:? is no longer granted/i)])
    }
    const alone = await here.run('sync', '--tenant', '101')
    expect(linesOf(alone.stdout)).toEqual([
      expect.stringMatching(/^Tenant 101 is no longer granted.*sync\.exceptTenants/),
    ])
    expect((await here.run('status')).stdout).toContain('✗ Tenant 101 is no longer granted')
    expect((await here.run('check')).stdout).toContain('✗ tenant 101: is no longer granted')
    here.configure({ sync: { resources: ['notes', 'categories'], exceptTenants: [101] } })
    for (const word of ['sync', 'verify', 'status', 'check'])
      expect([word, (await here.run(word, '--quiet')).code]).toEqual([word, 0])
    expect((await here.run('sync', '--quiet')).stderr).toBe('')
    expect((await here.run('sync', '--tenant', '101')).code).toBe(2)
    here.configure({ sync: { resources: ['notes', 'categories'] } })
    expect((await here.run('forget', '--tenant', '101', '--yes')).code).toBe(0)
    expect((await here.run('status', '--quiet')).code).toBe(0)
  })

  test('reports in each run that nobody is granted, and so do verify and status, until all are forgotten', async () => {
    await here.run('sync')
    for (const tenant of [101, 102]) here.sandbox.store.revoke(tenant)
    for (const words of [['sync'], ['run', 'hourly'], ['verify'], ['status']]) {
      const { code, stderr } = await here.run(...words, '--quiet')
      expect([words, code]).toEqual([words, 1])
      expect(stderr).toMatch(/No tenant is granted\. Ask/)
    }
    const report = (await here.run('sync', '--json')).json<RunReport>()
    expect(report).toMatchObject({ status: 'failed', reason: 'no_grants' })
    expect((await here.run('status', '--json')).json<StatusReport>()).toMatchObject({ reason: 'no_grants' })
    for (const tenant of ['101', '102']) await here.run('forget', '--tenant', tenant, '--yes')
    for (const word of ['sync', 'status']) expect([word, (await here.run(word)).code]).toEqual([word, 0])
  })
})

describe('a lock that another run holds', () => {
  const held = async (claimedAt: number): Promise<void> => {
    await here.run('sync', '--quiet')
    const db = warehouse()
    db.prepare(
      "update sync_lease set owner = 'r', host = 'elsewhere', pid = 1, claimed_at = ?, expires_at = ?",
    ).run(
      new Date(Date.now() - claimedAt).toISOString().replace('Z', '000Z'),
      new Date(Date.now() + 50_000).toISOString().replace('Z', '000Z'),
    )
    db.close()
  }
  const minutes = 60_000

  test('is not reported, except for a job that has missed two turns', async () => {
    await held(30 * minutes)
    for (const words of [['run', 'hourly'], ['sync']])
      expect(await here.run(...words, '--quiet')).toMatchObject({ code: 4, stdout: '', stderr: '' })
    expect((await here.run('sync')).stderr).toContain('Another run')
    expect((await here.run('sync', '--quiet', '--json')).json()).toMatchObject({ error: { exit_code: 4 } })
    await held(130 * minutes)
    const { code, stderr } = await here.run('run', 'hourly', '--quiet')
    expect(code).toBe(4)
    expect(linesOf(stderr)).toEqual([expect.stringContaining('more than two intervals')])
    mkdirSync(join(here.folder, 'jobs'))
    const job = { description: 'Without a schedule.', steps: [{ command: 'sync' }] }
    writeFileSync(join(here.folder, 'jobs/mine.json'), JSON.stringify(job))
    expect(await here.run('run', 'mine', '--quiet')).toMatchObject({ code: 4, stderr: '' })
  })
})

test('a job counts its steps; the reason of one step is that of the job', async () => {
  mkdirSync(join(here.folder, 'jobs'))
  const job = { description: 'Two.', steps: [{ command: 'sync' }, { command: 'verify' }] }
  writeFileSync(join(here.folder, 'jobs/two.json'), JSON.stringify(job))
  await here.run('sync')
  for (const tenant of [101, 102]) here.sandbox.store.revoke(tenant)
  const report = (await here.run('run', 'two', '--json')).json<RunReport>()
  expect(report.reason).toBe('no_grants')
  expect(new Set(report.cursors.map(({ step }) => step))).toEqual(new Set([1, 2]))
})

test('a killed run shows in status until the next one', async () => {
  await here.run('sync', '--quiet')
  const db = warehouse()
  db.prepare("update sync_runs set status = 'running', finished_at = null").run()
  const { code, stdout } = await here.run('status')
  expect(code).toBe(1)
  expect(stdout).toMatch(/✗ The last run \(sync, started .* ago\) died without reporting/)
  expect(linesOf((await here.run('status', '--quiet')).stderr)).toHaveLength(1)
  db.close()
  await here.run('sync', '--quiet')
  // That it was killed is an incident, which is over with the next good run.
  expect((await here.run('status')).code).toBe(0)
})

test('deletions that were checked once and not for days need attention', async () => {
  await here.run('reconcile', '--quiet')
  expect((await here.run('status', '--quiet')).code).toBe(0)
  const db = warehouse()
  const longAgo = new Date(Date.now() - 4 * 86_400_000).toISOString().replace('Z', '000Z')
  db.prepare(
    "update sync_cursors set deletes_checked_at = ? where resource = 'notes' and tenant_id = 101",
  ).run(longAgo)
  db.close()
  const { code, stderr } = await here.run('status', '--quiet')
  expect(code).toBe(1)
  expect(linesOf(stderr)).toEqual([
    expect.stringMatching(/tenant 101, notes: deletions were last checked at .* reconcile$/),
  ])
  here.configure({ status: { deletesUncheckedAfter: 'P5D' }, sync: { resources: ['notes', 'categories'] } })
  expect((await here.run('status')).code).toBe(0)
  here.configure({ sync: { resources: ['notes', 'categories'] } })
  await here.run('reconcile', '--quiet')
  expect((await here.run('status')).code).toBe(0)
})

test('a value that two steps of a job meet is counted once', async () => {
  const at = '2026-11-21T00:00:00Z'
  here.sandbox.store.put(101, 'notes', { id: 1, repair_order_id: 'x', created_at: at, updated_at: at })
  mkdirSync(join(here.folder, 'jobs'))
  const step = { command: 'sync', resources: ['notes'], full: true }
  const job = { description: 'Twice.', steps: [step, step] }
  writeFileSync(join(here.folder, 'jobs/twice.json'), JSON.stringify(job))
  expect((await here.run('run', 'twice', '--json')).json<RunReport>()).toMatchObject({ quarantined: 1 })
})
