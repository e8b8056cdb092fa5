/** Sources whose totals are wrong, missing, or nonsense, and what they answer past the end of a list. */
import { describe, expect, it } from 'vitest'
import type { Rule } from '../../../src/sandbox/index.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { sized, someOf } from '../../support/harness/size.js'
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

  /** A record comes late, right before a page is answered: the run notices and stores it. */
  async function noticesLate(before: number): Promise<void> {
    list.onList((_, page) => page === before && list.put(900, at(3)))
    await list.sync(repaired, { overlapMs: 10 ** 9 })
    await list.remembers(null)
  }

  describe('a total is not trusted if the last page is full', () => {
    const counts = [
      ['capped at 100', 150, [total({ most: 100 })]],
      ['capped at 100, of exactly two pages', 200, [total({ most: 100 })]],
      ['capped at 300', 1203, [total({ most: 300 })]],
      ['of the page', 150, [total({ page: true })]],
      ['of the page, of many', 1203, [total({ page: true })]],
      ['capped at 100, out of order', 250, [total({ most: 100 })]],
    ] as const
    const [many, someMore] = [counts.filter(([, n]) => n > 1000), counts.filter(([, n]) => n < 1000)]
    it.each([...someMore, ...sized(many.slice(0, 1), many)])(
      '%s: everything is stored, listed',
      async (name, count, rules) => {
        await list.begin(count, rules)
        if (name.includes('order')) list.odd.order = 'oldest'
        await list.sync(uncounted)
        // A later increment of more than one page is also whole.
        list.add(130, count + 1)
        await list.sync(uncounted)
        await list.full(asListed)
      },
    )

    it('in an increment, after a first load of less than a page', async () => {
      await list.begin(20, [total({ page: true })])
      await list.sync(proven)
      list.add(150, 21)
      await list.sync(uncounted)
    })

    it('a record that arrives while the page past the end is requested is not a wrong total', async () => {
      await list.begin(100)
      const off = list.onList((_, page) => page === 2 && list.add(1, 101))
      await list.sync({ ...proven, watermark: timeOf(100) }, { lacks: null })
      off()
      await list.sync({ ...proven, watermark: timeOf(101) })
      await list.remembers(null)
    })

    const slip = (page: number): Rule => ({
      when: { ...when, page, perPage: 100 },
      times: 1,
      fault: { kind: 'total', by: -1 },
    })
    it.each([
      ['the only page', 60, 1, 'proven'],
      ['the only page, which is full', 100, 1, 'proven'],
      ['the last page', 350, 4, 'repaired'],
      ['the page behind the last one', 300, 4, 'repaired'],
    ] as const)(
      'one response that counts a record too few is a slip (%s)',
      async (_, count, page, completeness) => {
        await list.begin(count, [slip(page)])
        await list.sync({ status: 'ok', completeness })
        await list.remembers(null)
      },
    )

    it('a record that comes late between the count of a page and the page is also a slip, and one after a full page is read with it', async () => {
      await list.begin(350, [slip(4)])
      await noticesLate(4)
      await list.begin(100)
      await noticesLate(2)
    })

    it('a list without a total is read until nothing new comes, if pages may hide records behind ties', async () => {
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
  })

  describe('a count mismatch is settled after the page past the last one has shown nothing new', () => {
    const lowered: Rule = {
      when: { ...when, page: 3, perPage: 100 },
      fault: { kind: 'paging', most: 50 },
    }
    it.each([
      ['total_pages rounded down', pages({ floor: true })],
      ['the limit of a page lowered for a while', lowered],
    ])('%s', async (_, rule) => {
      await list.begin(650, [rule])
      const { reason } = await list.sync({ status: 'ok' })
      expect(reason).not.toBe('counted_not_shown')
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

  describe('a nonsense envelope, or pages longer than asked, end in a named reason, and lose nothing', () => {
    const nonsense = [
      ['a total that is a word', [total({ as: 'many' })], 'listed', 'no_count'],
      ['pages of more than asked', [paging({ exact: 120 })], 'proven', null],
      ['a total that is a list', [total({ as: [1200] })], 'listed', 'no_count'],
      ['a total below zero', [total({ as: -1 })], 'listed', 'no_count'],
      ['pages of many more than asked', [paging({ exact: 1000 })], 'proven', null],
      ['a total with a fraction', [total({ as: 350.5 })], 'listed', 'no_count'],
      [
        'all at once',
        [paging({ exact: 150 }), pages({ to: -1 }), total({ as: 'many' })],
        'listed',
        'no_count',
      ],
      ['total_pages of -1', [pages({ to: -1 })], 'proven', null],
    ] as const
    it.each(someOf(2, nonsense))('%s', async (_, rules, completeness, reason) => {
      const found = { status: 'ok', completeness, reason, error: null }
      await list.begin(350, rules)
      await list.sync(found)
      list.add(130, 351)
      list.remove(3)
      await list.sync(found, { lacks: null })
      await list.reconcile(found)
    })
  })
})
