/** Stamps are in the past: a record that is dated ahead moves no watermark beyond the source's clock and ours. */
import { describe, expect, it } from 'vitest'
import { addMicros } from '../../../src/engine/base/timestamp.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { HandClock } from '../../support/world/clocks.js'
import { begin, dateless, later, TimedList } from '../../support/world/timedlist.js'

const far = '2099-01-01T00:00:00.000000Z'
const hour = 3_600_000_000n
const year = 365n * 24n * hour
const clock = new HandClock(begin)
const sandbox = await sandboxOfFile({ data: 'none', clock })

describe.each(warehouses())('$name', (kind) => {
  const list = new TimedList(sandbox, kind, clock, { overlapMs: 60_000 })
  const ahead = { status: 'ok', reason: 'future_stamps' } as const

  it('one record dated 2099 hides no later change, and is named, warned about once and counted', async () => {
    await list.begin(5)
    list.put(9, far)
    const warnings = () => list.notices.filter(([text]) => text.startsWith('Records are stamped ahead'))
    await list.sync({ ...ahead, completeness: 'proven', requests: 1, watermark: begin })
    expect(warnings()).toHaveLength(1)
    list.wait(3600)
    list.put(10, later(1800))
    await list.sync({ ...ahead, completeness: 'proven', requests: 1 })
    expect(warnings()).toEqual([])
    const { cursors } = await list.status()
    expect(cursors).toMatchObject([{ state: 'ok', stamps_ahead: { records: 1, until: far } }])
  })

  it('a stamp less than a minute ahead is not reported; both are forgotten when their time has come', async () => {
    await list.begin(5)
    list.put(8, later(59))
    await list.sync({ reason: null, watermark: begin })
    list.put(9, later(600))
    await list.sync(ahead)
    list.wait(601)
    await list.sync({ reason: null, watermark: later(600) })
    expect((await list.status()).cursors).toMatchObject([{ stamps_ahead: null }])
  })

  it.each([
    ['the source’s Date is an hour slow', -3600, 0n, later(-3600)],
    ['our clock is an hour slow', 0, -hour, later(-3600)],
    ['our clock is an hour fast', 0, hour, later(-60)],
  ])('the watermark is no later than the slower clock: %s', async (_, seconds, skew, most) => {
    await list.begin(5, seconds === 0 ? [] : [{ fault: { kind: 'skew', seconds } }])
    list.put(6, later(-60))
    clock.skew = skew
    const { watermark } = await list.sync({})
    expect(watermark?.slice(0, 19)).toBe(most.slice(0, 19))
  })

  it('a Date names a whole second: stamps within it are trusted', async () => {
    await list.begin(5)
    list.wait(0.9)
    list.put(6, later(0.5))
    await list.sync({ watermark: later(0.5) })
  })

  it.each([
    // Three pages, the first again, and the other two again.
    ['is read twice, and repaired', false, { requests: 6, watermark: begin }],
    ['is searched for a record that slips among them', true, {}],
  ])('more than a page ahead %s', async (_, slips, found) => {
    await list.begin(20)
    for (let id = 100; id < 350; id++) list.put(id, later(3600 + id))
    const off = list.onList((asked) => {
      if (!slips || asked !== 2) return
      // One record leaves the page that was read, and one arrives after it, so no total falls.
      list.remove(340)
      list.put(400, later(3600))
    })
    await list.sync({ ...ahead, completeness: 'repaired', ...found }, { lacks: null })
    off()
    expect([...(await list.live()).keys()]).toEqual(expect.arrayContaining(sandbox.store.ids(1, 'notes')))
  })

  it('records that arrive while the list is read are read too, below a record in the far future', async () => {
    await list.begin(250)
    list.put(999, far)
    const off = list.onList((_, page) => {
      if (page !== 3) return
      off()
      list.wait(60)
      for (let id = 1000; id < 1150; id++) list.put(id, addMicros(later(30), BigInt(id)))
    })
    // Without another reading: the closing pages contain all of them.
    await list.sync({ ...ahead, completeness: 'proven', watermark: begin })
  })

  it('progress with a ceiling ahead of the clocks is not resumed', async () => {
    await list.begin(350)
    list.put(999, far)
    const stop = new AbortController()
    const off = list.onList((_, page) => page === 3 && stop.abort())
    clock.skew = year
    await list.cut({ around: dateless, signal: stop.signal })
    off()
    clock.skew = 0n
    await list.sync({ status: 'ok', watermark: begin })
  })

  /** As left by a version that believed every stamp. */
  const believed = () => list.write({ watermark: far }, undefined, 'sync_cursors')

  it('a stored watermark ahead of both clocks is void: the newest sound one counts', async () => {
    await list.begin(5)
    await list.sync({})
    list.wait(7200)
    list.put(9, far)
    await list.sync({})
    await believed()
    // What that run recorded is in the past by now, but not before the start of its run.
    const { db } = list.warehouse
    const bad = String((await rowsOf(list.warehouse, 'sync_runs')).at(-1)?.run_id)
    const recorded = db.updateTable('sync_run_cursors').set({ watermark: later(9000) })
    await list.warehouse.write([recorded.where('run_id', '=', bad).compile()])
    list.wait(3600)
    list.put(10, later(1800))
    await list.sync({ status: 'ok', watermark: later(10_800), requests: 2 })
    const floors = sandbox.requests.filter(({ resource }) => resource === 'notes')
    expect(floors[1]?.updated_after).toBe('2026-02-28T22:58:59.999999Z')
  })

  it('a stored watermark ahead of both clocks is void: without a sound one everything is read', async () => {
    await list.begin(5)
    await list.sync({})
    await believed()
    await list.write({ watermark: far }, undefined, 'sync_run_cursors')
    list.put(2, later(-7000))
    await list.sync({ status: 'ok', records: 5 })
    expect(await list.isEqual()).toBe(true)
  })

  it('verify does not trust a stored watermark ahead of both clocks, and reports it', async () => {
    await list.begin(5)
    await list.sync({})
    await believed()
    list.wait(7200)
    list.put(2, later(1800))
    list.put(10, later(1800))
    await list.verify({ status: 'differs', missing: 1, outdated: 1, extra: 0 })
    expect(list.notices).toEqual([
      [
        expect.stringContaining('The watermark is ahead of the clocks'),
        { tenant_id: 1, resource: 'notes', watermark: far, walks_from: later(-3600) },
      ],
    ])
    expect(await list.cursor()).toMatchObject({ watermark: far })
  })

  it('a stored watermark ahead of our clock only is kept', async () => {
    await list.begin(5)
    list.put(6, later(-60))
    await list.sync({})
    clock.skew = -hour
    await list.sync({ status: 'ok', watermark: later(-60), records: 1 })
  })

  it.each([
    ['ours', 0n, year, undefined],
    ['ours, and the source tells no time', 0n, year, dateless],
    ['the source’s', year, -year, undefined],
    ['both', year, 0n, undefined],
    ['both, and the source tells no time', year, 0n, dateless],
  ] as const)(
    'a stamp a year ahead of a clock that is a year ahead (%s) hides nothing once the clock is right again',
    async (_, both, own, around) => {
      const told = around ? { around } : {}
      await list.begin(5)
      await list.sync({}, told)
      list.wait(3600)
      list.put(9, addMicros(begin, 2n * year))
      clock.micros += both
      clock.skew = own
      // Only the clock shows how far ahead a stamp is: the run is marked for it, and ends well.
      await list.sync(ahead, told)
      clock.micros -= both
      clock.skew = 0n
      // If both were wrong, what was found then is read again; what changes now is found each time.
      for (const id of [10, 11]) {
        list.wait(1800)
        list.put(id, later(3600 + 1800 * (id - 9) - 60))
        list.put(2, later(3600 + 1800 * (id - 9) - 30))
        await list.sync(ahead, told)
        expect(await list.isEqual()).toBe(true)
      }
      await list.verify({ status: 'equal' }, told)
    },
  )
})
