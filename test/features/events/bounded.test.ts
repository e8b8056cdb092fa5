/** What rings may use: the stories of bounded.txt, and what concerns the lease, and the rate limit. */
import { sql } from 'kysely'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { until } from '../../support/harness/scheduler.js'
import { isWhole } from '../../support/harness/size.js'
import {
  addLateness,
  claimLease,
  reopen,
  rowsOf,
  wantLease,
  warehouses,
} from '../../support/harness/warehouse.js'
import { between, replacing } from '../../support/world/between.js'
import { eventStories, small } from '../../support/world/eventwords.js'
import { during, EventWorld, list, minute, resources } from '../../support/world/eventworld.js'

/** Checks of the inbox come and go. */
const aWhile = () => new Promise((resolve) => setTimeout(resolve, 200))

eventStories(
  'test/features/events/bounded.txt',
  { repairOrders: 20 },
  {
    'the next hour begins': ({ w }) => w.nextHour(),
    'recorded rings': async ({ w }) => {
      const since = `events-${w.later(w.now, -90 * minute).slice(0, 13)}`
      const runs = (await rowsOf(w.warehouse, 'sync_runs')).filter(({ run_id }) => String(run_id) >= since)
      const ids = runs.map(({ run_id }) => run_id)
      const cursors = await rowsOf(w.warehouse, 'sync_run_cursors')
      const verdicts = cursors.flatMap((one) => (ids.includes(one.run_id) ? one.completeness : []))
      const lines = runs.map(
        ({ mode, status, requests, job }) => `${job || mode} ${status}, ${requests} requests`,
      )
      return `${lines.join('; ')}; ${[...new Set(verdicts)].join()}`
    },
    'N records by (walk|reconcile), N s late': ({ w }, records, way, seconds) => {
      const day = { resource: list, day: w.now.slice(0, 10), way: way as 'walk' }
      const largestMicros = Number(seconds) * 1_000_000
      const buckets = [{ upToMs: 2 ** 15, records: Number(records), largestMicros }]
      return w.warehouse.write(addLateness(w.warehouse.db, day, buckets))
    },
    'turn goes back by': ({ w }) => backBy(w, () => w.turn({ overlapMs: 20 * minute })),
    'a planned walk goes back by': ({ w }) =>
      backBy(w, () => w.sync({ overlapMs: 20 * minute, resources: [list], tenants: [w.tenant] })),
  },
)

async function backBy(w: EventWorld, run: () => Promise<unknown>): Promise<string> {
  const watermark = Date.parse(String((await w.cursor())?.watermark))
  return `${Math.floor((watermark - Date.parse(await w.floor(run))) / 1000)} s`
}

describe.each(warehouses())('on $name', (kind) => {
  let w: EventWorld
  let id = 0
  beforeAll(async () => {
    w = await EventWorld.open(kind, { repairOrders: 40 })
  })
  beforeEach(async () => {
    await w.begin()
    id = w.unused()
  })

  const waitingFor = async (): Promise<string[]> =>
    (await w.events.states()).filter((state) => state !== 'settled')
  const ofCustomer = () => w.events.put({ tenant: w.tenant, resource: 'customers', id: 1, type: 'Customer' })

  it('is fetched once, if its ring ends between what the next look has read and what follows from that', async () => {
    await w.put({ id, version: w.change(id) })
    const { inbox, memory } = w.events
    const [read, worked] = [inbox.read.bind(inbox), memory.worked.bind(memory)]
    let looks = 0
    const ended = new Promise<void>((resolve) => {
      memory.worked = (key) => {
        worked(key)
        setImmediate(resolve)
      }
    })
    inbox.read = async (work) => {
      const found = await read(work)
      const isOfLook = Array.isArray(found) && found.some((one) => 'since' in one)
      if (isOfLook && ++looks === 2) await ended
      return found
    }
    const stop = w.sandbox.onRequest(() => until(() => looks >= 2))
    expect(await w.turn()).toBe('1 list: settled')
    expect(looks).toBeGreaterThanOrEqual(2)
    stop()
    inbox.read = read
  })

  describe('of a rate limit of 20 requests a window', () => {
    const around = replacing((its) => {
      const window = { limit: 20, remaining: 10, resetsAt: Number(w.clock.micros / 1000n) + 60_000 }
      return { stats: () => ({ ...its.stats(), window }) }
    })
    const plan = () => ({ mode: 'full' as const, resources: ['customers'], tenants: [w.tenant] })

    it('leaves half of a window to planned work that waits, and uses all of it otherwise', async () => {
      w.events.settings = { settle: 0, requestShare: 0.1 }
      // A slow planned list: rings may send two requests meanwhile.
      let rings = 0
      await w.sync({
        ...plan(),
        beside: w.events.beside,
        around: (source) =>
          between(async ({ path }, ask) => {
            if (path === list) rings += 1
            else if (rings < 2)
              for (let wanted = 1; wanted <= 2; wanted++) {
                await w.put({ id })
                await until(() => rings >= wanted)
              }
            else {
              await w.put({ id })
              await aWhile()
            }
            return ask()
          })(around(source)),
      })
      expect(rings).toBe(2)
      for (let i = 0; i < 4; i++) {
        await w.put({ id })
        await w.turn({ around })
      }
      expect(await waitingFor()).toEqual([])
    })

    it('counts what a ring has sent so far: none starts when its pages have used up the share', async () => {
      for (const one of w.orders) w.change(one, { detail: 'in bulk' })
      w.events.settings = { settle: 0, requestShare: 0.1 }
      let [pages, others] = [0, 0]
      await w.put({ id })
      await w.sync({
        ...plan(),
        ...small,
        beside: w.events.beside,
        around: (source) =>
          between(async ({ path }, ask) => {
            if (path === 'payments') others += 1
            else if (path === 'customers') await until(() => pages > 3)
            else if (++pages === 3) {
              await w.put({ resource: 'payments', id: 1 })
              await aWhile()
              expect(others).toBe(0)
            }
            return ask()
          })(around(source)),
      })
      expect(pages).toBeGreaterThan(3)
      await w.turn()
      expect(await waitingFor()).toEqual([])
    })

    it('with targets, spreads its share over the window, and first reads what waits for longest in targets', async () => {
      const targetOf = (resource: string): number => (resource === 'customers' ? minute : 60 * minute)
      w.events.settings = { settle: 0, requestShare: 0.1, targetOf }
      for (let i = 0; i < 3; i++) await w.put({ id })
      w.clock.pass(10)
      await ofCustomer()
      w.clock.pass(10)
      const turn = () => w.turn({ around })
      expect(await turn()).toBe('window, 1 list: 3 waiting, settled')
      // A tenth of the ten requests that are left, over the minute that is left.
      w.clock.pass(0.9 * minute)
      expect(await turn()).toBe('window, nothing: 3 waiting, settled')
      w.clock.pass(0.11 * minute)
      expect(await turn()).toBe('1 list: 4 settled')
      await w.put({ id })
      expect(await turn()).toBe('window, nothing: 4 settled, waiting')
      // A planned walk settles them, as one of a due round does.
      await w.sync({ beside: w.events.beside })
      expect(await waitingFor()).toEqual([])
    })
  })

  it('a turn ends with the window; the next one starts when it resets', async () => {
    const rate = { limit: 3, remaining: 0, reset: Math.ceil(Number(w.clock.micros) / 1e6) + 40 }
    w.sandbox.script([{ when: { kind: 'list' }, fault: { kind: 'rate', ...rate } }])
    for (const tenant of w.sandbox.tenantIds)
      for (const resource of resources) await w.put({ tenant, resource, id: 1, type: 'None' })
    expect(await w.turn()).toMatch(/^window, .*waiting/)
    w.sandbox.script([])
    w.clock.pass(minute)
    expect(await w.turn()).toMatch(/: 6 settled$/)
  })

  it('gives the lease back as soon as someone wants it', async () => {
    await w.put({ id })
    const around = between(async (_, ask) => {
      await wantLease(w.warehouse)
      // The response never comes: the request in flight is ended.
      await new Promise((resolve) => setTimeout(resolve, 50))
      return ask()
    })
    expect(await w.turn({ around })).toMatch(/^wanted, .*: waiting/)
    await w.sync({ beside: w.events.beside })
    expect(await w.seen()).toBe('settled')
  })

  it('a listener that was stopped for longer than its lease writes nothing when it wakes', async () => {
    await w.put({ id, version: w.change(id) })
    const expired = w.warehouse.db
      .updateTable('sync_lease')
      .set({ expires_at: '2020-01-01T00:00:00.000000Z' })
    const before = await rowsOf(w.warehouse, 'sync_runs')
    const turn = w.turn({
      around: during(async () => {
        // Its lease expires while it is stopped, and a command has taken over.
        await w.warehouse.write([expired.compile()])
        const other = await reopen(w.address)
        await claimLease(other, { runId: 'other', command: 'forget', leaseMs: 60_000 })
        await other.close()
      }),
    })
    await expect(turn).rejects.toMatchObject({ exitCode: 4 })
    expect(await w.row(id)).not.toMatchObject({ detail: 'changed' })
    expect(await w.seen()).toBe('waiting')
    expect(await rowsOf(w.warehouse, 'sync_runs')).toEqual(before)
    await w.warehouse.write([expired.compile()])
  })

  it.runIf(kind.name === 'sqlite')('so does a file of events that is damaged meanwhile', async () => {
    await w.put({ id, version: w.change(id) })
    const { inbox } = w.events
    const write = (text: string) => inbox.write([sql.raw(text).compile(inbox.db)])
    // Reads still work; a write finds what somebody made of it.
    await write("create trigger broken before update on sync_events begin select raise(abort, 'broken'); end")
    expect(await w.turn()).toMatch(/waiting/)
    expect(await w.row(id)).toMatchObject({ detail: 'changed' })
    expect(await w.cursor()).toMatchObject({ status: 'ok' })
    await write('drop trigger broken')
  })
})

describe.each(warehouses())('with 60 requests a minute on $name', (kind) => {
  let w: EventWorld

  const nextWindow = (): void => w.clock.pass(minute - ((Number(w.clock.micros) / 1000) % minute))
  const begin = async (repairOrders: number): Promise<void> => {
    const orders = { repairOrders, tenants: 1, rate: { limit: 60 } }
    w = await EventWorld.open(kind, orders, { resources: [list] })
    nextWindow()
  }

  it('each turn settles what it has asked for, so all is asked for after as many as it takes', async () => {
    const amount = isWhole() ? 300 : 110
    await begin(amount + 20)
    const ids = w.orders.slice(0, amount)
    const gone = ids.filter((_, i) => i % 5 === 0)
    for (const id of gone) w.remove(id)
    await w.events.putAll(ids.map((id) => ({ tenant: w.tenant, resource: list, id, action: 'deleted' })))
    const left = [amount]
    while ((left.at(-1) ?? 0) > 0 && left.length < 10) {
      await w.turn()
      left.push((await w.events.states()).filter((state) => state === 'waiting').length)
      nextWindow()
    }
    // One request for the walk, and a live id for each part.
    for (const [i, before] of left.slice(0, -2).entries())
      expect(before - (left[i + 1] ?? 0)).toBeGreaterThan(45)
    expect(left).toHaveLength(1 + Math.ceil(amount / 54))
    const rows = await rowsOf(w.warehouse, list)
    expect(rows.filter(({ _deleted_at }) => _deleted_at !== null)).toHaveLength(gone.length)
  })

  it('a ring that is cut short twice is left to the next run, and new events do not ring it', async () => {
    await begin(350)
    for (const id of w.orders) w.change(id, { detail: 'in bulk' })
    const [id = 0] = w.orders
    await w.put({ id, version: w.version(id) })
    expect(await w.turn(small)).toMatch(/^window, .*: waiting cut_short$/)
    nextWindow()
    expect(await w.turn(small)).toMatch(/^window, /)
    expect(w.notices.filter(([message]) => message.includes('cut short'))).toHaveLength(1)
    nextWindow()
    await w.put({ id })
    expect(await w.turn()).toBe('nothing: waiting cut_short, waiting')
    await w.sync({ resources: [list], beside: w.events.beside })
    expect(await w.seen()).toBe('2 settled')
    expect(await w.row(id)).toMatchObject({ detail: 'in bulk' })
    w.clock.pass(minute)
    await w.put({ id })
    expect(await w.turn()).toMatch(/: 3 settled$/)
  })
})

it.each(warehouses())(
  'on $name, more deletions than a statement can name values are settled',
  async (kind) => {
    const w = await EventWorld.open(kind, { repairOrders: 60 })
    const amount = kind.name === 'sqlite' ? 33_000 : 66_000
    const [gone = 0, there = 0] = w.orders
    w.remove(gone)
    // Deletions of records that never were.
    const { inbox } = w.events
    const at = sql.lit(w.now)
    const rows = sql<never>`with recursive n(i) as (select 1000000 union all select i + 1 from n where i < 999999 + ${sql.lit(amount)})
    select ${sql.lit(w.tenant)}, 'e' || i, ${sql.lit(list)}, 'RepairOrder', 'deleted', i, ${at}, 1, 'waiting', 0, ${at} from n`
    const columns = [
      ...(['tenant_id', 'event_id', 'resource', 'type', 'action', 'record_id'] as const),
      ...(['received_at', 'deliveries', 'state', 'tries', 'due_at'] as const),
    ]
    await inbox.write([inbox.db.insertInto('sync_events').columns(columns).expression(rows).compile()])
    for (const id of [gone, there]) await w.put({ id, action: 'deleted' })
    // The walk, two records by id, and a live one with the list that names it.
    const seen = `deleted, waiting exists, ${amount} settled`
    expect(await w.turn()).toBe(`2 lists, 3 by id: ${seen}`)
    expect((await w.row(gone))?._deleted_at).not.toBeNull()
  },
)
