/** What a round leaves to whom: polls, first loads, checks of deletions, lists that failed. */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, expect, it } from 'vitest'
import type { Int64 } from '../../../schema/resource.js'
import { type SandboxOptions, template } from '../../../src/sandbox/index.js'
import { type Place, syncedPlace, viewedPlace } from '../../support/harness/place.js'
import type { RunReport } from '../../support/harness/runs.js'

let here: Place
const targets = { '*': 'PT6H' }
const sync = { resources: ['notes', 'shops', 'customers', 'vehicles', 'repair_orders'] }

afterEach(() => here.remove())

/**
 * Seconds: a window of about this length that began within the last minute. Near its end, a round may wait for the next.
 * None is longer than 25 hours: the program takes a reset further ahead for a mistake.
 */
function youngWindow(least: number): number {
  const now = Math.floor(Date.now() / 1000)
  let window = least
  while (now % window > 60) window += 1
  return window
}

const synced = async (more: Record<string, object> = {}): Promise<void> => {
  here = await syncedPlace({ tenants: 3, repairOrders: 4 }, { targets, sync })
  here.configure({ targets, ...more, sync: { ...sync, ...more.sync } })
}

async function placed(options: SandboxOptions, more: Record<string, object> = {}): Promise<void> {
  here = await viewedPlace({ tenants: 3, repairOrders: 4, ...options })
  here.configure({ targets, ...more, sync: { ...sync, ...more.sync } })
}

function change(sql: string): void {
  const db = new Database(join(here.folder, 'data/warehouse.db'))
  db.exec(sql)
  db.close()
}

/** Makes polls and checks of deletions so many hours older. */
const age = (hours: number, columns = ['polled_at', 'deletes_checked_at', 'last_success_at']): void =>
  change(
    columns
      .map(
        (column) =>
          `update sync_cursors set ${column} = strftime('%Y-%m-%dT%H:%M:%f000Z', substr(${column}, 1, 23), '${-hours} hours') where ${column} is not null;`,
      )
      .join(''),
  )

const run = async (...words: string[]): Promise<RunReport> => {
  const ended = await here.run(...words, '--json')
  expect(ended).toMatchObject({ code: 0 })
  return ended.json<RunReport>()
}

/** What is left of the window. */
async function leftOf({ limit }: { readonly limit: number }): Promise<{ readonly remaining: number }> {
  const { url, partnerId, secret } = here.sandbox
  const headers = { 'X-Api-Partner-Id': partnerId, 'X-Api-Secret': secret }
  const answer = await fetch(`${url}/api/v1/partners/${partnerId}/authorizations`, { headers })
  return { remaining: Number(answer.headers.get('x-ratelimit-remaining') ?? limit) }
}

it('a list with records that are never shown is polled and checked like others', async () => {
  await placed({})
  here.sandbox.script([
    { when: { resource: 'customers', tenant: 101, kind: 'list' }, fault: { kind: 'total', by: 1 } },
  ])
  const first = await here.run('sync', '--due', '--json')
  const isList = ({
    tenant_id,
    resource,
  }: {
    readonly tenant_id: Int64
    readonly resource: string
  }): boolean => tenant_id === 101 && resource === 'customers'
  expect(first.json<RunReport>().cursors.find(isList)).toMatchObject({ reason: 'counted_not_shown' })
  age(40)
  const { code, stdout } = await here.run('run', 'due', '--json')
  expect(code).toBe(1)
  const { cursors } = JSON.parse(stdout) as RunReport
  expect(cursors.filter(isList)).toMatchObject([
    { step: 1, requests: 1 },
    { step: 2, reason: 'counted_not_shown' },
  ])
})

it('a list whose check failed is checked again once it has rested', async () => {
  await synced()
  age(40, ['deletes_checked_at'])
  change(
    "update sync_cursors set status = 'failed', reason = 'unreachable' where tenant_id = 101 and resource = 'notes'",
  )
  const checked = async (): Promise<boolean> =>
    (await run('run', 'due')).cursors.some(
      ({ tenant_id, resource }) => tenant_id === 101 && resource === 'notes',
    )
  expect(await checked()).toBe(false)
  change("update sync_run_cursors set finished_at = '2020-01-01T00:00:00.000000Z'")
  expect(await checked()).toBe(true)
})

it('checks of deletions get time, even if polls have work for all of it', async () => {
  await synced({ sync: { concurrency: 1 } })
  age(48)
  change("update sync_cursors set deletes_checked_at = '2020-01-01T00:00:00.000000Z' where tenant_id = 101")
  // Polls of these lists alone take longer than there is.
  const slow = [102, 103].map((tenant) => ({ when: { tenant }, fault: { kind: 'stall' as const, ms: 400 } }))
  here.sandbox.script(slow)
  const { cursors } = await run('run', 'due', '--time-limit', 'PT4S')
  expect(new Set(cursors.map(({ step }) => step))).toEqual(new Set([1, 2]))
})

it('first loads take no more requests than the round gives them, and the next round goes on', async () => {
  const rate = { limit: 10_000, window: youngWindow(3600) }
  await placed({ rate })
  await run('sync', '--due', '--tenant', '101', '--tenant', '102')
  age(24)
  for (let id = 1; id <= 10_050; id++)
    here.sandbox.store.put(103, 'notes', template('notes', 10_000 + id, '2026-01-01T00:00:00Z'))
  // So much that the whole list of 101 pages would fit in, but not into nine tenths of it.
  const { remaining } = await leftOf(rate)
  rate.limit -= remaining - 112
  const lists = ['--resource', 'notes', '--resource', 'shops']
  const first = await run('sync', '--due', ...lists)
  expect(first.cursors.map(({ tenant_id }) => tenant_id).sort()).toEqual([101, 101, 102, 102, 103])
  expect(first.requests).toBeLessThanOrEqual(101)
  rate.limit = 10_000
  const second = await run('sync', '--due', ...lists)
  expect(second.cursors).toMatchObject([{ tenant_id: 103, resource: 'notes', status: 'ok' }])
  expect(second.requests).toBeLessThan(60)
})

it('the stretched bound is stored for the tenants and resources that the configuration names', async () => {
  const resources = ['notes', 'shops']
  await placed(
    { rate: { limit: 1, window: youngWindow(72_000) } },
    { targets: { '*': 'PT1H' }, polling: { atLeast: 'PT1H' }, status: { staleAfter: 'PT2H' } },
  )
  const more = { targets: { '*': 'PT1H' }, polling: { atLeast: 'PT1H' }, status: { staleAfter: 'PT2H' } }
  const stretched = async (): Promise<unknown> =>
    (await here.run('status', '--json')).json<{ stretched_polling: unknown }>().stretched_polling
  here.configure({ ...more, sync: { tenants: [101, 102, 103], resources } })
  await here.run('sync', '--due', '--json')
  expect(await stretched()).toMatchObject({ lists: 6 })
})

it('a window that is spent for longer than api.maxWait leaves nothing to do, which is no failure', async () => {
  await placed({ rate: { limit: 1, window: youngWindow(72_000) } })
  await run('sync', '--due')
  const { status, cursors, requests } = await run('sync', '--due')
  expect({ status, cursors, requests }).toEqual({ status: 'ok', cursors: [], requests: 1 })
  expect((await here.run('sync', '--json')).code).toBe(3)
})

it('a forgotten tenant that is still granted makes no round ask for all authorizations', async () => {
  await placed({ data: 'none', tenants: 0 })
  for (let id = 1; id <= 103; id++) here.sandbox.store.addTenant({ id })
  await run('sync', '--resource', 'shops')
  await here.run('forget', '--tenant', '7', '--yes')
  await run('sync', '--due', '--resource', 'shops')
  expect((await run('sync', '--due', '--resource', 'shops')).requests).toBe(1)
})
