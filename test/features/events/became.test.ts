/**
 * What becomes of an event: the stories of became.txt. Nothing that the source has is missed, what it never had costs
 * little, and only the source's own answer changes a row.
 */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { between } from '../../support/world/between.js'
import { eventStories, small } from '../../support/world/eventwords.js'
import { EventWorld, list, minute } from '../../support/world/eventworld.js'

eventStories(
  'test/features/events/became.txt',
  { repairOrders: 60 },
  {
    'vendors are switched (off|on)': ({ w }, how) =>
      how === 'off' ? w.sandbox.store.switchOff('vendors') : w.sandbox.store.switchOn('vendors'),
    'WORD is poison in the list': (story, name) => {
      const { tenant, sandbox } = story.w
      const ids = [story.id(name!)]
      sandbox.script([{ when: { nth: 1 }, before: { kind: 'poison', tenant, resource: list, ids } }])
    },
    'look when the walk after the resumed one begins': (story) => {
      const { w } = story
      let isBehind = false
      const around = between(async ({ page, updatedAfter }, ask) => {
        // The watermark moves at the end of the resumed walk.
        const isNext = page === 1 && updatedAfter > w.later(w.now, -60 * minute)
        if (isNext && !isBehind) expect(await w.seen()).toBe('waiting')
        isBehind ||= isNext
        return ask()
      })
      story.once = { ...small, tenants: [w.tenant], around }
    },
  },
)

describe.each(warehouses())('on $name', (kind) => {
  let w: EventWorld
  beforeAll(async () => {
    w = await EventWorld.open(kind, { repairOrders: 90 })
  })
  beforeEach(() => w.begin())

  const isDeleted = async (id: number): Promise<boolean> => (await w.row(id))?._deleted_at !== null

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
    await w.put({ id: other, version: w.change(other) })
    expect(await w.turn()).toMatch(/: 2 settled$/)
  })

  it('more deletions than are believed per hour are left, however many come at once', async () => {
    const rows = await rowsOf(w.warehouse, list)
    const live = rows.filter((row) => row.tenant_id === w.tenant && row._deleted_at === null)
    // A fifth of the list may go.
    const most = Math.floor(live.length / 5)
    const ids = Array.from({ length: most + 3 }, () => w.unused())
    for (const id of ids) {
      w.remove(id)
      await w.put({ id, action: 'deleted' })
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
    expect(new Set(await Promise.all(ids.map(isDeleted)))).toEqual(new Set([true]))
  })

  it('if no existing record is left to ask for, a deletion is left to reconcile', async () => {
    const [id = 0] = w.orders
    const shown = w.orders.map((one) => w.sandbox.store.collection(w.tenant, list).hold(one, undefined))
    await w.put({ id, action: 'deleted' })
    expect(await w.turn()).toMatch(/left nothing_to_ask|waiting/)
    expect(await isDeleted(id)).toBe(false)
    for (const back of shown) back()
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
    await w.put({ id, version: w.change(id) })
    expect(await w.turn()).toBe('1 list: 4 ignored tenant_not_synced, ignored resource_not_synced, settled')
    expect(await w.row(id)).toMatchObject({ detail: 'changed' })
  })
})
