/**
 * Sources that serve pages of a different size than requested (docs/guarantees.md, Premises): everything shown is stored,
 * and no verdict claims more than that.
 */
import { describe, expect, it } from 'vitest'
import { sizesUpTo } from '../../../src/engine/list/pagesize.js'
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
  const wide = { overlapMs: 300_000 }

  /** So many records with the same time, which each response shows in another order. */
  function tie(count: number): void {
    for (let id = 1; id <= count; id++) list.put(id, timeOf(1))
    sandbox.store.shuffleTies = true
  }

  describe('a page shorter than asked is not the last', () => {
    const counts = [
      ['a true total', 50, [], 350, 'proven'],
      ['no total', 50, [total({ remove: true })], 350, 'listed'],
      ['the total of the page', 30, [total({ page: true })], 95, 'listed'],
      ['a true total, another size', 37, [], 350, 'proven'],
      ['a true total, full to the end', 50, [], 300, 'proven'],
      ['no total, another size', 12, [total({ remove: true })], 90, 'listed'],
      ['no total, full to the end', 50, [total({ remove: true })], 300, 'listed'],
      ['a total that is no number', 50, [total({ as: 'many' })], 350, 'listed'],
    ] as const
    it.each(sample(counts, 3))(
      'with %s, %i per page: everything is stored',
      async (_, most, rules, count, completeness) => {
        await list.begin(count, [paging({ most, pages: 'asked' }), ...rules])
        await list.sync({ status: 'ok', completeness, watermark: timeOf(count) })
        await list.remembers({ size: most })
        // Later records are read in pages of that size, with as many requests.
        list.add(2 * most, count + 1)
        await list.sync({ status: 'ok', completeness })
      },
    )

    it('the learned size costs no extra request, and is forgotten when a page holds more', async () => {
      await list.begin(350, [paging({ most: 50 })])
      // Seven pages, the page after the last full one, and the first page again.
      await list.sync({ ...proven, requests: 9 })
      list.add(120, 351)
      await list.sync({ ...proven, requests: 4 })
      await list.sync({ ...proven, requests: 1 })
      await list.full({ ...proven, requests: 11 })
      sandbox.script([])
      await list.full({ ...proven, requests: 6 })
      await list.remembers(null)
    })

    it.each([
      ['that begin by the requested size', paging({ most: 40, offset: 'asked' })],
      ['of more than asked', paging({ exact: 120 })],
      ['of many more than asked', paging({ exact: 1000 })],
    ])('of pages %s, none is skipped', async (_, rule) => {
      await list.begin(350, [rule])
      await list.sync(proven)
      list.add(130, 351)
      await list.sync(proven)
    })

    it('ties are cut by other sizes below the one that is served', async () => {
      await list.begin(0, [paging({ most: 50 })])
      tie(130)
      await list.sync({ ...repaired, reason: 'ties' })
      const sizes = [...new Set(list.sizes)]
      expect(sizes).toEqual([100, ...sizesUpTo(50).slice(0, sizes.length - 1)])
    })

    it('a killed walk continues with the size that it had learned', async () => {
      await list.begin(350, [paging({ most: 50 })])
      const end = new AbortController()
      const off = list.onList((_, page) => page === 4 && end.abort())
      await list.cut({ signal: end.signal, readAhead: 0 })
      off()
      expect((await list.live()).size).toBeGreaterThanOrEqual(100)
      await list.sync({ status: 'ok', watermark: timeOf(350), requests: atMost(11) })
    })
  })

  describe('total_pages never ends a list', () => {
    const odd = [
      ['rounded down', { floor: true }],
      ['0', { to: 0 }],
      ['1', { to: 1 }],
      ['below zero', { to: -1 }],
      ['none', { remove: true }],
    ] as const
    it.each(someOf(2, odd))('%s: proven, without an extra request', async (_, fault) => {
      await list.begin(350, [pages(fault)])
      await list.sync({ ...proven, requests: 5 })
      list.add(129, 351)
      await list.sync({ ...proven, requests: 3 })
    })

    it('where it says that pages follow, a first load looks at the next', async () => {
      await list.begin(90, [paging({ most: 40 }), total({ page: true })])
      await list.sync(asListed)
    })
  })

  describe('pages over a size that never arrive', () => {
    /** Requests of more records than this fail in that way. */
    const over = (most: number, fault: Fault = { kind: 'status', status: 502 }): Rule => ({
      when: { ...when, perPage: Array.from({ length: 100 - most }, (_, i) => most + 1 + i) },
      fault,
    })
    const nextDay = (): void => list.clock.pass(25 * 3_600_000)
    const atOnce = { readAhead: 0 } as const

    const failures = [
      ['502', { kind: 'status', status: 502 }],
      ['a response that is cut off', { kind: 'cut' }],
      ['504', { kind: 'status', status: 504 }],
      ['413', { kind: 'status', status: 413 }],
      ['422', { kind: 'status', status: 422 }],
    ] as const
    it.each(sample(failures, 2))(
      '%s: the size is learned once, and costs nothing from then on',
      async (_, fault) => {
        await list.begin(620, [over(60, fault)])
        await list.sync({ ...proven, watermark: timeOf(620) })
        await list.remembers({ readable: { size: 50 } })
        // 13 pages and the first again: no page of a size that is known to fail.
        await list.full({ ...proven, requests: 14 })
        expect(Math.max(...list.sizes)).toBe(50)
        list.add(120, 621)
        await list.sync({ ...proven, requests: 4 })
        await list.sync({ ...proven, requests: 1 })
        list.remove(3, 400, 401)
        await list.reconcile({ status: 'ok', rows_deleted: 3 }, { full: true, ...wide })
        expect(Math.max(...list.sizes)).toBe(50)
        // Listing takes 16 pages of that size, so a dozen lost rows are requested one by one.
        await list.lose(20, 80, 140, 200, 260, 320, 380, 440, 500, 560, 620, 680)
        await list.reconcile({ status: 'ok', reconciled: { method: 'counting', stored: 12 } }, wide)
      },
    )

    it('a larger size is tried once a day, and is used again when it arrives', async () => {
      await list.begin(620, [over(60)])
      await list.sync(proven)
      nextDay()
      await list.sync({ status: 'ok', requests: 2 })
      expect(list.sizes).toEqual([100, 50])
      await list.sync({ status: 'ok', requests: 1 })
      sandbox.script([])
      nextDay()
      await list.sync({ status: 'ok', requests: 2 })
      await list.remembers(null)
      await list.sync({ status: 'ok', requests: 1 })
      expect(list.sizes).toEqual([100])
    })

    it('from the second page on: the pages before are not read again, and the next run knows', async () => {
      const rule = over(60)
      await list.begin(620, [{ ...rule, when: { ...rule.when, page: [3, 4, 5, 6, 7] } }])
      await list.sync(proven)
      // Only the first page that failed was requested again and again.
      const asked = (page: number) =>
        sandbox.requests.filter((one) => one.page === page && one.per_page === 100)
      expect([asked(3).length, asked(4).length]).toEqual([4, 0])
      await list.full({ status: 'ok', requests: 14 })
    })

    it('a walk that is cut short has learned the size, and continues with it', async () => {
      await list.begin(620, [over(60)])
      const end = new AbortController()
      const off = list.onList((_, page, perPage) => page === 5 && perPage === 50 && end.abort())
      await list.cut({ signal: end.signal, ...atOnce })
      off()
      await list.remembers({ readable: { size: 50 } })
      await list.sync({ status: 'ok', watermark: timeOf(620), requests: atMost(16) })
      expect(Math.max(...list.sizes)).toBe(50)
    })

    it('ties are cut by sizes below it, and below the size that is served if that is smaller', async () => {
      for (const served of sized([30], [100, 30])) {
        await list.begin(0, [over(60), paging({ most: served })])
        tie(130)
        await list.sync({}, { lacks: null })
        await list.full({ ...repaired, reason: 'ties' })
        const known = new Set([50, ...sizesUpTo(Math.min(50, served))])
        expect(list.sizes.filter((size) => !known.has(size))).toEqual([])
      }
    })

    const limits = [
      [25, 25],
      [1, 1],
      [49, 25],
      [12, 10],
      [5, 5],
      [2, 2],
    ] as const
    it.each(sample(limits, 2))(
      'of at most %i, too, the size is learned once, and larger ones are tried again',
      async (most, size) => {
        await list.begin(120, [over(most)])
        await list.sync(proven)
        // Nothing is requested in vain from then on, but for one page a day.
        await list.sync({ ...proven, requests: size === 1 ? 2 : 1 })
        await list.full({ ...proven, requests: atMost(Math.ceil(120 / size) + 2) })
        expect(Math.max(...list.sizes)).toBe(size)
        nextDay()
        await list.sync({})
        expect(list.sizes.filter((asked) => asked > most)).toHaveLength(1)
        sandbox.script([])
        nextDay()
        await list.sync(proven)
        await list.remembers(null)
        expect(list.sizes.at(-1)).toBe(100)
      },
    )

    it('a record that breaks all pages but its own makes no other page smaller', async () => {
      await list.begin(120)
      list.onList((_, page, perPage) => {
        // The record is the 33rd of the list.
        const isThere = (page - 1) * perPage <= 32 && page * perPage > 32
        sandbox.script(isThere && perPage > 1 ? [{ when, fault: { kind: 'status', status: 502 } }] : [])
      })
      await list.sync({ status: 'ok', completeness: 'proven' }, atOnce)
      expect(list.sizes).toContain(2)
      expect((await list.cursor()).remembered ?? {}).not.toHaveProperty('readable')
    })

    it('a page that fails for a while and then arrives does not make the pages smaller', async () => {
      await list.begin(620, [{ ...over(60), when: { ...over(60).when, page: 2, to: 3 } }])
      await list.sync(proven)
      await list.remembers(null)
    })

    it('records that move while a page is read in smaller ones are not lost', async () => {
      await list.begin(620, [over(30)])
      // Between two of the smaller pages a record goes and others come, so that totals compared at the end don't tell.
      let small = 0
      const off = list.onList((_, _page, perPage) => {
        if (perPage !== 10 || ++small > 40 || small % 7 !== 3) return
        list.put(1000 + small, timeOf(1000 + small))
        if (small % 2 === 0) list.remove(620 - small)
      })
      const expectLive = async (ids: readonly number[]): Promise<void> =>
        expect([...(await list.live()).keys()]).toEqual(expect.arrayContaining([...ids]))
      const { completeness } = await list.sync({}, { ...atOnce, lacks: null })
      off()
      if (completeness !== 'unproven') await expectLive(atSource(sandbox).filter((id) => id <= 620))
      await list.sync({ status: 'ok' }, { lacks: null })
      await expectLive(atSource(sandbox))
    })

    it('api.pageSize: no request asks for more, whatever is done', async () => {
      await list.begin(620, [over(40)])
      let largest = 0
      const run = async (expected: Readonly<Record<string, unknown>>, more: object = {}): Promise<void> => {
        await list.sync(expected, { pageSize: 40, ...more })
        largest = Math.max(largest, ...sandbox.requests.map(({ per_page }) => per_page ?? 0))
      }
      await run({ ...proven, requests: 17 })
      list.add(120, 621)
      await run({ ...proven, requests: 5 })
      list.remove(3, 400, 401, 700)
      for (const full of [false, true]) await run({ status: 'ok' }, { mode: 'reconcile', full })
      await run({ status: 'ok' }, { mode: 'backfill', ranges: [{ from: at(100 * 7), to: at(420 * 7) }] })
      await list.remembers(null)
      expect(largest).toBe(40)
    })
  })

  describe('other readings of such lists', () => {
    const served = [
      ['pages of 50 that begin by the size asked for', [paging({ most: 50, offset: 'asked' })]],
      ['pages of 30 and no total', [paging({ most: 30 }), total({ remove: true })]],
      ['pages of 50', [paging({ most: 50 })]],
      ['the total of the page', [total({ page: true })]],
      ['a total capped at 100', [total({ most: 100 })]],
    ] as const
    it.each(sample(served, 2))(
      'a comparison finds differences when the source serves %s, whether or not the size was learned',
      async (_, rules) => {
        for (const isLearned of [true, false]) {
          await list.begin(450, isLearned ? rules : [])
          await list.sync({})
          sandbox.script(rules)
          list.remove(3, 200, 201, 400)
          await list.reconcile({ status: 'ok', error: null }, wide)
        }
      },
    )

    it('a comparison of exactly one full page checks the page after it', async () => {
      await list.begin(100)
      await list.sync(proven)
      // An earlier program trusted this total; the rows are all that it had read.
      list.add(50, 101)
      sandbox.script([total({ most: 100 })])
      await list.write({ watermark: timeOf(150) }, undefined, 'sync_cursors')
      await list.reconcile(uncounted)
    })

    it('a backfill is whole', async () => {
      await list.begin(700)
      await list.sync(proven)
      const within = atSource(sandbox).filter((id) => timeOf(id) >= at(700) && timeOf(id) < at(2940))
      const ranges = [{ from: at(100 * 7), to: at(420 * 7) }]
      for (const [, rules] of sample(served, 2)) {
        await list.warehouse.write([list.warehouse.db.deleteFrom('notes').compile()])
        sandbox.script(rules)
        await list.sync({ status: 'ok' }, { mode: 'backfill', ranges, lacks: null })
        expect([...(await list.live()).keys()].sort((a, b) => a - b)).toEqual(within)
      }
    })
  })
})

it('page sizes below the one that is served are coprime, descending, and none below half', () => {
  const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b))
  for (let most = 1; most <= 100; most++) {
    const sizes = sizesUpTo(most)
    expect(sizes[0]).toBe(most)
    for (const [i, size] of sizes.entries()) {
      expect(size).toBeGreaterThanOrEqual(most / 2)
      for (const other of sizes.slice(i + 1)) {
        expect(other).toBeLessThan(size)
        expect(gcd(size, other)).toBe(1)
      }
    }
    if (most > 6) expect(sizes.length).toBeGreaterThanOrEqual(3)
  }
})
