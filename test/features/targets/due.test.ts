/** `sync --due`, and job steps with "due": true, on a real sandbox with a rate limit. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { type RateOptions, template } from '../../../src/sandbox/index.js'
import { type Place, syncedPlace, viewedPlace } from '../../support/harness/place.js'
import type { RunReport } from '../../support/harness/runs.js'

let here: Place
const targets = { '*': 'PT6H', repair_orders: 'PT15M' }

const shops = { tenants: 3, repairOrders: 4 }
const begin = async (rate?: RateOptions): Promise<void> => {
  here = await viewedPlace({ ...shops, ...(rate && { rate }) })
  here.configure({ targets })
}
const synced = async (): Promise<void> => {
  here = await syncedPlace(shops, { targets })
}
afterEach(() => here.remove())

const database = (): Database.Database => new Database(join(here.folder, 'data/warehouse.db'))

/** Makes every poll and check of deletions this many hours older. */
function age(hours: number, where = '1 = 1'): void {
  const db = database()
  for (const column of ['polled_at', 'deletes_checked_at', 'last_success_at'])
    db.exec(
      `update sync_cursors set ${column} = strftime('%Y-%m-%dT%H:%M:%f000Z', substr(${column}, 1, 23), '${-hours} hours') where ${where} and ${column} is not null`,
    )
  db.close()
}

const count = (table: string): number => {
  const db = database()
  const { n } = db.prepare(`select count(*) n from ${table}`).get() as { n: number }
  db.close()
  return n
}

const due = async (...words: string[]): Promise<RunReport> => {
  const ended = await here.run('sync', '--due', '--json', ...words)
  expect(ended).toMatchObject({ code: 0 })
  return ended.json<RunReport>()
}

const job = (name: string, content: object): void => {
  mkdirSync(join(here.folder, 'jobs'), { recursive: true })
  writeFileSync(join(here.folder, `jobs/${name}.json`), JSON.stringify({ description: 'A job.', ...content }))
}

describe('refused with exit 2, and what to type', () => {
  beforeEach(() => begin())

  it('without targets', async () => {
    here.configure({})
    const flag = await here.run('sync', '--due')
    expect(flag).toMatchObject({ code: 2 })
    expect(flag.stderr).toMatch(/Found --due but no targets.*[\s\S]*Add "targets": \{"\*": "PT6H"\}/)
    const step = await here.run('run', 'due')
    expect(step).toMatchObject({ code: 2 })
    expect(step.stderr).toMatch(/Found "due": true but no targets/)
  })

  it('together with --full', async () => {
    const { code, stderr } = await here.run('sync', '--due', '--full')
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/--due and --full, expected one of them[\s\S]*shopsync sync --due/),
    })
  })

  it.each([
    [{ command: 'sync', due: true, full: true }, /steps\[0\]\.due.*either "due" or "full"/],
    [
      { command: 'backfill', last: 'P3D', due: true },
      /steps\[0\]\.due.*none: only sync or reconcile may be due/,
    ],
    [{ command: 'verify', due: true }, /only sync or reconcile may be due/],
  ])('a step %j', async (step, said) => {
    job('wrong', { steps: [step] })
    const { code, stderr } = await here.run('run', 'wrong')
    expect(code).toBe(2)
    expect(stderr).toMatch(said)
  })
})

describe('sync --due', () => {
  it('reads what was never read, then nothing, then what is due again', async () => {
    await begin()
    const first = await due()
    expect(first.cursors.map(({ status }) => status)).toEqual(Array(63).fill('ok'))
    const second = await due()
    expect(second).toMatchObject({ status: 'ok', requests: 1, cursors: [] })
    age(0.2, "resource = 'repair_orders' and tenant_id = 101")
    const third = await due()
    expect(third.cursors).toMatchObject([
      { tenant_id: 101, resource: 'repair_orders', completeness: 'proven' },
    ])
    expect(third.requests).toBe(2)
  })

  it('first polls the list with the most expected changes', async () => {
    await synced()
    age(24)
    here.sandbox.store.put(102, 'notes', template('notes', 900, '2026-01-01T00:00:00Z'))
    const db = database()
    db.exec(
      "update sync_cursors set news = 500, news_hours = 100 where tenant_id = 102 and resource = 'notes'",
    )
    db.close()
    age(0, '1 = 0')
    here.configure({ targets, sync: { concurrency: 1 }, polling: { atLeast: 'PT25H' } })
    const { cursors } = await due()
    expect(cursors[0]).toMatchObject({ tenant_id: 102, resource: 'notes' })
    expect(cursors.length).toBeGreaterThan(3)
  })

  it('records a row for each list it polls, and none for the others', async () => {
    await synced()
    const before = count('sync_run_cursors')
    age(0.2, "resource = 'repair_orders'")
    await due()
    expect(count('sync_run_cursors') - before).toBe(3)
  })

  it("selects no cursor that the source doesn't offer, or of a revoked, excepted or forgotten tenant", async () => {
    await synced()
    age(20)
    const db = database()
    db.exec("update sync_cursors set status = 'unavailable' where tenant_id = 101 and resource = 'vendors'")
    db.close()
    here.configure({ targets, sync: { exceptTenants: [102] } })
    await here.run('forget', '--tenant', '103', '--yes')
    const { cursors } = await due()
    expect(new Set(cursors.map(({ tenant_id }) => tenant_id))).toEqual(new Set([101]))
    expect(cursors.map(({ resource }) => resource)).not.toContain('vendors')
  })

  it('tries a failed list again, but not at once', async () => {
    await synced()
    age(20)
    here.sandbox.script([
      { when: { resource: 'vendors', tenant: 101 }, fault: { kind: 'status', status: 500 } },
    ])
    const failed = await here.run('sync', '--due', '--json')
    expect(failed.code).toBe(1)
    here.sandbox.script([])
    expect((await due()).cursors).toEqual([])
    const db = database()
    db.exec("update sync_run_cursors set finished_at = '2020-01-01T00:00:00.000000Z'")
    db.close()
    expect((await due()).cursors).toMatchObject([{ tenant_id: 101, resource: 'vendors', status: 'ok' }])
  })

  it('a poll in the future, from a wrong clock, is repeated at once', async () => {
    await synced()
    age(-50, "resource = 'shops' and tenant_id = 101")
    expect((await due()).cursors).toMatchObject([{ tenant_id: 101, resource: 'shops' }])
  })
})

describe('with a rate limit', () => {
  it('what the budget leaves out is neither listed nor a failure; later rounds fetch it', async () => {
    // Too few requests for the 24 lists.
    await begin({ limit: 20, window: 2 })
    const resources = [
      'repair_orders',
      'notes',
      'shops',
      'vendors',
      'customers',
      'staffs',
      'categories',
      'statuses',
    ]
    here.configure({ targets, sync: { resources } })
    const first = await due('--time-limit', 'PT1S')
    expect(first).toMatchObject({ status: 'ok', reason: null })
    expect(first.cursors.length).toBeLessThan(24)
    expect(first.cursors.every(({ status }) => status === 'ok')).toBe(true)
    expect(first.rate_limited).toBe(0)
    here.configure({ targets: { '*': 'PT6H' }, sync: { resources } })
    let lists = first.cursors.length
    for (let round = 0; round < 40 && lists < 24; round++) {
      await setTimeout(1000)
      lists += (await due('--time-limit', 'PT1S')).cursors.length
    }
    expect(lists).toBe(24)
  })

  it('a window that shrinks during a round ends the round, not the run', async () => {
    await begin({ limit: 200, window: 3600 })
    const others: Promise<unknown>[] = []
    const stop = here.sandbox.onRequest(() => {
      if (others.length > 0) return
      // Another program uses nearly all of it.
      const { url, partnerId, secret } = here.sandbox
      const address = `${url}/api/v1/partners/${partnerId}/authorizations`
      for (let i = 0; i < 170; i++)
        others.push(fetch(address, { headers: { 'X-Api-Partner-Id': partnerId, 'X-Api-Secret': secret } }))
    })
    const report = await due('--time-limit', 'PT4S')
    stop()
    await Promise.all(others)
    expect(report.cursors.length).toBeLessThan(63)
    expect(report.status).toBe('ok')
    expect(report.reason).toBeNull()
    expect(report.cursors.every(({ status }) => status === 'ok')).toBe(true)
  })
})

describe('the job due', () => {
  it('syncs and checks deletions, each as far as it is due', async () => {
    await begin()
    const first = (await here.run('run', 'due', '--json')).json<RunReport>()
    expect(first).toMatchObject({ job: 'due', mode: 'job', status: 'ok' })
    expect(new Set(first.cursors.map(({ step }) => step))).toEqual(new Set([1]))
    age(40, "tenant_id = 102 and resource = 'customers'")
    here.sandbox.store.remove(102, 'customers', Number(here.sandbox.store.ids(102, 'customers')[0]))
    const { code, stdout } = await here.run('run', 'due', '--json')
    expect(code).toBe(0)
    const { cursors } = JSON.parse(stdout) as RunReport
    expect(cursors).toMatchObject([
      { step: 1, tenant_id: 102, resource: 'customers' },
      { step: 2, tenant_id: 102, resource: 'customers', rows_deleted: 1 },
    ])
  })

  it('ends with 0 if its time is over before its work', async () => {
    await begin()
    job('short', {
      timeLimit: 'PT0.05S',
      steps: [
        { command: 'sync', due: true },
        { command: 'reconcile', due: true },
      ],
    })
    const { code, stdout } = await here.run('run', 'short', '--json')
    expect({ code, report: JSON.parse(stdout) }).toMatchObject({
      code: 0,
      report: { status: 'ok', reason: null },
    })
  })
})
