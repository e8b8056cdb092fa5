/** A rate limit that is too small for `polling.atLeast`: what status, alerts, metrics and the report then call stale. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { template } from '../../../src/sandbox/index.js'
import { type Address, type Place, place } from '../../support/harness/place.js'
import { reopen, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'

/** The shortest that goes with an `atLeast` of a minute: an hour and a minute. */
const staleAfter = 'PT1H1M'
const ago = (minutes: number): string =>
  new Date(Date.now() - minutes * 60_000).toISOString().replace('Z', '000Z')

let here: Place
let address: Address
let warehouse: Warehouse
const rate = { limit: 1000, window: 3600 }

const configure = (more: Record<string, object> = {}): void => {
  const { url, schema } = address
  here.configure({
    targets: { '*': 'PT1M' },
    polling: { atLeast: 'PT1M' },
    status: { staleAfter },
    warehouse: url.startsWith('sqlite') ? { url } : { url, schema },
    ...more,
  })
}
const due = async (...words: string[]): Promise<void> =>
  expect(await here.run('sync', '--due', ...words)).toMatchObject({ code: 0 })

/** Late in an hour, one answer of a limit says nothing of how long its window is: an earlier run has stored that. */
async function seen(window: object): Promise<void> {
  const { db } = warehouse
  await db.deleteFrom('sync_meta').where('name', '=', 'rate window').execute()
  await db
    .insertInto('sync_meta')
    .values({ name: 'rate window', value: JSON.stringify(window) })
    .execute()
}
const set = (columns: object): Promise<unknown> =>
  warehouse.db.updateTable('sync_cursors').set(columns).execute()

interface Status {
  readonly healthy: boolean
  readonly stretched_polling?: object
  readonly cursors: { readonly state: string }[]
}
const status = async (): Promise<Status> => (await here.run('status', '--json')).json<Status>()
/** The state of every list, whose last success was so many minutes ago. */
async function statesAfter(minutes: number): Promise<string> {
  await set({ last_success_at: ago(minutes) })
  return [...new Set((await status()).cursors.map(({ state }) => state))].join()
}

describe.each(warehouses())('$name', (kind) => {
  /** 42 lists a minute are 2,520 requests an hour, and half of the limit gives 500: lists wait 5 minutes. */
  beforeAll(async () => {
    here = await place({ tenants: 2, repairOrders: 4, rate })
    address = await kind.viewed()
    warehouse = await reopen(address)
    return async () => {
      await warehouse.close()
      await here.remove()
    }
  })
  beforeEach(async () => {
    rate.limit = 1000
    configure()
    await set({ polled_at: ago(30) })
    await seen({ limit: 1000, seconds: 3600 })
    await due()
  })

  it('stale means beyond the stretched bound, for status, the alert, the metrics and the operator’s page', async () => {
    const [told, textfile] = ['told.txt', 'shopsync.prom'].map((name) => join(here.folder, name))
    const rules = [{ on: ['stale'], command: ['sh', '-c', `cat >> ${told}`] }]
    const tells = { alerts: { rules }, metrics: { textfile }, sync: { tenants: [101] } }
    const staleIn = async (): Promise<unknown[]> => {
      configure(tells)
      await here.run('sync', '--resource', 'notes')
      const [, counted] =
        /^shopsync_cursors\{state="stale"\} (\d+)$/m.exec(readFileSync(textfile!, 'utf8')) ?? []
      return [Number(counted), existsSync(told!)]
    }
    expect(await statesAfter(63)).toBe('ok')
    expect(await status()).toMatchObject({
      healthy: true,
      stale_after_seconds: Math.round((42 / 500 + 1) * 3600),
      stretched_polling: { lists: 42, window: 1000, needed_for_bound: 5040, longest_wait_seconds: 302 },
    })
    expect(await staleIn()).toEqual([0, false])
    await here.run('report', '--operations', '--out', 'operations.html')
    expect(readFileSync(join(here.folder, 'operations.html'), 'utf8')).toMatch(
      /Targets, last 24 hours[\s\S]*some lists wait 5 min 2 s/,
    )
    configure()
    expect(await statesAfter(66)).toBe('stale')
    expect(await staleIn()).toEqual([20, true])
  })

  it('a larger limit takes the bound back, a longer atLeast and no targets too; a round over some lists does not', async () => {
    await due('--tenant', '101')
    expect((await status()).stretched_polling).toMatchObject({ lists: 42 })
    configure({ polling: { atLeast: 'PT10M' }, status: { staleAfter: 'PT70M' } })
    expect((await status()).stretched_polling).toBeUndefined()
    configure({ targets: {}, polling: {} })
    expect(await statesAfter(63)).toBe('stale')
    configure()
    expect(await statesAfter(63)).toBe('ok')
    rate.limit = 100_000
    await seen({ limit: 100_000, seconds: 3600, resetsAt: 0 })
    await due()
    expect(await statesAfter(63)).toBe('stale')
  })

  it('a run late in a window knows from earlier ones how long windows are; of another limit it knows nothing', async () => {
    const length = async (): Promise<unknown> =>
      (await here.run('plan', '--json')).json<{ rate: { window_seconds: number } }>().rate.window_seconds
    await seen({ limit: 1000, seconds: 86_400, resetsAt: 0 })
    expect(await length()).toBe(86_400)
    await seen({ limit: 999, seconds: 86_400, resetsAt: 0 })
    expect(await length()).toBeLessThanOrEqual(3600)
    await due()
    const kept = async (): Promise<{ limit: number; seconds: number }> => {
      const row = (await rowsOf(warehouse, 'sync_meta')).find(({ name }) => name === 'rate window')
      return JSON.parse(String(row?.value))
    }
    expect(await kept()).toMatchObject({ limit: 1000 })
    // The end of a later window shows that windows aren't that long.
    await seen({ limit: 1000, seconds: 86_400, resetsAt: Date.now() - 3_600_000 })
    await due()
    expect((await kept()).seconds).toBeLessThan(7300)
  })

  it('sync_delays keeps history.keep, and no hour longer', async () => {
    const hour = (days: number): string => `${ago(days * 1440).slice(0, 13)}:00:00.000000Z`
    const add = (days: number): string => `('notes', '${hour(days)}', 1, 0)`
    const table = sql.table(kind.name === 'postgres' ? `${address.schema}.sync_delays` : 'sync_delays')
    const insert = sql`insert into ${table} (resource, hour, met, missed) values ${sql.raw([20, 5].map(add).join())}`
    await insert.execute(warehouse.db)
    configure({ history: { keep: 'P10D' } })
    here.sandbox.store.put(101, 'notes', template('notes', 900, ago(0)))
    await set({ polled_at: ago(30), watermark: '2020-01-01T00:00:00.000000Z' })
    await due()
    const kept = await rowsOf(warehouse, 'sync_delays')
    expect(kept.flatMap((row) => (row.resource === 'notes' ? row.hour : [])).toSorted()).toEqual([
      hour(5),
      hour(0),
    ])
  })
})
