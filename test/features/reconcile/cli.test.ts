/** The output of reconcile, verify, backfill, plan, why and forget, and their exit codes. */
import { join } from 'node:path'
import Sqlite from 'better-sqlite3'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Place, viewedPlace } from '../../support/harness/place.js'

let there: Place
beforeAll(async () => {
  there = await viewedPlace({ until: '2026-06-01T00:00:00Z' })
  await there.run('sync', '--quiet')
})
afterAll(() => there.remove())

const range = ['--from', '2026-01-01T00:00:00Z', '--to', '2026-05-01T00:00:00Z']

describe('on a sandbox', () => {
  it('verify exits with 0 if all is equal and with 1 if not, and reconcile fixes it', async () => {
    expect(await there.run('verify', '--sample', '2')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('verify: equal'),
    })
    const [id] = there.sandbox.store.ids(101, 'inventories')
    there.sandbox.store.remove(101, 'inventories', id!)
    // Deletions since the first load are no difference; deletions that were not checked for long are.
    expect(await there.run('verify')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('(not a difference): 0 records newer, 1 record gone'),
    })
    const db = new Sqlite(join(there.folder, 'data/warehouse.db'))
    db.exec("update sync_cursors set deletes_checked_at = '2020-01-01T00:00:00.000000Z'")
    db.close()
    const differs = await there.run('verify', '--json')
    expect(differs.code).toBe(1)
    const found = differs.json<{ status: string; cursors: { resource: string; extra: number }[] }>()
    expect(found.status).toBe('differs')
    expect(found.cursors.filter(({ extra }) => extra > 0)).toMatchObject([
      { resource: 'inventories', extra: 1 },
    ])
    const mended = await there.run('reconcile', '--tenant', '101')
    expect(mended).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/1 record marked deleted.*by counting.*by listing/),
    })
    expect((await there.run('verify')).code).toBe(0)
    const why = await there.run('why', 'inventories', String(id), '--tenant', '101')
    expect(why).toMatchObject({ code: 0, stdout: expect.stringContaining('deleted; found gone at') })
  })

  it('plan and backfill show what they cost, in words and as JSON', async () => {
    const planned = (await there.run('plan', 'backfill', ...range, '--json')).json<{ requests: number }>()
    const dry = (await there.run('backfill', ...range, '--dry-run', '--json')).json<{ requests: number }>()
    const done = (await there.run('backfill', ...range, '--json')).json<{
      requests: number
      status: string
    }>()
    expect([planned.requests, dry.requests]).toEqual([done.requests, done.requests])
    expect(done.status).toBe('ok')
    expect((await there.run('plan')).stdout).toMatch(/^sync: \d+ requests.*Nothing was written/s)
  })

  it('forget only erases with --yes', async () => {
    const refused = await there.run('forget', '--tenant', '102')
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
    expect((await there.run('forget', '--tenant', '102', '--yes', '--json')).json()).toMatchObject({
      tenant_id: 102,
    })
    expect((await there.run('verify', '--tenant', '102')).code).toBe(2)
  })
})

it.each([
  [['backfill', '--from', '2026-03-01T00:00:00Z', '--to', '2026-02-01T00:00:00Z'], 'Swap the two'],
  [['backfill', '--from', '2999-01-01T00:00:00Z', '--to', '2999-02-01T00:00:00Z'], 'lies in the future'],
  [['backfill', '--from', '2026-01-01T00:00:00Z'], 'one --from and no --to'],
  [['backfill', ...range, '--resource', 'inventory'], 'Did you mean inventories?'],
  [['backfill', ...range, '--tenant', '999'], 'Granted tenants: 101'],
  [['reconcile', '--tenant', '999'], 'Granted tenants: 101'],
  [['verify', '--tenant', '999'], 'Granted tenants: 101'],
  [['verify', '--sample', 'some'], 'Type for example --sample 10'],
  [['plan', 'dictionary'], 'expected sync, backfill or reconcile'],
  [['plan', 'sync', ...range], 'Found --from with plan sync, expected it only with plan backfill'],
  [['plan', 'backfill', ...range, '--full'], 'Found --full with plan backfill'],
  [['plan', 'backfill'], 'Type for example --from'],
  [
    ['events', 'ring', '--state', 'waiting'],
    'Found --state with events ring, expected it only with events list',
  ],
  [['events', 'ring', '--last', '3', '--tenant', '101'], 'Leave --last out: --tenant and --resource choose'],
  [['events', 'ring', '--since', '2h'], 'Found --since with events ring'],
  [['why', 'customer', '1'], 'Did you mean customers?'],
  [['why', 'xxxxxxxxx', '1'], 'Expected one of'],
  [['why', 'customers', 'one'], 'expected a whole number'],
  [['forget', '--yes'], 'Type shopsync forget --tenant ID'],
  [['forget', '--tenant', '999', '--yes'], 'The warehouse has no tenant 999'],
])('%j is refused with exit code 2, with how to type it', async (words, hint) => {
  const { code, stderr } = await there.run(...words)
  expect(stderr).toContain(hint)
  expect(code).toBe(2)
})
