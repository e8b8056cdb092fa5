/**
 * What becomes of an event: it makes its list due, a walk reads the list, and what was announced has to be there. Nothing
 * that the source has is missed, what it never had costs little, and only the source's own answer changes a row.
 */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Page, type RunOptions, type Source, syncInOrder } from '../../support/harness/runs.js'
import { rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'
import { during, EventWorld, list, minute } from '../../support/world/eventworld.js'

/** After each of these, a record that wasn't as announced is looked for again (docs/webhooks.md). */
const pauses = [5000, 30_000, 120_000, 600_000]

/** A source whose lists hide an existing record. */
const hiding = (id: number) => (source: Source) =>
  new Between(source, async ({ path }, ask) => {
    const page = await ask()
    const without = (records: readonly unknown[]): unknown[] =>
      records.filter((record) => (record as { id?: unknown }).id !== id)
    if (path !== list || without(page.records).length === page.records.length) return page
    const shown: Page = { ...page, records: without(page.records), total: page.total - 1 }
    return { ...shown, tokens: () => without(page.tokens() as unknown[]) } as Page
  })

interface Given {
  readonly w: EventWorld
  /** Two orders. */
  readonly a: number
  readonly b: number
}

interface More {
  /** What happens before the nth turn. */
  readonly then?: Readonly<Record<number, (given: Given) => unknown>>
  readonly around?: (given: Given) => RunOptions['around']
  /** The rows of both orders, as they end. */
  readonly rows?: string
}

/**
 * What happens and is announced, and of each turn until nothing waits: what it asks for, where that matters, and what has
 * become of the events.
 */
type Case = readonly [what: string, arrives: (given: Given) => unknown, turns: readonly string[], more?: More]

const forged = ({ w, a }: Given, id = a) => w.put({ id, version: w.later(w.version(id), 1000) })
const changed = ({ w, a }: Given, id = a) => w.put({ id, version: w.change(id) })
const deleted = ({ w, a }: Given, id = a) => w.put({ id, action: 'deleted' })
const removed = (given: Given, id = given.a) => {
  given.w.remove(id)
  return deleted(given, id)
}
const refused = ({ w, a }: Given) => w.answers(a, 403)
const broken = ({ w, a }: Given) => w.answers(a, 500)
const nothingById = ({ w }: Given) => w.answers(undefined, 404)
let show = (): void => {}

const four = (line: string): string[] => Array(4).fill(line)
const looked = four('1 list: waiting not_listed')
const fiveWalksAndOneRequest = [...looked, '1 list, 1 by id: unseen not_listed']
const marked = { rows: 'deleted, as it was' }

const cases: readonly Case[] = [
  [
    'a change, announced twice: one request',
    async (given) => [await changed(given), await changed(given)],
    ['1 list: 2 settled'],
    { rows: 'changed, as it was' },
  ],
  [
    'a list that hides a record which exists by id: it is stored',
    (given) => changed(given),
    [...looked, '1 list, 1 by id: settled not_listed'],
    { around: ({ a }) => hiding(a), rows: 'changed, as it was' },
  ],
  [
    'a lagging list: it is checked again until it shows the version',
    (given) => lagging(given.w, given.a),
    ['1 list: waiting not_listed', '1 list: settled'],
    { then: { 2: () => show() }, rows: 'changed, as it was' },
  ],
  [
    'a version that nobody else has seen costs five walks and one request',
    (given) => forged(given),
    fiveWalksAndOneRequest,
  ],
  [
    'a record that never existed',
    ({ w, a }) => w.put({ id: 777_777, action: 'created', version: w.version(a) }),
    fiveWalksAndOneRequest,
  ],
  [
    'a forged version, where nothing is offered by id',
    async (given) => [nothingById(given), await forged(given)],
    [...looked, ': unseen not_listed'],
  ],
  [
    'a record that breaks its answer by id is asked for a few times, and delays no other',
    async (given) => [broken(given), await forged(given), await forged(given, given.b)],
    [
      ...four('1 list: 2 waiting not_listed'),
      ...four(': waiting not_asked, unseen not_listed'),
      ': unseen not_asked, unseen not_listed',
    ],
  ],
  [
    "a version in the future isn't evidence",
    ({ w, a }) => w.put({ id: a, version: w.later(w.now, 180 * minute) }),
    ['1 list: settled'],
  ],
  // The walk and its list of one live id; both by id.
  [
    '404, and a live id answers: it is marked as deleted',
    (given) => removed(given),
    ['2 lists, 2 by id: deleted'],
    marked,
  ],
  [
    'a deletion of a record that exists: it stays, and is asked for five times',
    (given) => deleted(given),
    [...four('1 list, 1 by id: waiting exists'), '1 list, 1 by id: exists'],
  ],
  [
    'one that is deleted before it is asked for again',
    (given) => deleted(given),
    ['1 list, 1 by id: waiting exists', '2 lists, 2 by id: deleted'],
    { then: { 2: ({ w, a }) => w.remove(a) }, ...marked },
  ],
  ["a deletion of what the warehouse doesn't have", (given) => deleted(given, 777_777), ['1 list: settled']],
  [
    'deletions, where nothing is offered by id: a second list decides',
    async (given) => [nothingById(given), await removed(given), await deleted(given, given.b)],
    [...four(': deleted, waiting exists'), ': deleted, exists'],
    marked,
  ],
  [
    // One answer that can't be read doesn't begin the tries again.
    'one that the source refuses by id stays, and the others are marked',
    async (given) => [refused(given), await removed(given), await removed(given, given.b)],
    [
      ': waiting refused, deleted',
      ': waiting not_asked, deleted',
      ': waiting refused, deleted',
      ': waiting refused, deleted',
      ': left refused, deleted',
    ],
    { then: { 2: broken, 3: refused }, rows: 'as it was, deleted' },
  ],
  [
    'one whose answer always fails is left in the end, and delays no other',
    async (given) => [broken(given), await deleted(given), await removed(given, given.b)],
    [...four(': waiting not_asked, deleted'), ': left not_asked, deleted'],
    { rows: 'as it was, deleted' },
  ],
]

/** A change that its list shows once `show` is called. */
function lagging(w: EventWorld, id: number): Promise<void> {
  let version = ''
  show = w.lag(id, () => {
    version = w.change(id)
  })
  return w.put({ id, version })
}

describe.each(warehouses())('on $name', (kind) => {
  let w: EventWorld
  beforeAll(async () => {
    w = await EventWorld.open(kind, { repairOrders: 90 })
    return () => w.close()
  })
  beforeEach(() => w.begin())

  const rowOf = async (id: number): Promise<string> => {
    const { detail, _deleted_at } = (await w.row(id)) ?? {}
    return _deleted_at === null ? (detail === 'changed' ? 'changed' : 'as it was') : 'deleted'
  }

  it.each(cases.map((one) => [one[0], one] as const))('%s', async (_what, one) => {
    const [, arrives, seen, { then, around, rows = 'as it was, as it was' } = {}] = one
    const given = { w, a: w.unused(), b: w.unused() }
    await arrives(given)
    const turns: string[] = []
    const put = around?.(given)
    const options = put && { around: put }
    do {
      then?.[turns.length + 1]?.(given)
      turns.push(await w.turn(options))
      // Not due before its pause is over.
      expect(await w.turn(options)).toMatch(/^nothing: /)
      w.clock.pass(pauses[turns.length - 1] ?? 10 * minute)
    } while (turns.at(-1)?.includes('waiting') && turns.length < 12)
    expect(await w.turn(options)).toMatch(/^nothing: /)
    const asTold = turns.map((line, i) => (seen[i]?.startsWith(':') ? line.slice(line.indexOf(':')) : line))
    expect(asTold).toEqual(seen)
    expect(`${await rowOf(given.a)}, ${await rowOf(given.b)}`).toBe(rows)
    expect(await w.cursor()).toMatchObject({ completeness: 'proven', status: 'ok' })
  })

  it('a version is compared at the coarser precision of the two', async () => {
    const id = w.unused()
    const version = w.change(id)
    // An event has microseconds and the list prints whole seconds, and vice versa.
    await w.put({ id, version: `${version.slice(0, 20)}999999Z` })
    await w.put({ id, version: `${version.slice(0, 20)}000000Z` })
    const whole = { updated_at: `${version.slice(0, 20)}000000Z` }
    await w.warehouse.write([w.warehouse.db.updateTable(list).set(whole).where('id', '=', id).compile()])
    expect(await w.turn()).toMatch(/, settled$|2 settled$/)
  })

  it('a record in quarantine is settled, and its list goes on', async () => {
    const [id, other] = [w.unused(), w.unused()]
    const broken = { kind: 'alter', path: 'updated_at', to: 'no time', records: { first: 1 } } as const
    const version = w.change(id)
    w.sandbox.script([{ when: { resource: list, kind: 'list' }, fault: broken }])
    await w.put({ id, version })
    expect(await w.turn()).toMatch(/: settled$/)
    expect(await rowsOf(w.warehouse, 'sync_quarantine')).toMatchObject([{ record_id: String(id), path: '' }])
    // A record that can't be stored fails the ring, but its cursor can still be rung.
    w.sandbox.script([])
    await changed({ w, a: other, b: id })
    expect(await w.turn()).toMatch(/: 2 settled$/)
  })

  it('a list that is walked all the time looks for it no more often', async () => {
    const [a, b] = [w.unused(), w.unused()]
    await forged({ w, a, b })
    let last = ''
    for (let i = 0; i < 8; i++) {
      w.change(b, { detail: `change ${i}` })
      await w.put({ id: b, version: w.version(b) })
      last = await w.turn()
    }
    expect(last).toBe('1 list: waiting not_listed, 8 settled')
    expect((await w.events.rows())[0]).toMatchObject({ tries: 1 })
  })

  it('a record that is committed ten minutes late is stored, and counts as late', async () => {
    const [id, other] = [w.unused(), w.unused()]
    await lagging(w, id)
    for (const pause of pauses.slice(0, 3)) {
      await w.turn()
      w.clock.pass(pause)
    }
    await w.turn()
    // The list moves on: the record becomes visible below the floor of the next walk.
    w.clock.pass(8 * minute)
    w.change(other)
    await w.sync({ resources: [list], beside: w.events.beside })
    expect(await w.seen()).toBe('waiting not_listed')
    w.clock.pass(2 * minute)
    show()
    expect(await w.turn()).toBe('1 list, 1 by id: settled not_listed')
    expect(await rowOf(id)).toBe('changed')
    const late = (await rowsOf(w.warehouse, 'sync_lateness')).filter((row) => Number(row.largest_us) > 0)
    expect(late).toMatchObject([{ resource: list, way: 'walk', records: 1 }])
    expect(Number(late[0]?.largest_us)).toBeGreaterThan(10 * minute * 1000)
  })

  it('more deletions than are believed per hour are left, however many come at once', async () => {
    const rows = await rowsOf(w.warehouse, list)
    const live = rows.filter((row) => row.tenant_id === w.tenant && row._deleted_at === null)
    // A fifth of the list may go.
    const most = Math.floor(live.length / 5)
    const ids = Array.from({ length: most + 3 }, () => w.unused())
    for (const id of ids) {
      await removed({ w, a: id, b: id })
      await w.turn()
      w.clock.pass(minute)
    }
    const left = ids.length - most
    expect(await w.seen()).toBe(`${most} deleted, ${left} left breaker`)
    const hints = w.notices.map(([, { hint }]) => hint).filter((hint) => hint !== undefined)
    expect(hints).toEqual(
      Array(left).fill(`shopsync reconcile --accept-deletes --tenant ${w.tenant} --resource ${list}`),
    )
    await w.sync({ mode: 'reconcile', resources: [list], acceptDeletes: true, beside: w.events.beside })
    expect(new Set(await Promise.all(ids.map(rowOf)))).toEqual(new Set(['deleted']))
  })

  it('if no existing record is left to ask for, a deletion is left to reconcile', async () => {
    const [id = 0] = w.orders
    const shown = w.orders.map((one) => w.sandbox.store.collection(w.tenant, list).hold(one, undefined))
    await deleted({ w, a: id, b: id })
    expect(await w.turn()).toMatch(/left nothing_to_ask|waiting/)
    expect(await rowOf(id)).not.toBe('deleted')
    for (const back of shown) back()
  })
})

/** By which walk: one that started after the event came, and that may move the watermark. And of which lists. */
describe.each(warehouses())('by which walk, on $name', (kind) => {
  let w: EventWorld
  beforeAll(async () => {
    w = await EventWorld.open(kind, { repairOrders: 20 })
    return () => w.close()
  })
  beforeEach(() => w.begin())

  const small = () => ({ resources: [list], tenants: [w.tenant], pageSizes: [3, 4, 5], readAhead: 0 })
  const run = (options: RunOptions) => w.sync({ resources: [list], beside: w.events.settling, ...options })

  it('one that arrives while the walk is reading waits for the next walk', async () => {
    const [id, other] = [w.unused(), w.unused()]
    w.change(id)
    await w.put({ id })
    await run({
      around: during(async () => {
        w.change(other, { detail: 'behind its back' })
        await w.put({ id: other })
      }),
    })
    expect(await w.seen()).toBe('settled, waiting')
    expect(await w.turn()).toBe('1 list: 2 settled')
    expect(await w.row(other)).toMatchObject({ detail: 'behind its back' })
  })

  const ranges = [{ from: '2020-01-01T00:00:00.000000Z', to: '2099-01-01T00:00:00.000000Z' }]
  it.each<[string, RunOptions, string]>([
    ['a sync, even if nothing new comes', { mode: 'sync' }, 'settled'],
    ['a sync --full', { mode: 'full' }, 'settled'],
    ['a reconcile', { mode: 'reconcile' }, 'settled'],
    ['no backfill', { mode: 'backfill', ranges }, 'waiting'],
  ])('%s', async (_, options, seen) => {
    await w.put({ id: w.unused() })
    expect((await run(options)).status).toBe('ok')
    expect(await w.seen()).toBe(seen)
  })

  it('a ring beside a run whose plan has other lists, whose own verdict stays', async () => {
    const id = w.unused()
    w.change(id)
    await w.put({ id })
    const report = await w.sync({ mode: 'sync', resources: ['customers'], beside: w.events.beside })
    expect(report.cursors.map(({ resource }) => resource)).toEqual(['customers', 'customers'])
    expect(await w.seen()).toBe('settled')
    expect(await w.row(id)).toMatchObject({ detail: 'changed' })
  })

  it('no resumed walk: the one after it', async () => {
    for (const id of w.orders) w.change(id, { detail: 'anew' })
    const cut = async (work: (options: RunOptions) => Promise<unknown>): Promise<void> => {
      const stop = new AbortController()
      await work({ ...small(), signal: stop.signal, around: during(() => stop.abort(), 2) })
    }
    await cut((options) => syncInOrder(w.sandbox, w.warehouse, { clock: w.clock.still, ...options }))
    expect((await w.cursor())?.walk).not.toBeNull()
    await w.put({ id: w.unused() })
    // The resumed walk is interrupted again, then completes.
    await cut(run)
    const seen = [await w.seen()]
    let isBehind = false
    await run({
      ...small(),
      around: (source: Source) =>
        new Between(source, async ({ page, updatedAfter }, ask) => {
          // The watermark moves at the end of the resumed walk; then the walk after it starts.
          isBehind ||= page === 1 && updatedAfter > w.later(w.now, -60 * minute)
          if (isBehind && seen.length === 1) seen.push(await w.seen())
          return ask()
        }),
    })
    expect([...seen, await w.seen()]).toEqual(['waiting', 'waiting', 'settled'])
  })

  it('none that fails', async () => {
    w.sandbox.script([{ when: { resource: list }, fault: { kind: 'status', status: 403 } }])
    await w.put({ id: w.unused() })
    await run({ tenants: [w.tenant] })
    expect(await w.seen()).toBe('waiting')
  })

  // Only what is synced when it is rung, whatever was synced when it came.
  it('none of a tenant or a resource that is not known, not selected, or not granted any more', async () => {
    const [tenant = 0, other = 0] = w.sandbox.tenantIds
    for (const id of [999, tenant, other]) await w.put({ tenant: id, id: 1 })
    await w.put({ resource: 'no_such', id: 1 })
    w.sandbox.store.revoke(tenant)
    await w.sync({ resources: ['customers'], beside: w.events.settling })
    expect(await w.turn({ exceptTenants: [other] })).toBe('nothing: 4 ignored tenant_not_synced')
    // One that is granted again is rung again.
    w.sandbox.store.grant(tenant)
    await w.sync({ resources: ['customers'] })
    await w.put({ resource: 'no_such', id: 1 })
    const id = w.unused()
    await changed({ w, a: id, b: id })
    expect(await w.turn()).toBe('1 list: 4 ignored tenant_not_synced, ignored resource_not_synced, settled')
    expect(await w.row(id)).toMatchObject({ detail: 'changed' })
  })

  it("none that the source doesn't offer, until it does", async () => {
    const vendors = { resources: ['vendors'] }
    w.sandbox.store.switchOff('vendors')
    await w.sync(vendors)
    await w.put({ resource: 'vendors', id: 1 })
    expect(await w.turn()).toBe('nothing: ignored unavailable')
    w.sandbox.store.switchOn('vendors')
    await w.sync(vendors)
    await w.put({ resource: 'vendors', id: 2 })
    expect(await w.turn()).toMatch(/ignored unavailable, (waiting|settled)/)
  })

  // The last one: the hole stays.
  it('one that leaves a hole, what it has seen', async () => {
    const [id, hidden] = [w.unused(), w.unused()]
    w.change(hidden, { detail: 'hidden by a hole' })
    w.sandbox.script([
      { when: { nth: 1 }, before: { kind: 'poison', tenant: w.tenant, resource: list, ids: [hidden] } },
    ])
    await w.put({ id, version: w.change(id) })
    await run({ tenants: [w.tenant] })
    expect(await w.cursor()).toMatchObject({ completeness: 'unproven', reason: 'unreadable' })
    expect(await w.seen()).toBe('settled')
    expect(await w.row(id)).toMatchObject({ detail: 'changed' })
    // Its cursor is rung like any other, and starts after the second of the hole.
    w.clock.pass(2000)
    for (const detail of ['again', 'and again']) {
      await w.put({ id, version: w.change(id, { detail }) })
      await w.turn()
    }
    expect(await w.seen()).toBe('3 settled')
    expect(await w.row(id)).toMatchObject({ detail: 'and again' })
  })
})
