/**
 * Lists that break a premise of the books (docs/guarantees.md, Premises). Each ends with its reason and its verdict,
 * everything shown is stored, and the next run costs as much as without the anomaly.
 */
import { describe, expect, it } from 'vitest'
import type { Source } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { statusLines, statusOf } from '../../support/harness/status.js'
import { warehouses } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'
import { at, timeOf } from '../../support/world/notes.js'
import {
  asListed,
  atMost,
  day,
  OneList,
  proven,
  repaired,
  total,
  unproven,
} from '../../support/world/onelist.js'

const sandbox = await sandboxOfFile()

describe.each(warehouses())('$name', (kind) => {
  const list = new OneList(sandbox, kind, { overlapMs: 60_000 })

  /** What `status` says about the list: in its document, and in its lines. */
  async function expectStatus(odd: object, ...lines: unknown[]): Promise<void> {
    const report = await statusOf(sandbox, list.warehouse, { nowMicros: list.clock.nowMicros() })
    expect(report.cursors[0]?.odd).toMatchObject(odd)
    expect(statusLines(report)).toEqual(lines)
  }

  describe('a list that is not newest first', () => {
    const order = { ...repaired, reason: 'order' } as const
    const disordered = { ...unproven, reason: 'order', watermark: null } as const

    it.each(['oldest', 'id', 'seconds'] as const)(
      'by %s: is read to its end, repaired at best',
      async (by) => {
        await list.begin(0)
        // Five records per second, whose order by id is reversed.
        const put = (from: number, to: number): void => {
          for (let id = from; id <= to; id++) list.put(id, at(Math.floor(id / 5), (id % 5) * 100))
        }
        put(1, 350)
        list.odd.order = by
        await list.sync({ ...order, requests: 5 })
        put(351, 390)
        await list.sync(order)
      },
    )

    it('is also noticed after its first page', async () => {
      await list.begin(0)
      for (let id = 1; id <= 350; id++)
        list.put(id, id <= 200 ? at(Math.floor(id / 5), (id % 5) * 100) : at(id))
      list.odd.order = 'seconds'
      await list.sync(order)
    })

    it('that loses a record while it is read is unproven, unless another reading closes', async () => {
      await list.begin(350)
      list.odd.order = 'id'
      let lost = 0
      list.onList((_, page) => page === 3 && list.remove(++lost))
      await list.sync(disordered, { lacks: null })
    })

    it('that counts a record but never shows it is unproven', async () => {
      await list.begin(350)
      list.odd.order = 'oldest'
      list.odd.hidden.add(120)
      // Between two readings: a record that is gone must not make up for the one that isn't shown.
      list.onList((asked) => asked === 6 && list.remove(5))
      await list.sync(disordered, { lacks: null })
    })

    it('with a different order in each response is whole if its readings together are, and forgotten when a whole walk is in order', async () => {
      await list.begin(350)
      const off = list.onList((asked) => {
        list.odd.order = asked % 2 === 0 ? 'newest' : 'oldest'
      })
      await list.sync({ ...order, requests: 10 })
      off()
      list.odd.order = 'newest'
      await list.sync(order)
      await list.full(proven)
      await list.sync({ ...proven, requests: 1 })
    })
  })

  it('a list that never stops changing is unproven but stored, and the next run reads it again', async () => {
    await list.begin(150)
    const off = list.onList((asked) => list.put(1000 + asked, at(50_000 + asked)))
    await list.sync({ ...unproven, reason: 'moving', watermark: null }, { pageSizes: [100], lacks: null })
    off()
    expect((await list.live()).size).toBeGreaterThan(150)
    await list.sync(proven)
  })

  describe('an id that is listed twice', () => {
    const twice = { ...repaired, reason: 'listed_twice', watermark: timeOf(350) } as const

    it.each([
      ['beside itself on one page', 200, 0, 5],
      // 351 - 100: the last record of the first page.
      ['where two pages meet', 251, 0, 10],
    ] as const)('%s: repaired, and the next run is cheap', async (_, id, apart, most) => {
      await list.begin(350)
      list.odd.twice.set(id, apart)
      await list.sync({ ...twice, requests: atMost(most) })
      await list.sync({ ...repaired, requests: 1 })
    })

    it('at two times: a second reading settles it, and a later whole walk needs only one', async () => {
      await list.begin(350)
      const again = { ...sandbox.store.stored(1, 'notes', 300)!, updated_at: timeOf(20) }
      sandbox.store.put(1, 'notes', again, { key: 9000 })
      await list.sync({ ...twice, requests: 10 }, { lacks: [9000] })
      await list.sync({ status: 'ok', requests: 1 }, { lacks: [9000] })
      await list.full({ reason: 'listed_twice', requests: 5 }, { lacks: [9000] })
      await expectStatus({ listed_twice: 1 }, '! tenant 1, notes: the list shows a record twice in 1 place')
      list.remove(9000)
      await list.full({ ...proven, requests: 5 })
    })
  })

  describe('a record that is counted and never shown', () => {
    const hidden = { reason: 'counted_not_shown' } as const
    const lacks = [120]

    it('is searched for once; then runs cost as much as without it, until another day settles it', async () => {
      await list.begin(350)
      list.odd.hidden.add(120)
      // Two readings of five requests, and the page past the end, where the missing record might be.
      await list.sync({ ...unproven, ...hidden, watermark: timeOf(350), requests: 11 }, { lacks })
      list.add(20, 351)
      expect(await list.cursor()).toMatchObject({ complete_through: null })
      await list.sync({ ...unproven, ...hidden, watermark: timeOf(370), requests: 1 }, { lacks })
      list.clock.pass(day)
      // One reading of everything, once a day, and the page after it.
      await list.sync({ ...asListed, ...hidden, requests: 6 }, { lacks })
      await list.sync({ ...asListed, requests: 1 }, { lacks })
      list.odd.heal()
      list.clock.pass(day)
      await list.sync({ ...proven, requests: 5 })
      await list.remembers(null)
    })

    it.each([
      ['half of the list', 175, 'unproven'],
      ['a fifth and one more', 71, 'unproven'],
      ['a fifth', 70, 'listed'],
    ] as const)('if that is %s: another day makes it %s', async (_, count, completeness) => {
      await list.begin(350)
      const ids = Array.from({ length: count }, (_, i) => i + 1)
      for (const id of ids) list.odd.hidden.add(id)
      await list.sync({ ...unproven, ...hidden }, { lacks: ids })
      list.clock.pass(day)
      for (let i = 0; i < 2; i++) await list.sync({ completeness, ...hidden }, { lacks: ids })
    })

    it('because every page behind the first is empty: no number of searches makes it a success', async () => {
      await list.begin(350)
      const around = (source: Source): Source =>
        new Between(source, async ({ page }, ask) => {
          const answer = await ask()
          return page > 1 ? { ...answer, records: [], tokens: () => [] } : answer
        })
      for (let i = 0; i < 4; i++) {
        await list.sync({ ...unproven, ...hidden }, { around, lacks: null })
        list.clock.pass(day)
      }
      for (const mode of ['full', 'reconcile'] as const)
        await list.sync(unproven, { mode, full: true, around, lacks: null })
      list.clock.pass(day)
      await list.sync(proven)
      await list.remembers(null)
    })

    it('that is the only one leaves no watermark, and what comes after it arrives', async () => {
      await list.begin(1)
      list.odd.hidden.add(1)
      for (const mode of ['sync', 'sync', 'full'] as const)
        await list.sync({ ...unproven, ...hidden, watermark: null }, { mode, lacks: [1] })
      list.clock.pass(day)
      await list.sync({ ...asListed, ...hidden, watermark: null }, { lacks: [1] })
      expect(await list.cursor()).toMatchObject({ watermark: null })
      list.add(3, 2)
      await list.sync({ ...asListed, watermark: timeOf(4) }, { lacks: [1] })
    })

    it('is in every count, whatever it covers: an idle run is still one request', async () => {
      await list.begin(350, [total({ by: 1 })])
      await list.sync({ ...unproven, ...hidden })
      await list.sync({ ...hidden, requests: 1 })
      list.add(150, 351)
      await list.sync({ requests: 3, watermark: timeOf(500) })
      list.clock.pass(day)
      await list.sync(asListed)
    })

    it('in a list of more than 50 pages is left to reconcile --full', async () => {
      await list.begin(350)
      list.odd.hidden.add(120)
      await list.sync(hidden, { lacks })
      const { db } = list.warehouse
      const row = (id: number) => ({ tenant_id: 1, id, updated_at: timeOf(1), _synced_at: timeOf(1) })
      for (let id = 1000; id < 6000; id += 1000) {
        const rows = Array.from({ length: 1000 }, (_, i) => row(id + i))
        await list.warehouse.write([db.insertInto('notes').values(rows).compile()])
      }
      list.clock.pass(day)
      await list.sync({ ...hidden, requests: 1 }, { lacks: null })
    })

    it('is searched for again if there are more than were known', async () => {
      await list.begin(350)
      list.odd.hidden.add(120)
      await list.sync(hidden, { lacks })
      list.odd.hidden.add(121)
      list.clock.pass(day)
      await list.sync({ status: 'failed', ...hidden }, { lacks: null })
      await list.remembers({ surplus: { total: 350, shown: 348, searches: 1 } })
      await expectStatus(
        { not_shown: 2, listed_twice: 0, unreadable: 0, holes: [] },
        '! tenant 1, notes: the list counts 2 records that it never shows',
      )
    })

    it('is told from one that ties hide in two readings alike, behind another that is shown again', async () => {
      await list.begin(350)
      // One time from the 90th place to the 110th: pages of 100 and of 97 split it, pages of 89 don't.
      for (let id = 241; id <= 261; id++) list.put(id, timeOf(250))
      let isParted = true
      list.onList((_asked, _page, perPage) => {
        isParted = perPage === 100 || perPage === 97
      })
      list.odd.hidden.add(0)
      let again: unknown
      list.odd.shown = (page) => {
        again = page.find(({ key }) => key === 260) ?? again
        return page.map((entry) => (entry.key === 250 && isParted ? (again as typeof entry) : entry))
      }
      await list.sync({ ...repaired, reason: 'read_again' })
    })

    it('among ties with a different order in each response ends after one long search', async () => {
      await list.begin(0)
      sandbox.store.shuffleTies = true
      for (let id = 1; id <= 150; id++) list.put(id, timeOf(1))
      list.odd.hidden.add(120)
      await list.sync({ ...hidden, watermark: timeOf(1) }, { lacks })
    })
  })

  describe('a record that breaks every response that contains it', () => {
    const unreadable = { ...unproven, reason: 'unreadable' } as const

    it.each([
      ['in the middle', 130],
      ['the last of its page', 251],
      ['the first of its page', 250],
      ['the oldest', 1],
    ])(
      '%s: all others are stored, it is retried with two requests, and the run reports it until it heals',
      async (_, id) => {
        await list.begin(350)
        list.odd.poisoned.add(id)
        await list.sync({ ...unreadable, watermark: timeOf(350) }, { lacks: [id] })
        await list.remembers({ holes: [{ records: 1 }] })
        list.add(20, 351)
        await list.sync({ ...unreadable, watermark: timeOf(370), requests: atMost(3) }, { lacks: [id] })
        list.odd.heal()
        await list.sync(proven)
        await list.remembers(null)
        await list.sync({ status: 'ok', requests: 1 })
      },
    )

    it('within the overlap: the list is not read again for it, and late records there are found when it closes', async () => {
      await list.begin(350)
      list.odd.poisoned.add(347)
      await list.sync({ ...unreadable, watermark: timeOf(350) }, { lacks: [347] })
      list.put(900, at(346 * 7))
      list.add(20, 351)
      await list.sync({ requests: atMost(3) }, { lacks: [347, 900] })
      list.odd.heal()
      // The run ends after it has found the hole closed, and before its walk has read the list.
      const killed = new AbortController()
      const off = list.onList((asked) => asked === 3 && killed.abort())
      await list.cut({ signal: killed.signal })
      off()
      await list.expectLacks([900])
      await list.sync(proven)
    })

    it('the newest: what comes after it arrives', async () => {
      await list.begin(350)
      list.odd.poisoned.add(350)
      await list.sync({ ...unreadable, watermark: timeOf(349) }, { lacks: [350] })
      await list.sync({ requests: atMost(3) }, { lacks: [350] })
      // The source stamps with the time of its responses, so a record that it stamps now comes after the hole.
      list.put(351, '2027-01-01T00:00:00Z')
      await list.sync({ requests: atMost(3) }, { lacks: [350] })
      list.odd.heal()
      await list.sync({ status: 'ok', completeness: 'proven' })
    })

    it('that is deleted, or moves to the top and works there, leaves no hole', async () => {
      await list.begin(350)
      for (const id of [100, 200]) list.odd.poisoned.add(id)
      await list.sync(unreadable, { lacks: [100, 200] })
      await expectStatus(
        { unreadable: 2, holes: [{ records: 1 }, { records: 1 }] },
        expect.stringMatching(
          /the list has 2 records that no response shows, the first between 2026-.* and 2026-/,
        ),
      )
      list.remove(100)
      list.odd.heal([200])
      list.put(200, timeOf(500))
      await list.sync({}, { lacks: null })
      await list.sync({ status: 'ok', completeness: 'proven' })
    })

    it('that other records push back while it is retried stays a hole', async () => {
      await list.begin(350)
      list.odd.poisoned.add(130)
      await list.sync(unreadable, { lacks: [130] })
      // The list is counted first, and then read past the place where the record was.
      const off = list.onList((asked) => asked === 2 && list.add(30, 351))
      await list.sync(unreadable, { lacks: null })
      off()
      list.odd.heal()
      await list.sync({ status: 'ok', completeness: 'proven' })
    })

    it.each([100, 200])(
      'of two, the one that answers again, %i, is retried within two runs',
      async (healed) => {
        await list.begin(350)
        for (const id of [100, 200]) list.odd.poisoned.add(id)
        await list.sync(unreadable, { lacks: [100, 200] })
        list.odd.heal([healed])
        for (let i = 0; i < 2; i++) await list.sync(unreadable, { lacks: null })
        await list.remembers({ holes: [{ records: 1 }] })
        await list.expectLacks([300 - healed])
      },
    )

    it('in many places on one page, or in a source that answers nothing at all, is a failure of the source, not a hole', async () => {
      await list.begin(350)
      const unreachable = { status: 'failed', reason: 'unreachable', watermark: null } as const
      for (const id of [255, 265, 275, 285, 295]) list.odd.poisoned.add(id)
      await list.sync(unreachable, { lacks: null })
      await list.remembers(null)
      await list.begin(350, [
        { when: { resource: 'notes', from: 3 }, fault: { kind: 'status', status: 500 } },
      ])
      await list.sync(unreachable, { lacks: null })
      await list.remembers(null)
      sandbox.script([])
      await list.sync({ status: 'ok' })
    })
  })
})
