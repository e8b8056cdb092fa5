/**
 * Measures how late records become visible, which determines up to when a cursor is complete and how far it looks back.
 */
import { describe, expect, it } from 'vitest'
import { latenessOf, overlapOf, type Source } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { statusText } from '../../support/harness/status.js'
import { readLateness, rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'
import { HandClock } from '../../support/world/clocks.js'
import { begin, dateless, later, TimedList } from '../../support/world/timedlist.js'

const clock = new HandClock(begin)
const sandbox = await sandboxOfFile({ data: 'none', clock })
const day = 86_400

/** Each page takes ten seconds. */
const slowly = (source: Source): Source =>
  new Between(source, (_, ask) => {
    clock.pass(10_000)
    return ask()
  })

describe.each(warehouses())('$name', (kind) => {
  const list = new TimedList(sandbox, kind, clock, { overlapMs: 600_000 })
  const orders = new TimedList(sandbox, kind, clock, { overlapMs: 300_000 }, 'repair_orders')

  /** Five records, a first load, and a minute. */
  async function followed(newest?: number): Promise<void> {
    await list.begin(5)
    if (newest !== undefined) list.put(6, later(newest))
    await list.sync({})
    list.wait(60)
  }
  const measured = async () => latenessOf(await readLateness(list.warehouse, later(0))).get('notes')
  const noneLate = async (): Promise<void> => expect((await measured())?.largestMicros ?? 0).toBe(0)
  const expectCursor = async (columns: object): Promise<void> =>
    expect(await list.cursor()).toMatchObject(columns)

  it('complete_through moves with every walk, even if the list does not change', async () => {
    await list.begin(5)
    await list.sync({})
    await expectCursor({ complete_through: later(-1), watermark: later(-3600) })
    list.wait(7200)
    await list.sync({ requests: 1, rows_upserted: 0 })
    // The first load has seen everything there is; later walks don't see deletions.
    const checked = { complete_through_before: null, deletes_checked_at: later(0) }
    await expectCursor({ complete_through: later(7199), ...checked })
  })

  it('a first load does not check for deletions if there were rows here, or if it was not proven', async () => {
    await list.begin(5)
    await list.sync({})
    await list.write({ watermark: null, deletes_checked_at: null }, undefined, 'sync_cursors')
    await list.sync({ completeness: 'proven' })
    await expectCursor({ deletes_checked_at: null })
    await list.begin(5)
    const uncounted = (source: Source): Source =>
      new Between(source, async (_request, ask) => ({ ...(await ask()), total: undefined }) as never)
    await list.sync({ completeness: 'unproven' }, { around: uncounted })
    await expectCursor({ deletes_checked_at: null })
  })

  it.each([
    ['the source’s clock', 30, true, -1],
    ['our clock, where that is behind the source’s', -3600, true, -3601],
    ['our clock, where the source sends no Date', 30, false, 29],
  ])('complete_through begins at %s', async (_, skew, isDated, through) => {
    await list.begin(5)
    clock.skew = BigInt(skew) * 1_000_000n
    await list.sync({}, isDated ? {} : { around: dateless })
    await expectCursor({ complete_through: later(through) })
  })

  it('a walk that takes some time is complete through its first response', async () => {
    await followed()
    for (let id = 100; id < 250; id++) list.put(id, later(1))
    await list.sync({}, { around: slowly, readAhead: 0 })
    await expectCursor({ walked_at: later(70), complete_through: later(59) })
  })

  it('a record that comes late is measured, sets complete_through back, and shows in status', async () => {
    await followed(-1)
    // In time, and 100 seconds late.
    list.put(7, later(30))
    list.put(8, later(-100))
    await list.sync({})
    expect(await measured()).toMatchObject({ records: 2, largestMicros: 100_000_000 })
    const { cursors, lateness } = await list.status()
    expect(cursors).toMatchObject([{ complete_through: later(-40), complete_through_before: later(-1) }])
    expect(lateness).toMatchObject([{ resource: 'notes', records: 2, largest_seconds: 100 }])
    // Anything older than thirty days doesn't count.
    expect(await readLateness(list.warehouse, later(31 * day))).toEqual([])
    list.wait(3600)
    await list.sync({})
    await expectCursor({ complete_through: later(3560), complete_through_before: null })
  })

  it('records that came back from deletion, or that an unproven walk left out, are not late', async () => {
    await list.begin(5)
    list.put(6, later(-1))
    await list.sync({})
    list.remove(5)
    await list.reconcile({})
    list.wait(60)
    list.put(5, later(-50))
    await list.sync({})
    await noneLate()
    await list.write({ status: 'failed', completeness: 'unproven' }, undefined, 'sync_cursors')
    list.put(9, later(-40))
    await list.sync({})
    await noneLate()
  })

  it('records that were counted but not shown, or lost and read again with the whole list, are not late', async () => {
    await followed()
    await list.lose(3)
    await list.full({ rows_upserted: 1 })
    list.wait(60)
    list.put(6, later(10))
    list.odd.hidden.add(6)
    await list.sync({ reason: 'counted_not_shown' }, { lacks: [6] })
    list.wait(60)
    list.odd.heal()
    await list.sync({ rows_upserted: 1 })
    await noneLate()
  })

  it('for a list that shows a record twice, lateness is measured as for any other', async () => {
    await list.begin(5)
    list.odd.twice.set(3, 1)
    await list.sync({ reason: 'listed_twice' })
    list.wait(60)
    list.put(6, later(-100))
    await list.sync({})
    expect(await measured()).toMatchObject({ largestMicros: 100_000_000 })
  })

  it('reconcile reports when deletions were checked, and records that only it found are counted separately', async () => {
    const soon = { overlapMs: 1000 }
    await followed()
    list.put(6, later(-7200))
    await list.reconcile({}, { ...soon, around: slowly })
    // Its two pages are answered ten seconds apart.
    await expectCursor({ deletes_checked_at: later(60) })
    const reconciled = { records: 1, largestMicros: 7_270_000_000 }
    expect(await measured()).toMatchObject({ records: 0, reconciled })
    list.wait(60)
    await list.sync({}, soon)
    await expectCursor({ complete_through: later(140 - 7270) })
  })

  it.each([
    ['notes', list],
    ['repair_orders', orders],
  ])('%s may lack late records until a reading of the whole list finds none', async (resource, own) => {
    const expectSaid = async (words: string): Promise<void> =>
      expect(statusText(await own.status({ deletesUncheckedAfterMs: 30 * day * 1000 }))).toContain(words)
    const doubted = (since: string): string => `${resource} may lack late records since ${since}`
    const lately = { overlapMs: 300_000 }
    await own.begin(5)
    await own.sync({}, lately)
    await expectSaid('all fresh')
    own.wait(day)
    own.put(9, later(-3 * day))
    // At once, after each walk that looks back less far, and even if those have caught up with what was claimed before.
    await own.reconcile({}, lately)
    await expectSaid(`${doubted('Feb 26')}; every cursor`)
    own.wait(3600)
    await own.sync({}, lately)
    await expectSaid(`${doubted('Feb 26')}; every cursor`)
    own.wait(6 * day)
    await own.sync({}, lately)
    await expectSaid(doubted('Mar 4'))
    await own.sync({}, { ...lately, mode: resource === 'notes' ? 'reconcile' : 'full' })
    await expectSaid('all fresh')
    own.wait(3600)
    await own.sync({}, lately)
    await expectSaid('all fresh')
  })

  it.each<[name: string, away: () => unknown, back: () => unknown]>([
    ['undeleted', () => list.remove(2), () => list.put(2, later(-14_400))],
    [
      'listed again',
      () => list.odd.archived.add(2),
      () => {
        list.odd.heal()
        list.put(2, later(-8000))
      },
    ],
    [
      'undeleted with a backup',
      () => {},
      () => {
        list.put(9, later(-3 * day))
        list.put(5, later(-30 * day))
      },
    ],
  ])('a record that was %s is not late', async (_, away, back) => {
    const soon = { overlapMs: 1000 }
    await followed()
    away()
    await list.reconcile({}, soon)
    list.wait(60)
    back()
    const { reconciled } = await list.reconcile({}, soon)
    expect(reconciled).not.toMatchObject({ stored: 0, went_back: 0 })
    expect((await measured())?.reconciled.records ?? 0).toBe(0)
  })

  it('neither are rows that vanished from the warehouse, or records with a stamp before 1970', async () => {
    await list.begin(300)
    await list.sync({})
    // One is requested by its id; for thirty, a list of everything costs less.
    for (const lost of [[2], Array.from({ length: 30 }, (_, i) => 7 * (i + 1))]) {
      await list.lose(...lost)
      list.wait(60)
      await list.reconcile({ status: 'ok', reconciled: { stored: lost.length } })
    }
    list.put(400, '0001-01-01T00:00:00.000000Z')
    await list.reconcile({ reconciled: { stored: 1 } })
    expect(await rowsOf(list.warehouse, 'sync_lateness')).toEqual([])
  })
})

it('of a thousand records, status shows how late 999 were at most, and how late the latest was', () => {
  const bucket = (records: number, upToMs: number) =>
    ({ resource: 'notes', way: 'walk', records, upToMs, largestMicros: upToMs * 900 }) as const
  const rows = [bucket(1, 65_536), bucket(1, 1024), bucket(998, 0)]
  const shown = { mostMicros: 1_024_000, largestMicros: 58_982_400 }
  expect(latenessOf(rows).get('notes')).toMatchObject(shown)
})

const of = (records: number, seconds: number, way: 'walk' | 'reconcile' = 'walk') => ({
  resource: 'notes',
  day: '',
  upToMs: 1,
  way,
  records,
  largestMicros: seconds * 1e6,
})
it.each([
  ['is five minutes while nothing is known', [], 300],
  ['is five minutes until a thousand records were seen', [of(999, 1)], 300],
  ['is twice the largest of a thousand, even before', [of(999, 400)], 800],
  ['is twice the largest', [of(1000, 45)], 90],
  ['is a minute at least', [of(1000, 1)], 60],
  ['is six hours at most', [of(1000, 86_400)], 21_600],
  ['is doubled when reconcile brings a late record', [of(1000, 45), of(1, 9000, 'reconcile')], 180],
])('the overlap "auto" %s', (_, rows, seconds) => {
  expect(overlapOf('auto', latenessOf(rows), 'notes')).toBe(seconds * 1000)
})
