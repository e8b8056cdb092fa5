/** Reconcile and verify on lists that break a premise of the books (docs/guarantees.md, Premises). */
import { describe, expect, it } from 'vitest'
import type { Rule } from '../../../src/sandbox/index.js'
import type { Source } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { isWhole, sample } from '../../support/harness/size.js'
import { warehouses } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'
import { at, timeOf } from '../../support/world/notes.js'
import { atMost, OneList, proven, repaired, unproven } from '../../support/world/onelist.js'

const sandbox = await sandboxOfFile()
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
const noItems: Rule = { when: { kind: 'item' }, fault: { kind: 'status', status: 404 } }
const capped: Rule = { when: { resource: 'notes', kind: 'list' }, fault: { kind: 'total', most: 300 } }

describe.each(warehouses())('$name', (kind) => {
  const list = new OneList(sandbox, kind)

  it.each([
    ['not newest first', () => Object.assign(list.odd, { order: 'oldest' }), 'repaired', 'order'],
    ['without a true total', () => sandbox.script([capped]), 'listed', 'no_count'],
  ] as const)('a list %s is listed, every id of it', async (_, spoil, completeness, reason) => {
    await list.loaded(many, spoil)
    list.remove(700)
    await list.lose(900)
    await list.verify({ status: 'differs', missing: 1, gone: 1 })
    const reconciled = { method: 'listing', deleted: 1, source: many - 1, warehouse: many - 1 }
    await list.reconcile({ status: 'ok', completeness, reason, reconciled })
    await list.verify({ status: 'equal', method: 'listing' })
  })

  it.each(countsAndWays)(
    'positions that show a record again are subtracted, of %i (full: %s)',
    async (count, full) => {
      await list.loaded(count, () => {
        for (const id of [40, 41]) list.odd.twice.set(id, 0)
        const again = { ...sandbox.store.stored(1, 'notes', 300)!, updated_at: timeOf(20) }
        sandbox.store.put(1, 'notes', again, { key: 9000 })
      })
      await list.verify({ status: 'equal', listed_twice: 3, missing: 0, outdated: 0, extra: 0 }, { full })
      list.remove(10)
      const reconciled = { deleted: 1, source: count - 1, warehouse: count - 1 }
      await list.reconcile({ ...repaired, reason: 'listed_twice', reconciled }, { full, lacks: [9000] })
    },
  )

  it.each(sample([many, 350]))(
    'a record that is never shown, of %i: unproven, until --full searches again',
    async (count) => {
      await list.loaded(count, () => list.odd.hidden.add(120))
      // Far from it: next to each other, the two would cancel out in the counts.
      list.remove(count - 50)
      const hidden = { reason: 'counted_not_shown', reconciled: { not_shown: 1, source: count - 2 } }
      await list.reconcile({ status: 'failed', ...hidden }, { lacks: [120] })
      await list.verify({ status: 'failed' })
      const settled = { status: 'ok', completeness: 'listed', ...hidden }
      const reconciled = { ...hidden.reconciled, warehouse: count - 2 }
      await list.reconcile({ ...settled, reconciled }, { full: true, lacks: [120] })
      await list.verify({ status: 'equal' })
      list.odd.heal()
      await list.reconcile(proven, { full: true })
      await list.remembers(null)
    },
  )

  it('what is known about a list explains that much over all ranges together, not in each', async () => {
    const count = 5000
    await list.loaded(count, () => list.odd.hidden.add(120))
    const known = { completeness: 'listed', reason: 'counted_not_shown' }
    await list.reconcile(known, { full: true, lacks: [120] })
    const counted = { method: 'counting', not_shown: 1 }
    const reconciled = { ...counted, source: count - 1, warehouse: count - 1 }
    await list.reconcile({ ...known, status: 'ok', reconciled }, { lacks: [120] })
    // It comes late, and is never shown: one more than is known.
    list.put(9000, timeOf(count / 2 + 500))
    list.odd.hidden.add(9000)
    await list.reconcile(
      { ...unproven, reason: 'totals_disagree', reconciled: counted },
      { lacks: [120, 9000] },
    )
  })

  it.each(sample([many, 350]))(
    'everything but a record that no response shows is compared, of %i',
    async (count) => {
      await list.loaded(count)
      // It was stored before it broke, and has changed since.
      list.put(120, at(400 * 7), { description: 'broken' })
      list.odd.poisoned.add(120)
      await list.full({})
      list.remove(200)
      await list.lose(210)
      await list.reconcile({ ...unproven, reason: 'unreadable' })
      await list.verify({ status: 'failed' })
      list.odd.heal()
      await list.reconcile({ status: 'ok', reason: null })
      expect((await list.live()).get(120)).toBe(at(400 * 7))
      await list.verify({ status: 'equal' })
    },
  )

  it.each([false, true])(
    'a list that never shows most of its records is not equal (full: %s)',
    async (full) => {
      await list.begin(300)
      for (let id = 1; id <= 200; id++) list.odd.hidden.add(id)
      for (let i = 0; i < 2; i++) await list.reconcile({}, { full: true, lacks: null })
      await list.verify({ status: 'failed', reason: 'counted_not_shown' }, { full })
    },
  )

  describe('many deletions', () => {
    const removed = (count: number): void => {
      for (let id = 1; id <= count; id++) list.remove(id)
    }

    it("sync --full that doesn't believe them tells the way out; reconcile --accept-deletes takes it", async () => {
      await list.loaded(350)
      removed(100)
      const { error } = await list.full({ status: 'failed', reason: 'loss_suspected' }, { lacks: null })
      expect(error).toContain('reconcile --accept-deletes')
      const refused = await list.reconcile(
        { status: 'failed', reason: 'breaker', rows_deleted: 0 },
        { lacks: null },
      )
      expect(refused.error).toMatch(/100 records of 350 \(29%\).*--accept-deletes/s)
      // A sample of 20, and an existing record.
      expect(list.byId).toBeLessThanOrEqual(21)
      expect((await list.live()).size).toBe(350)
      await list.reconcile({ status: 'ok', rows_deleted: 100 }, { acceptDeletes: true })
      await list.full(proven)
    })

    it('of a small cursor are believed if each is confirmed by id; a list that is suddenly empty marks nothing', async () => {
      for (const script of [[], [noItems]]) {
        await list.loaded(49)
        removed(30)
        sandbox.script(script)
        const believed = script.length === 0
        const found = believed ? { status: 'ok', rows_deleted: 30 } : { status: 'failed', reason: 'breaker' }
        await list.reconcile(found, { lacks: null })
        expect((await list.live()).size).toBe(believed ? 19 : 49)
      }
      await list.loaded(350)
      sandbox.script([{ when: { resource: 'notes', kind: 'list' }, fault: { kind: 'empty' } }])
      await list.reconcile({ status: 'failed' })
    })
  })

  describe('a source that does not answer by id, or answers 404 for other reasons', () => {
    /** Lists lack a certain record, wherever it is. */
    const hiding =
      (id: number) =>
      (source: Source): Source =>
        new Between(source, async ({ updatedAfter }, ask) => {
          const page = await ask()
          const records = page.records.filter((record) => (record as { id: number }).id !== id)
          const time = String(sandbox.store.stored(1, 'notes', id)?.updated_at)
          return { ...page, records, total: page.total - (time > updatedAfter ? 1 : 0) }
        })

    it.each([300, many])('of %i records, a second list confirms what is deleted', async (count) => {
      await list.loaded(count)
      list.remove(5, 6, count - 60, count - 2)
      sandbox.script([noItems])
      await list.reconcile({ status: 'ok', rows_deleted: 4 })
      expect(list.notices.map(([message]) => message).join()).toContain('does not answer by id')
    })

    it("a record that the list doesn't show is not marked deleted if it is counted, or answers by id", async () => {
      await list.loaded(300)
      list.odd.hidden.add(50)
      sandbox.script([noItems])
      await list.reconcile({ rows_deleted: 0 }, { full: true })
      await list.loaded(many)
      await list.reconcile({ ...unproven, rows_deleted: 0 }, { around: hiding(many / 2) })
    })

    it('one that moved between the list and the request is stored, not buried', async () => {
      await list.loaded(many)
      const id = many / 4
      let answered = 0
      // Lists don't show its new position yet; requested by its id, it is found.
      const late = (source: Source): Source =>
        Object.assign(hiding(id)(source), {
          tagged: () => late(source.tagged()),
          item: async (request: Parameters<Source['item']>[0]) => {
            if (request.id === id) sandbox.store.change(1, 'notes', id, { description: 'moved' })
            const item = await source.item(request)
            if (item) answered++
            return item
          },
        })
      await list.reconcile({}, { around: late })
      expect(answered).toBeGreaterThan(0)
      expect(await list.row(id)).toMatchObject({ description: 'moved', _deleted_at: null })
    })

    it('a tenant that is revoked while records are requested loses none of them', async () => {
      await list.begin(many)
      sandbox.store.addTenant({ id: 2 })
      await list.cut({})
      list.remove(17)
      sandbox.onRequest(({ id }) => {
        if (id !== null) sandbox.store.revoke(1)
      })
      const revoked = await list.cut({ mode: 'reconcile' })
      expect(revoked).toMatchObject({ status: 'skipped', reason: 'revoked', rows_deleted: 0 })
      expect((await list.live()).size).toBe(many)
      expect((await list.tenant()).revoked_at).not.toBeNull()
      expect(await list.cut({ mode: 'reconcile' })).toMatchObject({ status: 'skipped', requests: 0 })
    })
  })

  it("a record that can't be stored is reported each time, once, whether or not the walk meets it", async () => {
    for (const time of [3500, 7500]) {
      await list.loaded(many)
      sandbox.store.put(1, 'notes', { description: 'no id', updated_at: at(time), created_at: at(1) })
      const { error } = await list.reconcile({ ...unproven, requests: atMost(24) }, { lacks: null })
      expect(error).toContain('1 record could not be stored')
    }
  })
})
