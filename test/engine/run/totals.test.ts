/**
 * Sources whose totals are wrong, missing, or nonsense, and what they answer past the end of a list (docs/guarantees.md,
 * Premises): everything shown is stored, and no verdict claims more than that.
 */
import { describe, expect, it } from 'vitest'
import type { Fault, Rule } from '../../../src/sandbox/index.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { sample, sized, someOf } from '../../support/harness/size.js'
import { warehouses } from '../../support/harness/warehouse.js'
import { at, atSource, timeOf } from '../../support/world/notes.js'
import {
  asListed,
  atMost,
  OneList,
  pages,
  paging,
  proven,
  repaired,
  total,
  uncounted,
  when,
} from '../../support/world/onelist.js'

const sandbox = await sandboxOfFile()

describe.each(warehouses())('$name', (kind) => {
  const list = new OneList(sandbox, kind, { overlapMs: 0 })

  describe('a list that counts wrongly', () => {
    const counts = [
      ['a total that ends at 300', 350, [total({ most: 300 })], 7],
      ['a total of the page', 150, [total({ page: true })], 9],
      ['no total at all', 350, [total({ remove: true })], 6],
      ['a total that is too low, of one page', 50, [total({ by: -30 })], 3],
      ['all at once', 350, [paging({ exact: 150 }), pages({ to: -1 }), total({ as: 'many' })], 9],
      ['a total capped at 100, of exactly two pages', 200, [total({ most: 100 })], 9],
      ['no total, and the last page is full', 300, [total({ remove: true })], 6],
      ['a total that is too low', 350, [total({ by: -30 })], 10],
      ['a total of the page, of many', 1203, [total({ page: true })], 40],
      ['a total that is a list', 350, [total({ as: [1200] })], 9],
      ['a total below zero', 350, [total({ as: -1 })], 9],
      ['a total with a fraction', 350, [total({ as: 350.5 })], 9],
      ['a total capped at 300, of many', 1203, [total({ most: 300 })], 40],
    ] as const
    it.each(sample(counts, 5))(
      '%s: all of it is stored, the verdict is listed',
      async (_, count, rules, most) => {
        await list.begin(count, rules)
        await list.sync({ ...uncounted, requests: atMost(most), watermark: timeOf(count) })
        // A later increment of more than one page is also whole.
        list.add(130, count + 1)
        await list.sync(uncounted)
        list.remove(3)
        await list.reconcile(uncounted)
        await list.full(asListed)
      },
    )

    it('as one that is capped, out of order: listed', async () => {
      await list.begin(250, [total({ most: 100 })])
      list.odd.order = 'oldest'
      await list.sync(uncounted)
    })

    it('in an increment, after a first load of less than a page', async () => {
      await list.begin(20, [total({ page: true })])
      await list.sync(proven)
      list.add(150, 21)
      await list.sync(uncounted)
    })

    it('with a total that jumps from response to response while the list does not change: listed, and cheap from then on', async () => {
      await list.begin(350, [
        { when: { ...when, every: 2 }, fault: { kind: 'total', by: 9 } },
        { when: { ...when, every: 3 }, fault: { kind: 'total', by: -7 } },
      ])
      await list.sync({ ...uncounted, watermark: timeOf(350), requests: atMost(30) })
      list.add(150, 351)
      await list.sync({ ...asListed, watermark: timeOf(500), requests: atMost(3) })
      // Whole again: a load of everything finds the totals correct, and forgets.
      sandbox.script([])
      await list.full({ completeness: 'proven' })
      await list.remembers(null)
    })

    it('without a total, whose pages hide records behind ties, is read until nothing new comes', async () => {
      await list.begin(98)
      // Two records share the time at which the first page ends: the source swaps them from page to page.
      for (const id of [99, 100, 101]) list.put(id, at(1))
      const swap: Rule = {
        when: { ...when, page: 2, perPage: 100, nth: 1 },
        fault: { kind: 'alter', path: 'id', to: 101, records: 'all' },
      }
      sandbox.script([swap, total({ remove: true })])
      await list.sync(asListed)
    })

    it.each([0, 20, 100, 350])(
      'for %i records without a total, an idle cursor costs two requests',
      async (count) => {
        await list.begin(count, [total({ remove: true })])
        await list.sync({})
        await list.sync({ ...asListed, requests: count === 0 ? 1 : 2 })
      },
    )

    it('without a total is read to its end, however long it is, and not ended by a revocation', async () => {
      await list.begin(sized(600, 2300), [paging({ most: sized(10, 20) }), total({ remove: true })])
      await list.sync(asListed)
      const revoke: Rule = { when: { ...when, page: 3 }, after: { kind: 'revoke', tenant: 1 } }
      await list.begin(350, [total({ remove: true }), revoke])
      expect(await list.cut({})).toMatchObject({ watermark: null, completeness: 'unproven' })
    })
  })

  describe('a count that is off once is a slip', () => {
    const slip = (page: number, fault: Fault = { kind: 'total', by: -1 }): Rule => ({
      when: { ...when, page, perPage: 100 },
      times: 1,
      fault,
    })
    const none: Fault = { kind: 'total', remove: true }
    it.each([
      ['the only page', 60, slip(1), 'proven'],
      ['the only page, which is full', 100, slip(1), 'proven'],
      ['the last page', 350, slip(4), 'repaired'],
      ['the page behind the last one', 300, slip(4), 'repaired'],
      ['the first page, without one', 350, slip(1, none), 'proven'],
      ['the third page, without one', 350, slip(3, none), 'proven'],
    ] as const)('of %s', async (_, count, rule, completeness) => {
      await list.begin(count, [rule])
      await list.sync({ status: 'ok', completeness })
      await list.remembers(null)
    })

    it('a total that changes because the list does is trusted', async () => {
      await list.begin(350)
      let deleted = 0
      // In each reading, a record is deleted from the pages that were already read.
      list.onList((_, page) => page === 3 && list.remove(300 + ++deleted))
      await list.sync({ reason: expect.not.stringContaining('no_count') }, { lacks: null })
      await list.remembers(null)
    })

    it('a record that arrives while the page past the end is requested is not a wrong total', async () => {
      await list.begin(100)
      const off = list.onList((_, page) => page === 2 && list.add(1, 101))
      await list.sync({ ...proven, watermark: timeOf(100) }, { lacks: null })
      off()
      await list.sync({ ...proven, watermark: timeOf(101) })
      await list.remembers(null)
    })

    it.each([
      ['between the count of a page and the page', 350, [slip(4)], 4],
      ['after a full page', 100, [], 2],
    ])('a record that comes late %s is noticed and stored', async (_, count, rules, before) => {
      await list.begin(count, rules)
      list.onList((_asked, page) => page === before && list.put(900, at(3)))
      await list.sync(repaired, { overlapMs: 10 ** 9 })
      await list.remembers(null)
    })
  })

  describe('past the end of a list', () => {
    const answers = [
      ['the last page again', { beyond: 'last' }],
      ['the last page, as itself', { beyond: 'last', claim: 'served' }],
      ['a refusal', { beyond: 'refused' }],
    ] as const
    const counts = [
      ['true', [], 'proven'],
      ['missing', [total({ remove: true })], 'listed'],
      ['of the page', [total({ page: true })], 'listed'],
      ['ten times too high', [total({ to: 3000 })], 'unproven'],
      ['absurd', [total({ to: 9_000_000_000_000_000 })], 'unproven'],
    ] as const
    const all = answers.flatMap(([name, fault]) => counts.map((one) => [name, one[0], fault, one] as const))
    it.each(someOf(4, all))(
      '%s, the total %s: everything is stored',
      async (_name, _count, fault, [, rules, completeness]) => {
        await list.begin(300, [paging(fault), ...rules])
        await list.sync({ completeness, requests: atMost(129) })
      },
    )

    const lowered: Rule = { when: { ...when, page: 3, perPage: 100 }, fault: { kind: 'paging', most: 50 } }
    it.each([
      ['total_pages rounded down', pages({ floor: true })],
      ['the limit of a page lowered for a while', lowered],
    ])('a count mismatch is only settled there: %s', async (_, rule) => {
      await list.begin(650, [rule])
      await list.sync({ status: 'ok', reason: expect.not.stringContaining('counted_not_shown') })
    })

    it('a list that is filtered after its pages were cut is read to its last page', async () => {
      await list.begin(500)
      const hidden = atSource(sandbox).filter((id) => id % 4 === 1)
      for (const id of hidden) list.odd.hidden.add(id)
      // The total counts what is shown: pages follow the one at which it is reached.
      sandbox.script([total({ by: -125 })])
      await list.sync({ status: 'ok' }, { lacks: hidden })
    })
  })
})
