/**
 * Which lists a round reads, and of which it checks the deletions, by what the source was asked for: the job `due` over many
 * tenants of which each is in another state, and rounds within a rate limit.
 */
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createSandbox, type SandboxOptions, template } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { configure, type Place, viewedPlace } from '../../support/harness/place.js'
import type { RunReport } from '../../support/harness/runs.js'
import { writeJob } from '../../support/harness/scheduler.js'
import { isWhole } from '../../support/harness/size.js'
import { bothWarehouses, openAt, reopen, type Warehouse } from '../../support/harness/warehouse.js'
import { waitingEvent } from '../../support/world/inboxrows.js'

const ago = (hours: number): string =>
  new Date(Date.now() - hours * 3_600_000).toISOString().replace('Z', '000Z')
const long = '2020-01-01T00:00:00.000000Z'

const resources = ['notes', 'shops', 'vendors', 'staffs']
/** After an hour, a list is due if its target is at most four hours. */
const due = ['notes', 'shops', 'vendors']
const failed = { status: 'failed', reason: 'unreachable' }

interface State {
  readonly what: string
  /** The columns of its notes that differ; all lists were polled an hour ago, and their deletions were checked now. */
  readonly notes?: Readonly<Record<string, string>>
  /** When its lists were last asked for, as the history has it; null: the history has nothing. */
  readonly asked?: string | null
  readonly vendors?: 'not offered'
  readonly tenant?: 'revoked' | 'excepted' | 'forgotten' | 'granted since'
  readonly targets?: Readonly<Record<string, string>>
  readonly event?: string
  readonly polled: readonly string[]
  readonly checked?: readonly string[]
}

const states: readonly State[] = [
  { what: 'polled an hour ago', polled: due },
  { what: 'with a hole', notes: { completeness: 'unproven', reason: 'hole' }, polled: due },
  { what: 'polled just now', notes: { polled_at: ago(0) }, polled: ['shops', 'vendors'] },
  { what: 'polled just now for its target, but an event waits', event: 'staffs', polled: [...due, 'staffs'] },
  { what: 'polled in the future, by a wrong clock', notes: { polled_at: ago(-50) }, polled: due },
  { what: 'failed just now', notes: failed, polled: ['shops', 'vendors'] },
  { what: 'failed long ago', notes: failed, asked: long, polled: due },
  { what: 'not offered just now', vendors: 'not offered', polled: ['notes', 'shops'] },
  { what: 'not offered for longer than polling.atLeast', vendors: 'not offered', asked: long, polled: due },
  { what: 'not offered, at an unknown time', vendors: 'not offered', asked: null, polled: due },
  { what: 'of a tenant that is not granted any more', tenant: 'revoked', polled: [] },
  { what: 'of a tenant that is left out', tenant: 'excepted', polled: [] },
  { what: 'of a tenant that was forgotten', tenant: 'forgotten', polled: [] },
  { what: 'never read', tenant: 'granted since', polled: resources },
  {
    what: "a tenant's own target comes before the resource's",
    targets: { notes: 'PT6H' },
    polled: ['shops', 'vendors'],
  },
  {
    what: "a tenant's target of a list comes before that of all its lists",
    targets: { '*': 'PT6H', staffs: 'PT1H' },
    polled: ['staffs'],
  },
  { what: 'no targets of its own', targets: {}, polled: due },
  {
    what: 'deletions checked 40 hours ago',
    notes: { deletes_checked_at: ago(40) },
    polled: due,
    checked: ['notes'],
  },
  { what: 'deletions checked 30 hours ago', notes: { deletes_checked_at: ago(30) }, polled: due },
  {
    what: 'deletions checked 40 hours ago, failed just now',
    notes: { deletes_checked_at: ago(40), ...failed },
    polled: ['shops', 'vendors'],
  },
  {
    what: 'deletions checked 40 hours ago, failed long ago',
    notes: { deletes_checked_at: ago(40), ...failed },
    asked: long,
    polled: due,
    checked: ['notes'],
  },
]
const tenants = states.map((state, i) => ({ ...state, id: i + 1 }))
const idsOf = (wanted: State['tenant']): number[] =>
  tenants.flatMap(({ id, tenant }) => (tenant === wanted ? id : []))

/** Brings each tenant's cursors into its state. */
async function arrange(warehouse: Warehouse): Promise<void> {
  const { db } = warehouse
  await db
    .updateTable('sync_cursors')
    .set({ polled_at: ago(1) })
    .execute()
  for (const { id, notes, asked, event } of tenants) {
    const its = db.updateTable('sync_cursors').where('tenant_id', '=', id)
    if (notes) await its.where('resource', '=', 'notes').set(notes).execute()
    if (asked === null) await db.deleteFrom('sync_run_cursors').where('tenant_id', '=', id).execute()
    else if (asked)
      await db
        .updateTable('sync_run_cursors')
        .set({ finished_at: asked })
        .where('tenant_id', '=', id)
        .execute()
    if (event) await waitingEvent(warehouse, { tenant_id: id, resource: event, received_at: ago(0.1) })
  }
}

const listsOf = ({ cursors }: RunReport, step: number, tenant: number): string[] =>
  cursors.flatMap((one) => (one.step === step && one.tenant_id === tenant ? one.resource : []))

describe.each(bothWarehouses())('the job due on $name', (kind) => {
  let first: RunReport
  let second: RunReport
  const told: { plan?: unknown; status?: unknown } = {}

  beforeAll(async () => {
    const sandbox = await createSandbox({ data: 'none' })
    const address = await kind.viewed()
    const own = Object.fromEntries(tenants.flatMap(({ id, targets }) => (targets ? [[id, targets]] : [])))
    const config = configure(sandbox, address, resources, {
      targets: { '*': 'PT1H', staffs: 'PT6H', tenants: own },
      sync: { exceptTenants: idsOf('excepted') },
    })
    const run = async <T>(...words: string[]): Promise<T> => {
      const { code, stderr, json } = await shopsync([...words, '--json', '--config', config])
      // Some lists are failing.
      expect({ words, code, stderr }).toMatchObject({ code: words[0] === 'status' ? 1 : 0 })
      return json<T>()
    }
    for (const { id, tenant, vendors } of tenants) {
      sandbox.store.addTenant({ id })
      for (const n of [1, 2]) sandbox.store.put(id, 'notes', template('notes', n, '2026-01-01T00:00:00Z'))
      if (tenant === 'granted since') sandbox.store.revoke(id)
      if (vendors) sandbox.store.switchOff('vendors', id)
    }
    await run('sync')
    for (const { id, tenant, checked } of tenants) {
      if (tenant === 'granted since') sandbox.store.grant(id)
      if (tenant === 'revoked') sandbox.store.revoke(id)
      if (tenant === 'forgotten') await run('forget', '--tenant', String(id), '--yes')
      if (checked) sandbox.store.remove(id, 'notes', 1)
    }
    const warehouse = await openAt(address)
    await arrange(warehouse)
    sandbox.store.switchOn('vendors')
    first = await run('run', 'due')
    second = await run('run', 'due')
    told.plan = (await run<{ freshness: unknown }>('plan')).freshness
    told.status = (await run<{ freshness: unknown }>('status')).freshness
    await warehouse.close()
    await sandbox.close()
  }, 60_000)

  it.each(tenants.map((one) => [one.what, one] as const))('%s', (_what, { id, polled, checked = [] }) => {
    expect(listsOf(first, 1, id).toSorted()).toEqual(polled.toSorted())
    expect(listsOf(first, 2, id)).toEqual(checked)
  })

  it('then nothing, for a request of each step', () => {
    expect(first.status).toBe('ok')
    expect(first.cursors.reduce((sum, { rows_deleted }) => sum + rows_deleted, 0)).toBe(2)
    expect(second).toMatchObject({ status: 'ok', requests: 2, cursors: [] })
  })

  it('plan and status know all lists that may be polled', () => {
    expect(told.plan).toMatchObject({ stretched: false, longest_wait_seconds: 86_400 })
    const names = (told.status as { resource: string; tenant_id?: number }[]).map((one) =>
      [one.resource, one.tenant_id].filter(Boolean).join(' of '),
    )
    const own = tenants.flatMap(({ id, targets }) => (targets?.staffs ? `staffs of ${id}` : []))
    expect(names).toEqual(expect.arrayContaining([...resources, ...own]))
  })
})

let here: Place
const place = async (options: SandboxOptions, more: Record<string, object> = {}): Promise<void> => {
  here = await viewedPlace({ tenants: 3, repairOrders: 4, ...options })
  settings(more)
}
const settings = (more: Record<string, object>): void =>
  here.configure({
    targets: { '*': 'PT6H' },
    ...more,
    sync: { resources: ['notes', 'shops', 'customers', 'vehicles', 'repair_orders'], ...more.sync },
  })
const run = async (...words: string[]): Promise<RunReport> => {
  const ended = await here.run(...words, '--json')
  expect(ended).toMatchObject({ code: 0 })
  return ended.json<RunReport>()
}
function change(sql: string): void {
  const db = new Database(join(here.folder, 'data/warehouse.db'))
  db.exec(sql)
  db.close()
}

describe('a round', () => {
  afterEach(() => here.remove())

  it('first polls what has waited for longest, then what announced changes and rates say, in targets', async () => {
    await place({}, { sync: { concurrency: 1 }, polling: { atLeast: 'PT25H' } })
    await run('sync')
    const of = (tenant: number, resource: string) => `tenant_id = ${tenant} and resource = '${resource}'`
    change(`update sync_cursors set polled_at = '${ago(24)}', news = 1, news_unannounced = 1, news_hours = 100;
      update sync_cursors set polled_at = '${ago(26)}' where ${of(103, 'shops')};
      update sync_cursors set news = 500 where ${of(102, 'notes')};
      update sync_cursors set news = 300, news_unannounced = 0 where ${of(101, 'customers')}`)
    const order = async (): Promise<string[]> =>
      (await run('sync', '--due')).cursors.map(({ tenant_id, resource }) => `${tenant_id} ${resource}`)
    expect((await order()).slice(0, 3)).toEqual(['103 shops', '102 notes', '101 customers'])
    // While a listener runs, only news that no event announced counts, of resources that have events.
    change(`update sync_cursors set polled_at = '${ago(24)}', news = 1, news_unannounced = 1, news_hours = 100;
      update sync_cursors set news = 500 where ${of(102, 'notes')};
      update sync_cursors set news = 400 where ${of(102, 'vehicles')};
      update sync_cursors set news = 900, news_unannounced = 0 where ${of(101, 'customers')}`)
    const warehouse = await reopen({ url: `sqlite:${join(here.folder, 'data/warehouse.db')}`, schema: '' })
    const event = { tenant_id: 103, resource: 'customers', type: 'Customer', received_at: ago(24) }
    await waitingEvent(warehouse, event, ago(200))
    await warehouse.close()
    const [a, b, ...rest] = await order()
    expect([a, b]).toEqual(['102 notes', '103 customers'])
    expect(rest.at(-1)).toBe('101 customers')
  })

  it('leaves out what its budget has no room for, which is neither listed nor a failure', async () => {
    await place({ rate: { limit: 12, window: youngWindow(3600) } })
    const report = await run('sync', '--due')
    expect(report).toMatchObject({ status: 'ok', reason: null, rate_limited: 0 })
    expect(report.cursors.length).toBeLessThan(12)
    expect(new Set(report.cursors.map(({ status }) => status))).toEqual(new Set(['ok']))
  })

  it('that ends before its work is done ends with 0', async () => {
    await place({})
    const steps = ['sync', 'reconcile'].map((command) => ({ command, due: true }))
    writeJob(here.folder, 'short', { timeLimit: 'PT0.05S', steps })
    expect(await run('run', 'short')).toMatchObject({ status: 'ok', reason: null })
  })

  it.runIf(isWhole())('gives checks of deletions time, even if polls have work for all of it', async () => {
    await place({}, { sync: { concurrency: 1 } })
    await run('sync')
    change(`update sync_cursors set polled_at = '${ago(24)}';
      update sync_cursors set deletes_checked_at = '${long}' where tenant_id = 101`)
    // Polls of these lists alone take longer than there is.
    const stall = { kind: 'stall' as const, ms: 400 }
    here.sandbox.script([102, 103].map((tenant) => ({ when: { tenant }, fault: stall })))
    const { cursors } = await run('run', 'due', '--time-limit', 'PT4S')
    expect(new Set(cursors.map(({ step }) => step))).toEqual(new Set([1, 2]))
  })

  it('with a spent window has nothing to do, which is no failure', async () => {
    await place({ rate: { limit: 1, window: youngWindow(72_000) } })
    await run('sync', '--due')
    expect(await run('sync', '--due')).toMatchObject({ status: 'ok', cursors: [], requests: 1 })
    expect((await here.run('sync', '--json')).code).toBe(3)
  })

  it('gives first loads no more requests than it has, and the next one goes on', async () => {
    const rate = { limit: 10_000, window: youngWindow(3600) }
    await place({ rate }, { api: { pageSize: 5 } })
    await run('sync', '--due', '--tenant', '101', '--tenant', '102')
    change(`update sync_cursors set polled_at = '${ago(24)}'`)
    for (let id = 1; id <= 500; id++)
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

  it('asks for no authorizations because of a forgotten tenant that is still granted', async () => {
    await place({ data: 'none', tenants: 0 })
    for (let id = 1; id <= 103; id++) here.sandbox.store.addTenant({ id })
    await run('sync', '--resource', 'shops')
    await here.run('forget', '--tenant', '7', '--yes')
    await run('sync', '--due', '--resource', 'shops')
    expect((await run('sync', '--due', '--resource', 'shops')).requests).toBe(1)
  })

  it('is what counts delays: a sync without targets sends the same requests and counts none', async () => {
    await place({ data: 'none', tenants: 2 })
    const asked = async (targets: object): Promise<number> => {
      settings({ targets })
      here.sandbox.store.put(101, 'notes', template('notes', 900 + here.sandbox.requests.length, ago(0)))
      const { requests } = await run('sync')
      return requests
    }
    await asked({})
    const counts = [await asked({}), delays(), await asked({ '*': 'PT6H' }), delays()]
    expect(counts).toEqual([11, 0, 11, 1])
  })
})

const delays = (): number => {
  const db = new Database(join(here.folder, 'data/warehouse.db'))
  const { n } = db.prepare('select count(*) n from sync_delays').get() as { n: number }
  db.close()
  return n
}

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

/** What is left of the window. */
async function leftOf({ limit }: { readonly limit: number }): Promise<{ readonly remaining: number }> {
  const { url, partnerId, secret } = here.sandbox
  const headers = { 'X-Api-Partner-Id': partnerId, 'X-Api-Secret': secret }
  const answer = await fetch(`${url}/api/v1/partners/${partnerId}/authorizations`, { headers })
  return { remaining: Number(answer.headers.get('x-ratelimit-remaining') ?? limit) }
}
