/** Records that leave their list and its total and can still be read by id: archived ones. */
import { describe, expect, it } from 'vitest'
import { adopt } from '../../../src/features/adopt/work.js'
import { makePlan } from '../../../src/features/plan/work.js'
import { template } from '../../../src/sandbox/index.js'
import { type CursorReport, depsOf, known, type RunOptions, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { migrate, open, reopen, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { HandClock } from '../../support/world/clocks.js'
import { copyInto } from '../../support/world/copying.js'
import {
  at,
  atSource,
  fill,
  live,
  liveIds,
  lose,
  only,
  reconcile,
  timeOf,
  verifyNotes,
} from '../../support/world/notes.js'

const sandbox = await sandboxOfFile()
const odd = () => sandbox.store.collection(1, 'notes').odd
const day = 86_400_000

describe.each(warehouses())('$name', (kind) => {
  let clock = new HandClock('2026-03-01T12:00:00Z', 10n)

  async function begun(count: number): Promise<Warehouse> {
    clock = new HandClock('2026-03-01T12:00:00Z', 10n)
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    fill(sandbox, count)
    const warehouse = await open(kind)
    await sync(sandbox, warehouse, { resources: ['notes'], clock })
    return warehouse
  }

  const archive = (...ids: number[]): void => {
    for (const id of ids) odd().archived.add(id)
  }
  const nextDay = (): void => clock.pass(day)
  const run = async (warehouse: Warehouse, options: RunOptions = {}): Promise<CursorReport> =>
    only(await reconcile(sandbox, warehouse, { clock, ...options }))!
  const synced = async (warehouse: Warehouse): Promise<CursorReport> =>
    only(await sync(sandbox, warehouse, { resources: ['notes'], clock }))!
  const cursor = async (warehouse: Warehouse) => (await rowsOf(warehouse, 'sync_cursors'))[0]!
  const unlisted = async (warehouse: Warehouse): Promise<number[]> =>
    (await rowsOf(warehouse, 'notes'))
      .filter(({ _unlisted_at }) => _unlisted_at !== null)
      .map(({ id }) => Number(id))
      .sort((a, b) => a - b)

  const verify = (warehouse: Warehouse, full = false) => verifyNotes(sandbox, warehouse, { clock, full })

  it.each([80, 350, 1500])(
    'of %i: unproven the first time, repaired on another day, with the rows live',
    async (count) => {
      const warehouse = await begun(count)
      archive(20, 30, count - 5)
      nextDay()
      const first = await run(warehouse)
      expect(first).toMatchObject({
        status: 'failed',
        completeness: 'unproven',
        reason: 'left_the_list',
        error: expect.stringContaining('3 records (20, 30,'),
        reconciled: {
          left_the_list: 3,
          left_ids: [20, 30, count - 5],
          deleted: 0,
          source: count - 3,
          warehouse: count - 3,
        },
      })
      expect(await unlisted(warehouse)).toEqual([20, 30, count - 5])
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
      // Everything that the list shows was compared, so deletions are known.
      expect((await cursor(warehouse)).deletes_checked_at).toMatch(/^2026-03-02/)
      // A sync is as without them.
      expect(await synced(warehouse)).toMatchObject({ status: 'ok', completeness: 'proven', reason: null })
      nextDay()
      expect(await run(warehouse)).toMatchObject({
        status: 'ok',
        completeness: 'repaired',
        reason: 'left_the_list',
        error: null,
        reconciled: { left_the_list: 3 },
      })
      expect((await cursor(warehouse)).deletes_checked_at).toMatch(/^2026-03-03/)
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
      await warehouse.close()
    },
  )

  it('a reconcile --full confirms it at once, and for good', async () => {
    const warehouse = await begun(1500)
    archive(20, 1400)
    const confirmed = { status: 'ok', completeness: 'repaired', reason: 'left_the_list' }
    expect(await run(warehouse, { full: true })).toMatchObject(confirmed)
    expect(await run(warehouse)).toMatchObject(confirmed)
    // Another one isn't confirmed by that.
    archive(500)
    expect(await run(warehouse)).toMatchObject({ status: 'failed', reason: 'left_the_list' })
    await warehouse.close()
  })

  it('costs one request for each, once it is known, and none where there are none', async () => {
    const warehouse = await begun(1500)
    const requests = async (): Promise<number> => {
      sandbox.resetRequests()
      await run(warehouse)
      return sandbox.requests.length
    }
    const without = await requests()
    archive(20, 1400)
    await run(warehouse, { full: true })
    expect(await requests()).toBe(without + 2)
    odd().heal()
    await run(warehouse, { full: true })
    expect(await requests()).toBe(without)
    await warehouse.close()
  })

  it('a change of such a record arrives with reconcile, and verify tells it apart', async () => {
    const warehouse = await begun(1500)
    archive(20, 1400)
    await run(warehouse, { full: true })
    sandbox.store.put(1, 'notes', { ...template('notes', 1400, at(1400 * 7 + 3)), description: 'later' })
    expect((await verify(warehouse)).cursors[0]).toMatchObject({
      status: 'differs',
      ...{ missing: 0, outdated: 1, extra: 0, left_the_list: 2 },
    })
    expect(await run(warehouse)).toMatchObject({
      status: 'ok',
      reason: 'left_the_list',
      reconciled: { stored: 1, left_the_list: 2, source: 1498, warehouse: 1498 },
    })
    expect((await live(warehouse)).get(1400)).toBe(at(1400 * 7 + 3))
    expect(await unlisted(warehouse)).toEqual([20, 1400])
    await warehouse.close()
  })

  it.each([false, true])('verify compares without them, and names them (full: %s)', async (full) => {
    const warehouse = await begun(1500)
    archive(20, 1400)
    const equal = {
      status: 'equal',
      cursors: [
        {
          ...{ missing: 0, outdated: 0, extra: 0, gone: 0, source: 1498 },
          ...{ reason: 'left_the_list', left_the_list: 2, left_ids: [20, 1400] },
        },
      ],
    }
    expect(await verify(warehouse, full)).toMatchObject(equal)
    expect(await unlisted(warehouse)).toEqual([])
    await run(warehouse, { full: true })
    expect(await verify(warehouse, full)).toMatchObject({
      ...equal,
      cursors: [{ ...equal.cursors[0], warehouse: 1498 }],
    })
    await warehouse.close()
  })

  it.each([350, 1500])(
    'of %i, being listed again ends it: a walk that shows the record, or reconcile',
    async (count) => {
      const warehouse = await begun(count)
      archive(20, 30, count - 2)
      await run(warehouse, { full: true })
      odd().heal([20, count - 2])
      expect(await synced(warehouse)).toMatchObject({ completeness: 'proven' })
      expect(await unlisted(warehouse)).toEqual([20, 30])
      expect((await verify(warehouse)).cursors[0]).toMatchObject({ status: 'equal', left_the_list: 1 })
      expect(await run(warehouse)).toMatchObject({
        status: 'ok',
        reconciled: { left_the_list: 1, stored: 0 },
      })
      expect(await unlisted(warehouse)).toEqual([30])
      odd().heal()
      expect(await run(warehouse)).toMatchObject({ completeness: 'proven', reason: null })
      expect(await unlisted(warehouse)).toEqual([])
      expect((await cursor(warehouse)).remembered).toBeNull()
      await warehouse.close()
    },
  )

  it.each(warehouses())('a copy into $name knows them, too', async (other) => {
    const address = kind.address()
    const original = await reopen(address)
    await migrate(original)
    clock = new HandClock('2026-03-01T12:00:00Z', 10n)
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    fill(sandbox, 350)
    await sync(sandbox, original, { resources: ['notes'], clock })
    archive(20, 30)
    await run(original, { full: true })
    await original.close()
    const to = other.address()
    expect(await copyInto(address, to, { model: known })).toMatchObject({ status: 'ok' })
    const copied = await reopen(to)
    expect(await unlisted(copied)).toEqual([20, 30])
    expect((await verify(copied)).cursors[0]).toMatchObject({ status: 'equal', left_the_list: 2 })
    expect(await run(copied)).toMatchObject({
      status: 'ok',
      reason: 'left_the_list',
      reconciled: { left_the_list: 2, stored: 0, deleted: 0 },
    })
    await copied.close()
  })

  it('plan counts a request for each, as reconcile sends it', async () => {
    const warehouse = await begun(1500)
    archive(20, 1400)
    await run(warehouse, { full: true })
    const { deps, close } = await depsOf(sandbox, warehouse, { clock, readAhead: 1 })
    const request = { mode: 'reconcile' as const, job: null, tenants: null, resources: ['notes'] }
    const { requests } = await makePlan(deps, request, 0)
    await close()
    sandbox.resetRequests()
    expect(await run(warehouse)).toMatchObject({ reason: 'left_the_list' })
    expect(sandbox.requests).toHaveLength(requests)
    await warehouse.close()
  })

  it("another source's list says nothing about these records: adopt drops the marks, and reconcile looks again", async () => {
    const warehouse = await begun(350)
    archive(20, 30)
    await run(warehouse, { full: true })
    const { deps, close } = await depsOf(sandbox, warehouse, { clock })
    await adopt(deps, { ...deps.source.address, partnerId: '43' }, false)
    expect(await unlisted(warehouse)).toEqual([])
    expect(await cursor(warehouse)).toBeUndefined()
    await adopt(deps, deps.source.address, false)
    await close()
    await synced(warehouse)
    expect(await run(warehouse)).toMatchObject({
      status: 'failed',
      reason: 'left_the_list',
      reconciled: { left_ids: [20, 30], deleted: 0 },
    })
    await warehouse.close()
  })

  it('being gone ends it: the row is marked deleted', async () => {
    const warehouse = await begun(1500)
    archive(20, 1400)
    await run(warehouse, { full: true })
    sandbox.store.remove(1, 'notes', 1400)
    expect((await verify(warehouse)).cursors[0]).toMatchObject({ gone: 1, left_the_list: 1 })
    expect(await run(warehouse)).toMatchObject({ status: 'ok', reconciled: { deleted: 1, left_the_list: 1 } })
    expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
    expect(await unlisted(warehouse)).toEqual([20])
    await warehouse.close()
  })

  it('is found beside deleted, missing and changed records, and a row that vanished is fetched again', async () => {
    const warehouse = await begun(1500)
    archive(20, 1400)
    await run(warehouse, { full: true })
    archive(21, 900)
    for (const id of [22, 901]) sandbox.store.remove(1, 'notes', id)
    await lose(warehouse, [20, 700, 701])
    nextDay()
    await run(warehouse)
    expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
    expect(await unlisted(warehouse)).toEqual([20, 21, 900, 1400])
    nextDay()
    expect(await run(warehouse)).toMatchObject({ status: 'ok', reason: 'left_the_list' })
    await warehouse.close()
  })

  it("isn't said of a record that a second answer by id no longer has, or that the total still counts", async () => {
    const warehouse = await begun(350)
    archive(20)
    let asked = 0
    const off = sandbox.onRequest(({ id }) => {
      if (id === 20 && ++asked === 2) sandbox.store.remove(1, 'notes', 20)
    })
    expect(await run(warehouse, { full: true })).toMatchObject({ reconciled: { left_the_list: 0 } })
    off()
    odd().hidden.add(40)
    expect(await run(warehouse, { full: true })).toMatchObject({ reason: 'counted_not_shown' })
    expect(await unlisted(warehouse)).toEqual([])
    await warehouse.close()
  })

  it("isn't said of a record whose answer by id is another one, into which it was merged", async () => {
    const warehouse = await begun(350)
    archive(20, 30)
    const merged = { id: 9, updated_at: timeOf(9), description: 'the one that is left' }
    const merge = (id: number): void =>
      sandbox.script([
        { when: { kind: 'item', id }, fault: { kind: 'status', status: 200, body: JSON.stringify(merged) } },
      ])
    merge(30)
    const doubt = {
      reason: 'answers_differ',
      error: expect.stringContaining('30 (found record 9)'),
      rows_deleted: 0,
    }
    expect(await run(warehouse)).toMatchObject(doubt)
    expect(await unlisted(warehouse)).toEqual([20])
    expect(await liveIds(warehouse)).toHaveLength(350)
    // One that had left the list is in doubt once it is merged, and keeps its mark.
    sandbox.script([])
    nextDay()
    expect(await run(warehouse)).toMatchObject({ reason: 'left_the_list' })
    expect(await unlisted(warehouse)).toEqual([20, 30])
    merge(20)
    expect(await run(warehouse)).toMatchObject({ reason: 'answers_differ', rows_deleted: 0 })
    expect(await unlisted(warehouse)).toEqual([20, 30])
    expect((await rowsOf(warehouse, 'notes')).find(({ id }) => id === 9)?.description).not.toBe(
      merged.description,
    )
    await warehouse.close()
  })

  it('orders that left the list keep their totals, which know it, too', async () => {
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    fill(sandbox, 40, { resource: 'repair_orders' })
    const warehouse = await open(kind)
    const resources = ['repair_orders']
    await sync(sandbox, warehouse, { resources, clock })
    sandbox.store.collection(1, 'repair_orders').odd.archived.add(7)
    await reconcile(sandbox, warehouse, { resources, clock, full: true })
    const totals = async () =>
      (await rowsOf(warehouse, 'repair_order_totals')).find((row) => row.repair_order_id === 7)
    expect(await totals()).toMatchObject({ _unlisted_at: expect.any(String), _deleted_at: null })
    sandbox.store.put(1, 'repair_orders', template('repair_orders', 7, at(55)))
    await reconcile(sandbox, warehouse, { resources, clock })
    expect(await totals()).toMatchObject({ _unlisted_at: expect.any(String) })
    sandbox.store.collection(1, 'repair_orders').odd.heal()
    await reconcile(sandbox, warehouse, { resources, clock })
    expect(await totals()).toMatchObject({ _unlisted_at: null })
    await warehouse.close()
  })
})
