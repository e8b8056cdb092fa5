/**
 * Sources that serve pages of a different size than requested, and count wrongly or not at all (docs/guarantees.md,
 * Premises): everything shown is stored, and no verdict claims more than that.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sizesUpTo } from '../../../src/engine/list/pagesize.js'
import { type Fault, type Rule, type Sandbox, template } from '../../../src/sandbox/index.js'
import { type CursorReport, type RunOptions, sync } from '../../support/harness/runs.js'
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
import { sized, someOf } from '../../support/world/size.js'
import { wipe } from '../../support/world/through.js'

type Of<K extends Fault['kind']> = Omit<Extract<Fault, { kind: K }>, 'kind'>

const when = { resource: 'notes', kind: 'list' } as const
const paging = (fault: Of<'paging'>): Rule => ({ when, fault: { kind: 'paging', ...fault } })
const total = (fault: Of<'total'>): Rule => ({ when, fault: { kind: 'total', ...fault } })
const pages = (fault: Of<'pages'>): Rule => ({ when, fault: { kind: 'pages', ...fault } })

const sandbox: Sandbox = await sandboxOfFile()

describe.each(warehouses())('$name', (kind) => {
  const clock = new HandClock('2026-03-01T12:00:00Z', 10n)
  let opened: Warehouse
  beforeAll(async () => {
    opened = await open(kind)
  })
  afterAll(() => opened.close())

  async function begun(count: number, rules: readonly Rule[] = []): Promise<Warehouse> {
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    fill(sandbox, count)
    sandbox.script(rules)
    await wipe(opened)
    return opened
  }

  async function run(warehouse: Warehouse, options: RunOptions = {}): Promise<CursorReport> {
    sandbox.resetRequests()
    const report = await sync(sandbox, warehouse, { resources: ['notes'], clock, overlapMs: 0, ...options })
    return only(report)!
  }

  const remembered = async (warehouse: Warehouse): Promise<unknown> =>
    (await rowsOf(warehouse, 'sync_cursors'))[0]?.remembered

  /** A record comes late, right before a page is answered: the run notices and stores it. */
  async function noticesLate(warehouse: Warehouse, before: number): Promise<void> {
    const off = sandbox.onRequest(({ resource, page }) => {
      if (resource === 'notes' && page === before)
        sandbox.store.put(1, 'notes', template('notes', 900, at(3)))
    })
    const report = await run(warehouse, { overlapMs: 10 ** 9 })
    off()
    expect(report).toMatchObject({ status: 'ok', completeness: 'repaired' })
    expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
    expect(await remembered(warehouse)).toBeNull()
  }

  describe('a page shorter than asked is not the last', () => {
    const counts = [
      ['a true total', 50, [], 350, 'proven'],
      ['a true total, another size', 37, [], 350, 'proven'],
      ['a true total, full to the end', 50, [], 300, 'proven'],
      ['no total', 50, [total({ remove: true })], 350, 'listed'],
      ['no total, another size', 12, [total({ remove: true })], 90, 'listed'],
      ['no total, full to the end', 50, [total({ remove: true })], 300, 'listed'],
      ['the total of the page', 50, [total({ page: true })], 350, 'listed'],
      ['the total of the page, another size', 30, [total({ page: true })], 95, 'listed'],
      ['a total that is no number', 50, [total({ as: 'many' })], 350, 'listed'],
    ] as const
    it.each(someOf(2, counts))(
      'with %s, %i per page: everything is stored',
      async (_, most, rules, count, completeness) => {
        const warehouse = await begun(count, [paging({ most, pages: 'asked' }), ...rules])
        expect(await run(warehouse)).toMatchObject({ status: 'ok', completeness, watermark: timeOf(count) })
        expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
        expect(await remembered(warehouse)).toMatchObject({ size: most })
        // Later records are read in pages of that size, with as many requests.
        fill(sandbox, 2 * most, { from: count + 1 })
        expect(await run(warehouse)).toMatchObject({ status: 'ok', completeness })
        expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
      },
    )

    it('the learned size costs no extra request, and is forgotten when a page holds more', async () => {
      const warehouse = await begun(350, [paging({ most: 50 })])
      // Seven pages, the page after the last full one, and the first page again.
      expect(await run(warehouse)).toMatchObject({ completeness: 'proven', requests: 9 })
      fill(sandbox, 120, { from: 351 })
      expect(await run(warehouse)).toMatchObject({ completeness: 'proven', requests: 4 })
      expect(await run(warehouse)).toMatchObject({ completeness: 'proven', requests: 1 })
      expect(await run(warehouse, { mode: 'full' })).toMatchObject({ completeness: 'proven', requests: 11 })
      sandbox.script([])
      expect(await run(warehouse, { mode: 'full' })).toMatchObject({ completeness: 'proven', requests: 6 })
      expect(await remembered(warehouse)).toBeNull()
    })

    it('if pages begin by the requested size, none is skipped', async () => {
      const warehouse = await begun(350, [paging({ most: 40, offset: 'asked' })])
      expect(await run(warehouse)).toMatchObject({ status: 'ok', completeness: 'proven' })
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
    })

    it('ties are cut by other sizes below the one that is served', async () => {
      const warehouse = await begun(0, [paging({ most: 50 })])
      for (let id = 1; id <= 130; id++)
        sandbox.store.put(1, 'notes', { ...template('notes', id, timeOf(1)), updated_at: timeOf(1) })
      sandbox.store.shuffleTies = true
      const cursor = await run(warehouse)
      sandbox.store.shuffleTies = false
      expect(cursor).toMatchObject({ status: 'ok', completeness: 'repaired', reason: 'ties' })
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
      const sizes = new Set(sandbox.requests.flatMap(({ url }) => /per_page=(\d+)/.exec(url)?.[1] ?? []))
      expect([...sizes].map(Number)).toEqual([100, ...sizesUpTo(50).slice(0, sizes.size - 1)])
    })

    it('a killed walk continues with the size that it had learned', async () => {
      const warehouse = await begun(350, [paging({ most: 50 })])
      const end = new AbortController()
      const off = sandbox.onRequest(({ resource, page }) => {
        if (resource === 'notes' && page === 4) end.abort()
      })
      await run(warehouse, { signal: end.signal, readAhead: 0 }).catch(() => undefined)
      off()
      expect((await liveIds(warehouse)).length).toBeGreaterThanOrEqual(100)
      const second = await run(warehouse)
      expect(second).toMatchObject({ status: 'ok', watermark: timeOf(350) })
      expect(second.requests).toBeLessThanOrEqual(11)
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
    })

    it.each([30, 50, 100])(
      'a first load of %i records requests the page past the end once',
      async (count) => {
        const warehouse = await begun(count)
        expect(await run(warehouse)).toMatchObject({ completeness: 'proven', requests: 2 })
        expect(await run(warehouse)).toMatchObject({ completeness: 'proven', requests: 1 })
        expect(await remembered(warehouse)).toBeNull()
      },
    )

    it.each([0, 20, 100, 350])(
      'for %i records without a total, an idle cursor costs two requests',
      async (count) => {
        const warehouse = await begun(count, [total({ remove: true })])
        await run(warehouse)
        expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
        const idle = await run(warehouse)
        expect(idle).toMatchObject({ status: 'ok', completeness: 'listed' })
        expect(idle.requests).toBe(count === 0 ? 1 : 2)
      },
    )

    it('a list without a total is read to its end, however long it is', async () => {
      const long = sized(1100, 2300)
      const warehouse = await begun(long, [paging({ most: 20 }), total({ remove: true })])
      expect(await run(warehouse)).toMatchObject({ status: 'ok', completeness: 'listed' })
      expect(await liveIds(warehouse)).toHaveLength(long)
    })

    it('a tenant that is revoked meanwhile does not end a list without a total', async () => {
      const warehouse = await begun(350, [
        total({ remove: true }),
        { when: { ...when, page: 3 }, after: { kind: 'revoke', tenant: 1 } },
      ])
      const cursor = await run(warehouse)
      expect(cursor).toMatchObject({ watermark: null })
      expect(cursor.completeness).toBe('unproven')
    })
  })

  describe('a total is not trusted if the last page is full', () => {
    it.each([
      ['capped at 100', 150, [total({ most: 100 })]],
      ['capped at 100, of exactly two pages', 200, [total({ most: 100 })]],
      ['capped at 300', 1203, [total({ most: 300 })]],
      ['of the page', 150, [total({ page: true })]],
      ['of the page, of many', 1203, [total({ page: true })]],
      ['capped at 100, out of order', 250, [total({ most: 100 })]],
    ] as const)('%s: everything is stored, listed', async (name, count, rules) => {
      const warehouse = await begun(count, rules)
      if (name.includes('order')) sandbox.store.collection(1, 'notes').odd.order = 'oldest'
      expect(await run(warehouse)).toMatchObject({ status: 'ok', completeness: 'listed', reason: 'no_count' })
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
      // A later increment of more than one page is also whole.
      fill(sandbox, 130, { from: count + 1 })
      expect(await run(warehouse)).toMatchObject({ status: 'ok', completeness: 'listed', reason: 'no_count' })
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
      expect(await run(warehouse, { mode: 'full' })).toMatchObject({ status: 'ok', completeness: 'listed' })
    })

    it('in an increment, after a first load of less than a page', async () => {
      const warehouse = await begun(20, [total({ page: true })])
      expect(await run(warehouse)).toMatchObject({ completeness: 'proven' })
      fill(sandbox, 150, { from: 21 })
      expect(await run(warehouse)).toMatchObject({ status: 'ok', completeness: 'listed', reason: 'no_count' })
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
    })

    it('a record that arrives while the page past the end is requested is not a wrong total', async () => {
      const warehouse = await begun(100)
      const off = sandbox.onRequest(({ resource, page }) => {
        if (resource === 'notes' && page === 2) fill(sandbox, 1, { from: 101 })
      })
      expect(await run(warehouse)).toMatchObject({ completeness: 'proven', watermark: timeOf(100) })
      off()
      expect(await run(warehouse)).toMatchObject({ completeness: 'proven', watermark: timeOf(101) })
      expect(await remembered(warehouse)).toBeNull()
    })

    it.each([
      ['the only page', 60, 1, 'proven'],
      ['the only page, which is full', 100, 1, 'proven'],
      ['the last page', 350, 4, 'repaired'],
      ['the page behind the last one', 300, 4, 'repaired'],
    ] as const)(
      'one response that counts a record too few is a slip (%s)',
      async (_, count, page, completeness) => {
        const warehouse = await begun(count, [
          { when: { ...when, page, perPage: 100 }, times: 1, fault: { kind: 'total', by: -1 } },
        ])
        expect(await run(warehouse)).toMatchObject({ status: 'ok', completeness })
        expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
        expect(await remembered(warehouse)).toBeNull()
      },
    )

    it('a record that comes late between the count of a page and the page is also a slip', async () => {
      const slip: Rule = {
        when: { ...when, page: 4, perPage: 100 },
        times: 1,
        fault: { kind: 'total', by: -1 },
      }
      const warehouse = await begun(350, [slip])
      await noticesLate(warehouse, 4)
    })

    it('a list without a total is read until nothing new comes, if pages may hide records behind ties', async () => {
      const warehouse = await begun(98, [total({ remove: true })])
      // Two records share the time at which the first page ends: the source swaps them from page to page.
      for (const id of [99, 100, 101])
        sandbox.store.put(1, 'notes', { ...template('notes', id, at(1)), updated_at: at(1) })
      const swap: Rule = {
        when: { ...when, page: 2, perPage: 100, nth: 1 },
        fault: { kind: 'alter', path: 'id', to: 101, records: 'all' },
      }
      sandbox.script([swap, total({ remove: true })])
      expect(await run(warehouse)).toMatchObject({ status: 'ok', completeness: 'listed' })
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
    })

    it('a record that comes late after a full page is read with it', async () => {
      const warehouse = await begun(100)
      await noticesLate(warehouse, 2)
    })
  })

  describe('total_pages never ends a list', () => {
    it.each(
      someOf(2, [
        ['rounded down', { floor: true }],
        ['0', { to: 0 }],
        ['1', { to: 1 }],
        ['below zero', { to: -1 }],
        ['none', { remove: true }],
      ] as const),
    )('%s: proven, without an extra request', async (_, fault) => {
      const warehouse = await begun(350, [pages(fault)])
      expect(await run(warehouse)).toMatchObject({ completeness: 'proven', requests: 5 })
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
      fill(sandbox, 129, { from: 351 })
      expect(await run(warehouse)).toMatchObject({ completeness: 'proven', requests: 3 })
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
    })

    it('where it says that pages follow, a first load looks at the next', async () => {
      const warehouse = await begun(90, [paging({ most: 40 }), total({ page: true })])
      expect(await run(warehouse)).toMatchObject({ status: 'ok', completeness: 'listed' })
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
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
    it.each(
      someOf(
        4,
        answers.flatMap(([name, fault]) => counts.map((one) => [name, one[0], fault, one] as const)),
      ),
    )('%s, the total %s: everything is stored', async (_name, _count, fault, [, rules, completeness]) => {
      const warehouse = await begun(300, [paging(fault), ...rules])
      const cursor = await run(warehouse)
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
      expect(cursor).toMatchObject({ completeness })
      expect(cursor.requests).toBeLessThan(130)
    })
  })

  describe('a count mismatch is settled after the page past the last one has shown nothing new', () => {
    it.each([
      ['total_pages rounded down', [pages({ floor: true })]],
      [
        'the limit of a page lowered for a while',
        [{ when: { ...when, page: 3, perPage: 100 }, fault: { kind: 'paging', most: 50 } }],
      ],
    ] as const)('%s', async (_, rules) => {
      const warehouse = await begun(650, rules)
      const cursor = await run(warehouse)
      expect(cursor).toMatchObject({ status: 'ok' })
      expect(cursor.reason).not.toBe('counted_not_shown')
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
    })

    it('a list that is filtered after its pages were cut is read to its last page', async () => {
      const warehouse = await begun(500)
      const { odd } = sandbox.store.collection(1, 'notes')
      for (let id = 1; id <= 500; id += 4) odd.hidden.add(id)
      // The total counts what is shown: pages follow the one at which it is reached.
      sandbox.script([total({ by: -125 })])
      const cursor = await run(warehouse)
      expect(cursor.status).toBe('ok')
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox).filter((id) => id % 4 !== 1))
    })
  })

  it.each([
    ['more than asked', { exact: 120 }],
    ['many more than asked', { exact: 1000 }],
  ] as const)('pages of %s lose nothing', async (_, fault) => {
    const warehouse = await begun(650, [paging(fault)])
    expect(await run(warehouse)).toMatchObject({ status: 'ok', completeness: 'proven' })
    expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
    fill(sandbox, 130, { from: 651 })
    expect(await run(warehouse)).toMatchObject({ status: 'ok' })
    expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
  })

  describe('a nonsense envelope ends in a named reason, and loses nothing', () => {
    it.each(
      someOf(3, [
        ['a total that is a word', [total({ as: 'many' })], 'listed', 'no_count'],
        ['a total that is a list', [total({ as: [1200] })], 'listed', 'no_count'],
        ['a total below zero', [total({ as: -1 })], 'listed', 'no_count'],
        ['a total with a fraction', [total({ as: 350.5 })], 'listed', 'no_count'],
        ['total_pages of -1', [pages({ to: -1 })], 'proven', null],
        ['pages longer than asked', [paging({ exact: 150 })], 'proven', null],
        [
          'all at once',
          [paging({ exact: 150 }), pages({ to: -1 }), total({ as: 'many' })],
          'listed',
          'no_count',
        ],
      ] as const),
    )('%s', async (_, rules, completeness, reason) => {
      const warehouse = await begun(350, rules)
      expect(await run(warehouse)).toMatchObject({ status: 'ok', completeness, reason, error: null })
      fill(sandbox, 130, { from: 351 })
      sandbox.store.remove(1, 'notes', 3)
      expect(await run(warehouse)).toMatchObject({ status: 'ok', completeness, reason, error: null })
      const reconciled = only(await reconcile(sandbox, warehouse, { clock, overlapMs: 0 }))
      expect(reconciled).toMatchObject({ status: 'ok', completeness, reason, error: null })
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
    })
  })

  describe('pages over a size that never arrive', () => {
    /** Requests of more records than this fail in that way. */
    const over = (most: number, fault: Fault = { kind: 'status', status: 502 }): Rule => ({
      when: { ...when, perPage: Array.from({ length: 100 - most }, (_, i) => most + 1 + i) },
      fault,
    })
    const sizes = (): number[] =>
      sandbox.requests.filter(({ resource }) => resource === 'notes').map(({ per_page }) => per_page ?? 0)
    const readable = async (warehouse: Warehouse): Promise<unknown> =>
      ((await remembered(warehouse)) as { readable?: unknown } | null)?.readable
    const nextDay = (): void => clock.pass(25 * 3_600_000)

    it.each(
      someOf(4, [
        ['502', { kind: 'status', status: 502 }],
        ['504', { kind: 'status', status: 504 }],
        ['413', { kind: 'status', status: 413 }],
        ['422', { kind: 'status', status: 422 }],
        ['a response that is cut off', { kind: 'cut' }],
      ] as const),
    )('%s: the size is learned once, and costs nothing from then on', async (_, fault) => {
      const warehouse = await begun(620, [over(60, fault)])
      const whole = { status: 'ok', completeness: 'proven', reason: null } as const
      const first = await run(warehouse)
      expect(first).toMatchObject({ ...whole, watermark: timeOf(620) })
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
      expect(await readable(warehouse)).toMatchObject({ size: 50 })
      // 13 pages and the first again: no page of a size that is known to fail.
      expect(await run(warehouse, { mode: 'full' })).toMatchObject({ ...whole, requests: 14 })
      expect(Math.max(...sizes())).toBe(50)
      fill(sandbox, 120, { from: 621 })
      expect(await run(warehouse)).toMatchObject({ ...whole, requests: 4 })
      expect(await run(warehouse)).toMatchObject({ ...whole, requests: 1 })
      for (const id of [3, 400, 401]) sandbox.store.remove(1, 'notes', id)
      sandbox.resetRequests()
      const compared = only(await reconcile(sandbox, warehouse, { clock, full: true }))
      expect(compared).toMatchObject({ status: 'ok', rows_deleted: 3 })
      expect(Math.max(...sizes())).toBe(50)
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
      // Listing takes 16 pages of that size, so a dozen lost rows are requested one by one.
      await lose(warehouse, [20, 80, 140, 200, 260, 320, 380, 440, 500, 560, 620, 680])
      const mended = only(await reconcile(sandbox, warehouse, { clock }))
      expect(mended).toMatchObject({ status: 'ok', reconciled: { method: 'counting', stored: 12 } })
    })

    it('a larger size is tried once a day, and is used again when it arrives', async () => {
      const warehouse = await begun(620, [over(60)])
      await run(warehouse)
      nextDay()
      expect(await run(warehouse)).toMatchObject({ status: 'ok', requests: 2 })
      expect(sizes()).toEqual([100, 50])
      expect(await run(warehouse)).toMatchObject({ status: 'ok', requests: 1 })
      sandbox.script([])
      nextDay()
      expect(await run(warehouse)).toMatchObject({ status: 'ok', requests: 2 })
      expect(await remembered(warehouse)).toBeNull()
      expect(await run(warehouse)).toMatchObject({ status: 'ok', requests: 1 })
      expect(sizes()).toEqual([100])
    })

    it('from the second page on: the pages before are not read again, and the next run knows', async () => {
      const late = { ...over(60), when: { ...over(60).when, page: [3, 4, 5, 6, 7] } }
      const warehouse = await begun(620, [late])
      expect(await run(warehouse)).toMatchObject({ status: 'ok', completeness: 'proven' })
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
      // Only the first page that failed was requested again and again.
      expect(sandbox.requests.filter(({ page, per_page }) => page === 3 && per_page === 100)).toHaveLength(4)
      expect(sandbox.requests.filter(({ page, per_page }) => page === 4 && per_page === 100)).toHaveLength(0)
      expect(await run(warehouse, { mode: 'full' })).toMatchObject({ status: 'ok', requests: 14 })
    })

    it('a walk that is cut short has learned the size, and continues with it', async () => {
      const warehouse = await begun(620, [over(60)])
      const end = new AbortController()
      const off = sandbox.onRequest(({ resource, page, perPage }) => {
        if (resource === 'notes' && page === 5 && perPage === 50) end.abort()
      })
      await run(warehouse, { signal: end.signal, readAhead: 0 }).catch(() => undefined)
      off()
      expect(await readable(warehouse)).toMatchObject({ size: 50 })
      const second = await run(warehouse)
      expect(second).toMatchObject({ status: 'ok', watermark: timeOf(620) })
      expect(Math.max(...sizes())).toBe(50)
      expect(second.requests).toBeLessThanOrEqual(16)
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
    })

    it('ties are cut by sizes below it, and below the size that is served if that is smaller', async () => {
      for (const served of sized([30], [100, 30])) {
        const warehouse = await begun(0, [over(60), paging({ most: served })])
        for (let id = 1; id <= 130; id++)
          sandbox.store.put(1, 'notes', { ...template('notes', id, timeOf(1)), updated_at: timeOf(1) })
        sandbox.store.shuffleTies = true
        await run(warehouse)
        const cursor = await run(warehouse, { mode: 'full' })
        sandbox.store.shuffleTies = false
        expect(cursor).toMatchObject({ status: 'ok', completeness: 'repaired', reason: 'ties' })
        expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
        const known = new Set([50, ...sizesUpTo(Math.min(50, served))])
        expect(sizes().filter((size) => !known.has(size))).toEqual([])
      }
    })

    it.each(
      someOf(3, [
        [25, 25],
        [49, 25],
        [12, 10],
        [5, 5],
        [2, 2],
        [1, 1],
      ] as const),
    )('of at most %i, too, the size is learned once, and larger ones are tried again', async (most, size) => {
      const warehouse = await begun(120, [over(most)])
      const whole = { status: 'ok', completeness: 'proven', reason: null } as const
      expect(await run(warehouse)).toMatchObject(whole)
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
      // Nothing is requested in vain from then on, but for one page a day.
      expect(await run(warehouse)).toMatchObject({ ...whole, requests: size === 1 ? 2 : 1 })
      const full = await run(warehouse, { mode: 'full' })
      expect(full).toMatchObject(whole)
      expect(full.requests).toBeLessThanOrEqual(Math.ceil(120 / size) + 2)
      expect(Math.max(...sizes())).toBe(size)
      nextDay()
      await run(warehouse)
      expect(sizes().filter((asked) => asked > most)).toHaveLength(1)
      sandbox.script([])
      nextDay()
      expect(await run(warehouse)).toMatchObject(whole)
      expect(await remembered(warehouse)).toBeNull()
      expect(sizes().at(-1)).toBe(100)
    })

    it('a record that breaks all pages but its own makes no other page smaller', async () => {
      const warehouse = await begun(120)
      const off = sandbox.onRequest(({ resource, page, perPage }) => {
        if (resource !== 'notes' || page === null || perPage === null) return
        // The record is the 33rd of the list.
        const isThere = (page - 1) * perPage <= 32 && page * perPage > 32
        sandbox.script(isThere && perPage > 1 ? [{ when, fault: { kind: 'status', status: 502 } }] : [])
      })
      expect(await run(warehouse, { readAhead: 0 })).toMatchObject({ status: 'ok', completeness: 'proven' })
      off()
      expect(sizes()).toContain(2)
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
      expect(await readable(warehouse)).toBeUndefined()
    })

    it('a page that fails for a while and then arrives does not make the pages smaller', async () => {
      const warehouse = await begun(620, [{ ...over(60), when: { ...over(60).when, page: 2, to: 3 } }])
      expect(await run(warehouse)).toMatchObject({ status: 'ok', completeness: 'proven' })
      expect(await remembered(warehouse)).toBeNull()
    })

    it('records that move while a page is read in smaller ones are not lost', async () => {
      const warehouse = await begun(620, [over(30)])
      // Between two of the smaller pages a record goes and others come, so that totals compared at the end don't tell.
      let asked = 0
      const off = sandbox.onRequest(({ resource, perPage }) => {
        if (resource !== 'notes' || perPage !== 10 || ++asked > 40 || asked % 7 !== 3) return
        sandbox.store.put(1, 'notes', template('notes', 1000 + asked, timeOf(1000 + asked)))
        if (asked % 2 === 0) sandbox.store.remove(1, 'notes', 620 - asked)
      })
      const report = await run(warehouse, { readAhead: 0 })
      off()
      const lost = atSource(sandbox).filter((id) => id <= 620)
      if (report.completeness !== 'unproven')
        expect((await liveIds(warehouse)).filter((id) => id <= 620)).toEqual(expect.arrayContaining(lost))
      expect(await run(warehouse)).toMatchObject({ status: 'ok' })
      expect(await liveIds(warehouse)).toEqual(expect.arrayContaining(atSource(sandbox)))
    })

    it('api.pageSize: no request asks for more, whatever is done', async () => {
      const warehouse = await begun(620, [over(40)])
      const options = { pageSize: 40, clock, overlapMs: 0 } as const
      const whole = { status: 'ok', completeness: 'proven', reason: null } as const
      expect(await run(warehouse, options)).toMatchObject({ ...whole, requests: 17 })
      fill(sandbox, 120, { from: 621 })
      expect(await run(warehouse, options)).toMatchObject({ ...whole, requests: 5 })
      for (const id of [3, 400, 401, 700]) sandbox.store.remove(1, 'notes', id)
      for (const full of [false, true])
        expect(only(await reconcile(sandbox, warehouse, { ...options, full }))).toMatchObject({
          status: 'ok',
        })
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
      const ranges = [{ from: at(100 * 7), to: at(420 * 7) }]
      expect(await run(warehouse, { ...options, mode: 'backfill', ranges })).toMatchObject({ status: 'ok' })
      expect(await remembered(warehouse)).toBeNull()
      expect(Math.max(...sandbox.requests.map(({ per_page }) => per_page ?? 0))).toBe(40)
    })
  })

  describe('a comparison', () => {
    it.each(
      someOf(4, [
        ['pages of 50', [paging({ most: 50 })]],
        ['pages of 50 that begin by the size asked for', [paging({ most: 50, offset: 'asked' })]],
        ['pages of 30 and no total', [paging({ most: 30 }), total({ remove: true })]],
        ['the total of the page', [total({ page: true })]],
        ['a total capped at 100', [total({ most: 100 })]],
      ] as const),
    )(
      'finds differences when the source serves %s, whether or not the size was learned',
      async (_, rules) => {
        for (const isLearned of [true, false]) {
          const warehouse = await begun(450, isLearned ? rules : [])
          await run(warehouse)
          sandbox.script(rules)
          for (const id of [3, 200, 201, 400]) sandbox.store.remove(1, 'notes', id)
          const cursor = only(await reconcile(sandbox, warehouse, { clock }))!
          expect([cursor.status, cursor.error]).toEqual(['ok', null])
          expect([...(await live(warehouse)).keys()].sort((a, b) => a - b)).toEqual(atSource(sandbox))
        }
      },
    )

    it('of exactly one full page checks the page after it', async () => {
      const warehouse = await begun(100)
      await run(warehouse)
      // An earlier program trusted this total; the rows are all that it had read.
      fill(sandbox, 50, { from: 101 })
      sandbox.script([{ when, fault: { kind: 'total', most: 100 } }])
      const { db } = warehouse
      await warehouse.write([
        db
          .updateTable('sync_cursors')
          .set({ watermark: timeOf(150) })
          .compile(),
      ])
      const cursor = only(await reconcile(sandbox, warehouse, { clock, overlapMs: 0 }))!
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
      expect(cursor).toMatchObject({ status: 'ok', completeness: 'listed', reason: 'no_count' })
    })
  })

  it('a backfill with pages shorter than requested is whole, or reports that it is not', async () => {
    const warehouse = await begun(700)
    await run(warehouse)
    for (const rules of [
      [paging({ most: 50, offset: 'asked' })],
      [paging({ most: 50 }), total({ remove: true })],
      [total({ most: 100 })],
      ...sized([], [[paging({ most: 50 })], [total({ page: true })]]),
    ] as const) {
      await warehouse.write([warehouse.db.deleteFrom('notes').compile()])
      sandbox.script(rules)
      const ranges = [{ from: at(100 * 7), to: at(420 * 7) }]
      const cursor = await run(warehouse, { mode: 'backfill', ranges })
      expect(cursor.status).toBe('ok')
      const within = atSource(sandbox).filter((id) => timeOf(id) >= at(700) && timeOf(id) < at(2940))
      expect(await liveIds(warehouse)).toEqual(within)
    }
  })
})

describe('page sizes below the one that is served', () => {
  it.each(Array.from({ length: 100 }, (_, i) => i + 1))(
    '%i: coprime, descending, and none below half',
    (most) => {
      const sizes = sizesUpTo(most)
      const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b))
      expect(sizes[0]).toBe(most)
      for (const [i, size] of sizes.entries()) {
        expect(size).toBeGreaterThanOrEqual(most / 2)
        for (const other of sizes.slice(i + 1)) {
          expect(other).toBeLessThan(size)
          expect(gcd(size, other)).toBe(1)
        }
      }
      if (most > 6) expect(sizes.length).toBeGreaterThanOrEqual(3)
    },
  )
})
