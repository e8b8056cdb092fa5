/**
 * Which lists a round reads, and of which it checks the deletions, by what the source was asked for: the story of due.txt, and
 * rounds within a rate limit.
 */
import { dirname } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { type Sandbox, template } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { Desk } from '../../support/harness/desk.js'
import { type Address, configure } from '../../support/harness/place.js'
import type { RunReport } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { writeJob } from '../../support/harness/scheduler.js'
import { isWhole } from '../../support/harness/size.js'
import {
  bothWarehouses,
  reopen,
  rowsOf,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { EventBench } from '../../support/world/events.js'
import { fieldsOf, Steps, storyTests, wordsOf } from '../../support/world/stories.js'

const ago = (hours: number): string =>
  new Date(Date.now() - hours * 3_600_000).toISOString().replace('Z', '000Z')
const long = '2020-01-01T00:00:00.000000Z'

const resources = ['notes', 'shops', 'vendors', 'staffs']

/** A tenant whose lists were polled an hour ago and their deletions checked now, but for what differs, as its line says. */
interface Tenant {
  readonly id: number
  readonly what: string
  readonly differs: Readonly<Record<string, unknown>>
}

class States {
  readonly tenants: Tenant[] = []
  desk!: Desk

  constructor(
    readonly sandbox: Sandbox,
    readonly address: Address,
  ) {}

  /** Reads all lists, and brings each tenant and its cursors into its state. */
  async arrange(): Promise<void> {
    const { tenants, sandbox } = this
    const { store } = sandbox
    const own = tenants.flatMap(({ id, differs: { targets } }) => (targets ? [[id, targets]] : []))
    this.desk = new Desk(sandbox, this.address, resources, {
      targets: { '*': 'PT1H', staffs: 'PT6H', tenants: Object.fromEntries(own) },
      sync: { exceptTenants: tenants.flatMap(({ id, differs }) => (differs.excepted ? id : [])) },
    })
    for (const { id, differs } of tenants) {
      store.addTenant({ id })
      for (const n of [1, 2]) store.put(id, 'notes', template('notes', n, '2026-01-01T00:00:00Z'))
      if (differs.unread) store.revoke(id)
      if (differs.vendors) store.switchOff('vendors', id)
    }
    await this.desk.done('sync')
    for (const { id, differs } of tenants) {
      if (differs.unread) store.grant(id)
      if (differs.revoked) store.revoke(id)
      if (differs.forgotten) await this.desk.done(`forget --tenant ${id} --yes`)
      if (differs.gone) store.remove(id, 'notes', Number(differs.gone))
    }
    store.switchOn('vendors')
    await this.desk.look((warehouse) => this.#store(warehouse))
  }

  async #store(warehouse: Warehouse): Promise<void> {
    const { db } = warehouse
    const events = await EventBench.open(this.sandbox, warehouse)
    const all = db.updateTable('sync_cursors')
    await all.set({ polled_at: ago(1) }).execute()
    for (const { id, differs } of this.tenants) {
      const notes = all.where('tenant_id', '=', id).where('resource', '=', 'notes')
      for (const column of ['status', 'completeness', 'reason'])
        if (differs[column]) await notes.set({ [column]: differs[column] }).execute()
      for (const [what, column] of Object.entries({ polled: 'polled_at', checked: 'deletes_checked_at' }))
        if (what in differs) await notes.set({ [column]: ago(Number(differs[what])) }).execute()
      if (differs.asked === 'never')
        await db.deleteFrom('sync_run_cursors').where('tenant_id', '=', id).execute()
      if (differs.asked === 'long')
        await db
          .updateTable('sync_run_cursors')
          .set({ finished_at: long })
          .where('tenant_id', '=', id)
          .execute()
      const came = { received_at: ago(0.1), due_at: ago(0.1) }
      if (differs.event) await events.putRows([{ tenant_id: id, resource: String(differs.event), ...came }])
    }
    await events.inbox.close()
  }
}

storyTests(
  'test/features/targets/due.txt',
  new Steps<States>({
    'tenant TEXT(?:: REST)?': ({ tenants }, what, differs = '') =>
      void tenants.push({ id: tenants.length + 1, what: what!, differs: fieldsOf(wordsOf(differs)) }),
    arrange: (states) => states.arrange(),
    'run due': async ({ desk, tenants }) => {
      const { status, requests, cursors } = (await desk.done('run due --json')).json<RunReport>()
      const deleted = cursors.reduce((sum, { rows_deleted }) => sum + rows_deleted, 0)
      if (cursors.length === 0) return `${status}, ${requests} requests, nothing was due`
      const told = tenants.map(({ id, what }) => {
        const [polled, checked] = [1, 2].map((step) => {
          const lists = cursors.filter((one) => one.step === step && one.tenant_id === id)
          return lists.map(({ resource }) => resource).toSorted()
        })
        const checks = checked!.length > 0 ? `, deletions of ${checked!.join(' ')}` : ''
        return `${what}: ${polled!.join(' ') || 'nothing'}${checks}`
      })
      return [`${status}, ${deleted} deleted`, ...told].join('\n')
    },
    plan: async ({ desk }) => {
      const { freshness } = (await desk.done('plan --json')).json<{ freshness: Record<string, unknown> }>()
      return `stretched: ${freshness.stretched}, the longest wait: ${freshness.longest_wait_seconds} seconds`
    },
    status: async ({ desk, tenants }) => {
      type Freshness = readonly { readonly resource: string; readonly tenant_id?: number }[]
      const { freshness } = (await desk.run('status --json')).json<{ freshness: Freshness }>()
      const nameOf = (id: number): string => tenants.find((one) => one.id === id)!.what
      return freshness
        .map(({ resource, tenant_id }) => (tenant_id ? `${resource} of ${nameOf(tenant_id)}` : resource))
        .join('\n')
    },
  }),
  (kind) => async () => new States(await sandboxOfFile({ data: 'none' }), await kind.viewed()),
  bothWarehouses(),
)

const [kind] = warehouses()
const rate = { limit: 1_000_000, window: 60 }
const shops = await sandboxOfFile({ tenants: 3, repairOrders: 4, rate })
let address: Address
let warehouse: Warehouse
let config: string

const settings = ({ sync, ...more }: Record<string, object> = {}, of: Sandbox = shops): void => {
  const some = ['notes', 'shops', 'customers', 'vehicles', 'repair_orders']
  config = configure(of, address, some, { targets: { '*': 'PT6H' }, sync, ...more })
}
const run = async (...words: string[]): Promise<RunReport> => {
  const ended = await shopsync([...words, '--json', '--config', config])
  expect(ended).toMatchObject({ code: 0 })
  return ended.json<RunReport>()
}
/** Sets columns of all cursors, or of a tenant's, or of one. */
async function set(columns: object, tenant_id?: number, resource?: string): Promise<void> {
  let its = warehouse.db.updateTable('sync_cursors').set(columns)
  if (tenant_id) its = its.where('tenant_id', '=', tenant_id)
  if (resource) its = its.where('resource', '=', resource)
  await its.execute()
}
/**
 * A window of about so many seconds that began within the last minute. Near its end, a round may wait for the next. None is
 * longer than 25 hours: the program takes a reset further ahead for a mistake.
 */
function allows(limit: number, least: number): void {
  const now = Math.floor(Date.now() / 1000)
  while (now % least > 60) least += 1
  Object.assign(rate, { limit, window: least })
}
/** What is left of the window. */
async function left(): Promise<number> {
  const { url, partnerId, secret } = shops
  const headers = { 'X-Api-Partner-Id': partnerId, 'X-Api-Secret': secret }
  const answer = await fetch(`${url}/api/v1/partners/${partnerId}/authorizations`, { headers })
  return Number(answer.headers.get('x-ratelimit-remaining'))
}

describe('a round', () => {
  beforeEach(async () => {
    Object.assign(rate, { limit: 1_000_000, window: 60 })
    address = await kind!.viewed()
    warehouse = await reopen(address)
    settings()
  })

  it('first polls what has waited for longest, then what announced changes and rates say, in targets', async () => {
    settings({ sync: { concurrency: 1 }, polling: { atLeast: 'PT25H' } })
    await run('sync')
    const dull = { polled_at: ago(24), news: 1, news_unannounced: 1, news_hours: 100 }
    const order = async (): Promise<string[]> =>
      (await run('sync', '--due')).cursors.map(({ tenant_id, resource }) => `${tenant_id} ${resource}`)
    await set(dull)
    await set({ polled_at: ago(26) }, 103, 'shops')
    await set({ news: 500 }, 102, 'notes')
    await set({ news: 300, news_unannounced: 0 }, 101, 'customers')
    expect((await order()).slice(0, 3)).toEqual(['103 shops', '102 notes', '101 customers'])
    // While a listener runs, only news that no event announced counts, of resources that have events.
    await set(dull)
    await set({ news: 500 }, 102, 'notes')
    await set({ news: 400 }, 102, 'vehicles')
    await set({ news: 900, news_unannounced: 0 }, 101, 'customers')
    const events = await EventBench.open(shops, warehouse)
    const came = { received_at: ago(24), due_at: ago(24) }
    await events.putRows([{ tenant_id: 103, resource: 'customers', type: 'Customer', ...came }])
    await events.listens({ up_at: ago(200), seen_at: ago(0) })
    await events.inbox.close()
    const [a, b, ...rest] = await order()
    expect([a, b]).toEqual(['102 notes', '103 customers'])
    expect(rest.at(-1)).toBe('101 customers')
  })

  it('leaves out what its budget has no room for, which is neither listed nor a failure', async () => {
    allows(12, 3600)
    const report = await run('sync', '--due')
    expect(report).toMatchObject({ status: 'ok', reason: null, rate_limited: 0 })
    expect(report.cursors.length).toBeLessThan(12)
    expect(new Set(report.cursors.map(({ status }) => status))).toEqual(new Set(['ok']))
  })

  it('that ends before its work is done ends with 0', async () => {
    const steps = ['sync', 'reconcile'].map((command) => ({ command, due: true }))
    writeJob(dirname(config), 'short', { timeLimit: 'PT0.05S', steps })
    expect(await run('run', 'short')).toMatchObject({ status: 'ok', reason: null })
  })

  it('ends with 0 if the limit falls to a tenth while it reads', async () => {
    Object.assign(rate, { limit: 60, window: 1 })
    const stop = shops.onRequest(() => {
      if (rate.limit === 60 && shops.requests.length % 5 === 0) rate.limit = 6
    })
    expect((await run('sync', '--due')).cursors.length).toBe(15)
    stop()
    expect(rate.limit).toBe(6)
  })

  it('leaves a tenth of its requests to checks of deletions if all are late', async () => {
    await run('sync')
    await set({ polled_at: ago(24), deletes_checked_at: long })
    const steps = ['sync', 'reconcile'].map((command) => ({ command, due: true }))
    writeJob(dirname(config), 'brief', { timeLimit: 'PT4M', steps })
    // Four minutes of an hour.
    allows(10_000, 3600)
    rate.limit -= (await left()) - 15 * 15
    const { cursors, requests } = await run('run', 'brief')
    const requestsOf = (wanted: number): number =>
      cursors.reduce((sum, { step, requests: its }) => sum + (step === wanted ? its : 0), 0)
    // Fifteen requests, and one for who is granted; a check takes two.
    expect(requestsOf(1)).toBeGreaterThanOrEqual(9)
    expect(requestsOf(2)).toBe(2)
    expect(requests).toBeLessThanOrEqual(16)
  })

  it.runIf(isWhole())('gives checks of deletions time, even if polls have work for all of it', async () => {
    settings({ sync: { concurrency: 1 } })
    await run('sync')
    await set({ polled_at: ago(24) })
    await set({ deletes_checked_at: long }, 101)
    // Polls of these lists alone take longer than there is.
    const stall = { kind: 'stall' as const, ms: 400 }
    shops.script([102, 103].map((tenant) => ({ when: { tenant }, fault: stall })))
    const { cursors } = await run('run', 'due', '--time-limit', 'PT4S')
    shops.script([])
    expect(new Set(cursors.map(({ step }) => step))).toEqual(new Set([1, 2]))
  })

  it('with a spent window has nothing to do, which is no failure', async () => {
    allows(1, 72_000)
    await run('sync', '--due')
    expect(await run('sync', '--due')).toMatchObject({ status: 'ok', cursors: [], requests: 1 })
    expect((await shopsync(['sync', '--json', '--config', config])).code).toBe(3)
  })

  it('late in a window, knows from earlier ones how long windows are; of another limit it knows nothing', async () => {
    allows(1000, 3600)
    await run('sync', '--due')
    const seen = async (window: object): Promise<void> => {
      const kept = { value: JSON.stringify(window) }
      await warehouse.db.updateTable('sync_meta').set(kept).where('name', '=', 'rate window').execute()
    }
    const length = async (): Promise<number> =>
      (await shopsync(['plan', '--json', '--config', config])).json<{ rate: { window_seconds: number } }>()
        .rate.window_seconds
    const kept = async (): Promise<{ limit: number; seconds: number }> =>
      JSON.parse(
        String((await rowsOf(warehouse, 'sync_meta')).find((row) => row.name === 'rate window')?.value),
      )
    await seen({ limit: 1000, seconds: 86_400, resetsAt: 0 })
    expect(await length()).toBe(86_400)
    await seen({ limit: 999, seconds: 86_400, resetsAt: 0 })
    expect(await length()).toBeLessThanOrEqual(3600)
    await run('sync', '--due')
    expect(await kept()).toMatchObject({ limit: 1000 })
    // The end of a later window shows that windows aren't that long.
    await seen({ limit: 1000, seconds: 86_400, resetsAt: Date.now() - 3_600_000 })
    await run('sync', '--due')
    expect((await kept()).seconds).toBeLessThanOrEqual(3600 + rate.window)
  })

  it('gives first loads no more requests than it has, and the next one goes on', async () => {
    settings({ api: { pageSize: 5 } })
    allows(10_000, 3600)
    await run('sync', '--due', '--tenant', '101', '--tenant', '102')
    await set({ polled_at: ago(24) })
    for (let id = 1; id <= 500; id++)
      shops.store.put(103, 'notes', template('notes', 10_000 + id, '2026-01-01T00:00:00Z'))
    // So much that the whole list of 101 pages would fit in, but not into nine tenths of it.
    rate.limit -= (await left()) - 112
    const lists = ['--resource', 'notes', '--resource', 'shops']
    const first = await run('sync', '--due', ...lists)
    expect(first.cursors.map(({ tenant_id }) => tenant_id).sort()).toEqual([101, 101, 102, 102, 103])
    expect(first.requests).toBeLessThanOrEqual(101)
    rate.limit = 10_000
    const second = await run('sync', '--due', ...lists)
    expect(second.cursors).toMatchObject([{ tenant_id: 103, resource: 'notes', status: 'ok' }])
    expect(second.requests).toBeLessThan(60)
  })

  it('asks for no authorizations because of a forgotten tenant that is still granted', async () => {
    const tenants = Array.from({ length: 103 }, (_, i) => ({ id: i + 1 }))
    settings({}, await sandboxOfFile({ data: 'none', tenants }))
    await run('sync', '--resource', 'shops')
    await run('forget', '--tenant', '7', '--yes')
    await run('sync', '--due', '--resource', 'shops')
    expect((await run('sync', '--due', '--resource', 'shops')).requests).toBe(1)
  })

  it('is what counts delays: a sync without targets sends the same requests and counts none', async () => {
    const empty = await sandboxOfFile({ data: 'none', tenants: [{ id: 101 }, { id: 102 }] })
    const asked = async (targets: object): Promise<unknown[]> => {
      settings({ targets }, empty)
      empty.store.put(101, 'notes', template('notes', 900 + empty.requests.length, ago(0)))
      const { requests } = await run('sync')
      return [requests, (await rowsOf(warehouse, 'sync_delays')).length]
    }
    await asked({})
    expect([await asked({}), await asked({ '*': 'PT6H' })]).toEqual([
      [11, 0],
      [11, 1],
    ])
  })
})
