/** Reconcile and verify on lists that break a premise of the books (docs/guarantees.md, Premises). */
import { describe, expect, it } from 'vitest'
import { runVerify, type VerifyReport } from '../../../src/features/reconcile/verifywork.js'
import { type Rule, template } from '../../../src/sandbox/index.js'
import { type CursorReport, depsOf, type RunOptions, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { open, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { HandClock } from '../../support/world/clocks.js'
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
} from '../../support/world/notes.js'
import { randomFrom } from '../../support/world/random.js'
import { isWhole, sample, someOf } from '../../support/world/size.js'

const sandbox = await sandboxOfFile()
const collection = () => sandbox.store.collection(1, 'notes')
const odd = () => collection().odd
/** As many as are compared by counting. */
const many = isWhole() ? 3000 : 1000
/** How many records, and whether they are read whole. */
const countsAndWays = sample(
  [
    [many, true],
    [many, false],
    [350, false],
  ] as const,
  2,
)
const capped: Rule = { when: { resource: 'notes', kind: 'list' }, fault: { kind: 'total', most: 300 } }

describe.each(warehouses())('$name', (kind) => {
  const clock = new HandClock('2026-03-01T12:00:00Z', 10n)

  async function begun(count: number, spoil: () => unknown = () => {}): Promise<Warehouse> {
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    fill(sandbox, count)
    spoil()
    const warehouse = await open(kind)
    await sync(sandbox, warehouse, { resources: ['notes'], clock })
    return warehouse
  }

  const run = async (warehouse: Warehouse, options: RunOptions = {}): Promise<CursorReport> =>
    only(await reconcile(sandbox, warehouse, { clock, ...options }))!

  async function verify(warehouse: Warehouse, full = false, overlapMs?: number): Promise<VerifyReport> {
    const { deps, close } = await depsOf(sandbox, warehouse, {
      clock,
      ...(overlapMs !== undefined && { overlapMs }),
    })
    const choice = { tenants: null, resources: ['notes'] }
    try {
      return await runVerify({ ...deps, random: randomFrom(3) }, choice, { full, sample: 0 })
    } finally {
      await close()
    }
  }

  const remembered = async (warehouse: Warehouse): Promise<unknown> =>
    (await rowsOf(warehouse, 'sync_cursors'))[0]?.remembered

  it.each([
    ['not newest first', () => Object.assign(odd(), { order: 'oldest' }), 'repaired', 'order'],
    ['without a true total', () => sandbox.script([capped]), 'listed', 'no_count'],
  ] as const)('a list %s is listed, every id of it', async (_, spoil, completeness, reason) => {
    const warehouse = await begun(many, spoil)
    sandbox.store.remove(1, 'notes', 700)
    await lose(warehouse, [900])
    expect((await verify(warehouse)).cursors[0]).toMatchObject({ status: 'differs', missing: 1, gone: 1 })
    expect(await run(warehouse)).toMatchObject({
      status: 'ok',
      completeness,
      reason,
      reconciled: { method: 'listing', deleted: 1, source: many - 1, warehouse: many - 1 },
    })
    expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
    expect(await verify(warehouse)).toMatchObject({ status: 'equal', cursors: [{ method: 'listing' }] })
    await warehouse.close()
  })

  it.each(countsAndWays)(
    'positions that show a record again are subtracted, of %i (full: %s)',
    async (count, full) => {
      const again = (): void => {
        for (const id of [40, 41]) odd().twice.set(id, 0)
        sandbox.store.put(
          1,
          'notes',
          { ...sandbox.store.stored(1, 'notes', 300)!, updated_at: timeOf(20) },
          { key: 9000 },
        )
      }
      const warehouse = await begun(count, again)
      expect(await verify(warehouse, full)).toMatchObject({
        status: 'equal',
        cursors: [{ listed_twice: 3, missing: 0, outdated: 0, extra: 0 }],
      })
      sandbox.store.remove(1, 'notes', 10)
      const report = await run(warehouse, { full })
      expect(report).toMatchObject({
        status: 'ok',
        completeness: 'repaired',
        reason: 'listed_twice',
        reconciled: { deleted: 1, source: count - 1, warehouse: count - 1 },
      })
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox).filter((id) => id !== 9000))
      await warehouse.close()
    },
  )

  it.each(sample([many, 350]))(
    'a record that is never shown, of %i: unproven, until --full searches again',
    async (count) => {
      const warehouse = await begun(count, () => odd().hidden.add(120))
      // Far from it: next to each other, the two would cancel out in the counts.
      sandbox.store.remove(1, 'notes', count - 50)
      expect(await run(warehouse)).toMatchObject({
        status: 'failed',
        reason: 'counted_not_shown',
        reconciled: { not_shown: 1, source: count - 2 },
      })
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox).filter((id) => id !== 120))
      expect((await verify(warehouse)).status).toBe('failed')
      expect(await run(warehouse, { full: true })).toMatchObject({
        status: 'ok',
        completeness: 'listed',
        reason: 'counted_not_shown',
        reconciled: { not_shown: 1, source: count - 2, warehouse: count - 2 },
      })
      expect((await verify(warehouse)).status).toBe('equal')
      odd().heal()
      expect(await run(warehouse, { full: true })).toMatchObject({ completeness: 'proven', reason: null })
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
      expect(await remembered(warehouse)).toBeNull()
      await warehouse.close()
    },
  )

  it('what is known about a list explains that much over all ranges together, not in each', async () => {
    const warehouse = await begun(5000, () => odd().hidden.add(120))
    const known = { completeness: 'listed', reason: 'counted_not_shown' }
    expect(await run(warehouse, { full: true })).toMatchObject(known)
    expect(await run(warehouse)).toMatchObject({
      ...known,
      status: 'ok',
      reconciled: { method: 'counting', not_shown: 1, source: 4999, warehouse: 4999 },
    })
    // It comes late, and is never shown: one more than is known.
    sandbox.store.put(1, 'notes', template('notes', 9000, timeOf(3000)))
    odd().hidden.add(9000)
    expect(await run(warehouse)).toMatchObject({
      status: 'failed',
      completeness: 'unproven',
      reason: 'totals_disagree',
      reconciled: { method: 'counting', not_shown: 1 },
    })
    await warehouse.close()
  })

  it.each(sample([many, 350]))(
    'everything but a record that no response shows is compared, of %i',
    async (count) => {
      const warehouse = await begun(count)
      // It was stored before it broke, and has changed since.
      sandbox.store.put(1, 'notes', { ...template('notes', 120, at(400 * 7)), description: 'broken' })
      odd().poisoned.add(120)
      await sync(sandbox, warehouse, { resources: ['notes'], clock, mode: 'full' })
      sandbox.store.remove(1, 'notes', 200)
      await lose(warehouse, [210])
      expect(await run(warehouse)).toMatchObject({
        status: 'failed',
        completeness: 'unproven',
        reason: 'unreadable',
      })
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
      expect((await verify(warehouse)).cursors[0]).toMatchObject({ status: 'failed' })
      odd().heal()
      expect(await run(warehouse)).toMatchObject({ status: 'ok', reason: null })
      expect((await live(warehouse)).get(120)).toBe(at(400 * 7))
      expect((await verify(warehouse)).status).toBe('equal')
      await warehouse.close()
    },
  )

  describe('a source that was restored from a backup', () => {
    const newer = (id: number): void =>
      sandbox.store.put(1, 'notes', { ...template('notes', id, timeOf(id + 500)), description: 'newer' })

    async function restored(count: number): Promise<Warehouse> {
      sandbox.reset()
      sandbox.store.addTenant({ id: 1 })
      fill(sandbox, count)
      const backup = collection().backup()
      const warehouse = await open(kind)
      for (const id of [count - 20, 30, 31]) newer(id)
      sandbox.store.put(1, 'notes', template('notes', count + 1, timeOf(count + 600)))
      await sync(sandbox, warehouse, { resources: ['notes'], clock })
      collection().restore(backup)
      return warehouse
    }

    it.each(countsAndWays)(
      'is followed, of %i records (full: %s), reported and counted',
      async (count, full) => {
        const warehouse = await restored(count)
        expect((await verify(warehouse, full)).cursors[0]).toMatchObject({
          status: 'differs',
          outdated: 3,
          gone: 1,
        })
        expect(await run(warehouse, { full })).toMatchObject({
          status: 'ok',
          completeness: 'repaired',
          reason: 'source_went_back',
          reconciled: { went_back: 3, deleted: 1 },
        })
        expect((await live(warehouse)).get(30)).toBe(timeOf(30))
        const rows = await rowsOf(warehouse, 'notes')
        expect(rows.find(({ id }) => id === 30)?.description).toBe(
          sandbox.store.get(1, 'notes', 30)?.description,
        )
        expect((await verify(warehouse, true)).status).toBe('equal')
        expect(await run(warehouse, { full })).toMatchObject({
          status: 'ok',
          completeness: 'proven',
          reason: null,
        })
        await warehouse.close()
      },
    )

    /** Ten records are edited and then revert, while none is missing and no count differs. */
    async function tenRestored(count: number, place = 0): Promise<Warehouse> {
      const last = Array.from({ length: 10 }, (_, i) => count - place - i)
      const put = (id: number, time: string, description: string): void =>
        sandbox.store.put(1, 'notes', { ...template('notes', id, time), description })
      const warehouse = await begun(count, () => {
        for (const id of last) put(id, at(7 * id + 2), 'edited')
      })
      for (const id of last) put(id, timeOf(id), 'as it was')
      return warehouse
    }

    const places = [
      ['the only page', 80, 0, 0],
      ['the only page, which the catching-up walk reads', 80, 3_600_000, 0],
      ['the top of a long list', many, 0, 0],
      ['the top of a long list, which the catching-up walk reads', many, 3_600_000, 0],
      ['what the catching-up walk alone reads', many, 3_600_000, 150],
    ] as const
    it.each(someOf(2, places))(
      'is followed by a plain reconcile on %s, with no record missing',
      async (_, count, overlapMs, place) => {
        const warehouse = await tenRestored(count, place)
        // A sync counts and reports them, and requests nothing.
        sandbox.resetRequests()
        const notices: [string, Record<string, unknown>][] = []
        await sync(sandbox, warehouse, { resources: ['notes'], clock, overlapMs, notices })
        expect(sandbox.requests.filter(({ id }) => id !== null)).toEqual([])
        if (overlapMs > 0)
          expect(notices).toContainEqual([
            expect.stringContaining('older versions than the warehouse has'),
            { tenant_id: 1, resource: 'notes', records: 10 },
          ])
        expect((await verify(warehouse, false, overlapMs)).cursors[0]).toMatchObject({
          status: 'differs',
          ...{ missing: 0, outdated: 10, extra: 0 },
        })
        const asked: bigint[] = []
        const off = sandbox.onRequest(({ id }) => {
          if (id === count - place) asked.push(clock.nowMicros())
        })
        expect(await run(warehouse, { overlapMs })).toMatchObject({
          status: 'ok',
          completeness: 'repaired',
          reason: 'source_went_back',
          reconciled: { went_back: 10 },
        })
        off()
        expect(asked).toHaveLength(2)
        expect(asked[1]! - asked[0]!).toBeGreaterThanOrEqual(5_000_000n)
        const rows = await rowsOf(warehouse, 'notes')
        expect(rows.filter(({ description }) => description === 'as it was')).toHaveLength(10)
        expect((await verify(warehouse, true, overlapMs)).status).toBe('equal')
        expect(await run(warehouse, { overlapMs })).toMatchObject({ completeness: 'proven', reason: null })
        await warehouse.close()
      },
    )

    it('verify requests twice, too: if the answers differ, it neither calls the list equal nor counts a difference', async () => {
      const warehouse = await tenRestored(80)
      let asked = 0
      const off = sandbox.onRequest(({ id }) => {
        if (id === 80 && ++asked === 2)
          sandbox.store.put(1, 'notes', { ...template('notes', 80, at(563)), description: 'new' })
      })
      expect((await verify(warehouse)).cursors[0]).toMatchObject({
        status: 'failed',
        reason: 'answers_differ',
      })
      off()
      expect(asked).toBe(2)
      await warehouse.close()
    })

    it('a backfill counts and reports them, and requests nothing', async () => {
      const warehouse = await tenRestored(80)
      sandbox.resetRequests()
      const notices: [string, Record<string, unknown>][] = []
      const ranges = [{ from: at(0), to: at(10_000) }]
      const report = await sync(sandbox, warehouse, {
        resources: ['notes'],
        clock,
        mode: 'backfill',
        ranges,
        notices,
      })
      expect(only(report)).toMatchObject({ status: 'ok' })
      expect(sandbox.requests.filter(({ id }) => id !== null)).toEqual([])
      expect(notices).toContainEqual([
        expect.stringContaining('older versions than the warehouse has'),
        { tenant_id: 1, resource: 'notes', records: 10 },
      ])
      await warehouse.close()
    })

    it('sync --full keeps what it has, proves nothing of it, and refers to reconcile', async () => {
      const warehouse = await restored(350)
      const notices: [string, Record<string, unknown>][] = []
      const walked = await sync(sandbox, warehouse, { resources: ['notes'], clock, mode: 'full', notices })
      expect(only(walked)).toMatchObject({
        status: 'failed',
        completeness: 'unproven',
        reason: 'source_went_back',
        error: expect.stringContaining('an older version of 3 records'),
      })
      expect(notices).toContainEqual([
        expect.stringContaining('type shopsync reconcile'),
        { tenant_id: 1, resource: 'notes', records: 3 },
      ])
      expect((await live(warehouse)).get(30)).toBe(timeOf(530))
      await warehouse.close()
    })

    it("isn't followed if two answers differ: nothing is written, and the next reconcile asks again", async () => {
      const warehouse = await restored(350)
      let asked = 0
      sandbox.onRequest(({ id }) => {
        if (id === 30 && ++asked === 2) newer(30)
      })
      expect(await run(warehouse)).toMatchObject({
        status: 'failed',
        completeness: 'unproven',
        reason: 'answers_differ',
        reconciled: { went_back: 2 },
      })
      expect((await live(warehouse)).get(30)).toBe(timeOf(530))
      expect(await run(warehouse)).toMatchObject({ status: 'ok', reason: null })
      await warehouse.close()
    })

    const older = (id: number): void => sandbox.store.put(1, 'notes', template('notes', id, timeOf(id)))

    it("isn't followed if the first answer is current; the two requests are seconds apart", async () => {
      const warehouse = await restored(350)
      const asked: bigint[] = []
      sandbox.onRequest(({ id }) => {
        if (id !== 30) return
        asked.push(clock.nowMicros())
        if (asked.length === 1) newer(30)
        else older(30)
      })
      expect(await run(warehouse)).toMatchObject({ reason: 'answers_differ', reconciled: { went_back: 2 } })
      expect((await live(warehouse)).get(30)).toBe(timeOf(530))
      expect(asked[1]! - asked[0]!).toBeGreaterThanOrEqual(5_000_000n)
      await warehouse.close()
    })

    it('is distinguished from a list that lags behind its answers by id: nothing is written or checked', async () => {
      const warehouse = await begun(350, () => newer(30))
      const [before] = await rowsOf(warehouse, 'sync_cursors')
      sandbox.onRequest(({ id }) => (id === null ? older(30) : newer(30)))
      for (const full of [false, true]) {
        expect(await run(warehouse, { full })).toMatchObject({
          status: 'failed',
          completeness: 'unproven',
          reason: 'answers_differ',
        })
        expect((await verify(warehouse, full)).cursors[0]).toMatchObject({
          status: 'failed',
          reason: 'answers_differ',
        })
      }
      expect((await live(warehouse)).get(30)).toBe(timeOf(530))
      const [after] = await rowsOf(warehouse, 'sync_cursors')
      expect(after?.deletes_checked_at).toBe(before?.deletes_checked_at)
      await warehouse.close()
    })

    it("isn't followed if the source doesn't answer by id, and the message says so", async () => {
      const warehouse = await restored(350)
      sandbox.script([{ when: { kind: 'item' }, fault: { kind: 'status', status: 404 } }])
      const unknown = {
        reason: 'answers_differ',
        error: expect.stringMatching(/3 records in an older version .* does not answer by id/),
      }
      expect(await run(warehouse)).toMatchObject(unknown)
      expect((await verify(warehouse, false)).cursors[0]).toMatchObject(unknown)
      expect((await live(warehouse)).get(30)).toBe(timeOf(530))
      await warehouse.close()
    })

    it('leaves a row alone if it has another version by now', async () => {
      const warehouse = await restored(350)
      let asked = 0
      sandbox.onRequest(async ({ id }) => {
        if (id !== 30 || ++asked !== 2) return
        await warehouse.write([
          warehouse.db
            .updateTable('notes')
            .set({ updated_at: timeOf(900) })
            .where('id', '=', 30)
            .compile(),
        ])
      })
      // What is counted is what was stored.
      expect(await run(warehouse)).toMatchObject({ reconciled: { went_back: 2 } })
      expect((await live(warehouse)).get(30)).toBe(timeOf(900))
      await warehouse.close()
    })

    it('brings back a record whose row is a tombstone of a later version', async () => {
      const warehouse = await restored(350)
      await warehouse.write([
        warehouse.db
          .updateTable('notes')
          .set({ _deleted_at: at(1) })
          .where('id', '=', 30)
          .compile(),
      ])
      expect(await run(warehouse, { full: true })).toMatchObject({ status: 'ok', reason: 'source_went_back' })
      expect((await live(warehouse)).get(30)).toBe(timeOf(30))
      await warehouse.close()
    })
  })

  describe('many deletions', () => {
    it("sync --full that doesn't believe them tells the way out; reconcile --accept-deletes takes it", async () => {
      const warehouse = await begun(350)
      for (let id = 1; id <= 100; id++) sandbox.store.remove(1, 'notes', id)
      const refused = only(await sync(sandbox, warehouse, { resources: ['notes'], clock, mode: 'full' }))
      expect(refused).toMatchObject({ status: 'failed', reason: 'loss_suspected' })
      expect(refused?.error).toContain('reconcile --accept-deletes')
      let byId = 0
      const off = sandbox.onRequest(({ id }) => {
        if (id !== null) byId++
      })
      expect(await run(warehouse)).toMatchObject({ status: 'failed', reason: 'breaker' })
      off()
      // A sample of 20, and an existing record.
      expect(byId).toBeLessThanOrEqual(21)
      expect(await run(warehouse, { acceptDeletes: true })).toMatchObject({ status: 'ok', rows_deleted: 100 })
      expect(
        only(await sync(sandbox, warehouse, { resources: ['notes'], clock, mode: 'full' })),
      ).toMatchObject({
        status: 'ok',
        completeness: 'proven',
      })
      await warehouse.close()
    })

    it('of a small cursor are believed if each is confirmed by id', async () => {
      const warehouse = await begun(49)
      for (let id = 1; id <= 30; id++) sandbox.store.remove(1, 'notes', id)
      expect(await run(warehouse)).toMatchObject({ status: 'ok', rows_deleted: 30 })
      await warehouse.close()
      const other = await begun(49)
      for (let id = 1; id <= 30; id++) sandbox.store.remove(1, 'notes', id)
      sandbox.script([{ when: { resource: 'notes', kind: 'item' }, fault: { kind: 'status', status: 404 } }])
      expect(await run(other)).toMatchObject({ status: 'failed', reason: 'breaker' })
      await other.close()
    })
  })
})
