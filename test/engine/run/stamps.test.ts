/** Stamps are in the past: a record that is dated ahead moves no watermark beyond the source's clock and ours. */
import { describe, expect, it } from 'vitest'
import { addMicros } from '../../../src/engine/base/timestamp.js'
import { runVerify } from '../../../src/features/reconcile/verifywork.js'
import { template } from '../../../src/sandbox/index.js'
import type { Rule } from '../../../src/sandbox/script/rules.js'
import { depsOf, type RunOptions, type Source, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { statusOf } from '../../support/harness/status.js'
import { kept, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'
import { HandClock } from '../../support/world/clocks.js'
import { live, liveIds, only } from '../../support/world/notes.js'

const begin = '2026-03-01T00:00:00.000000Z'
const far = '2099-01-01T00:00:00.000000Z'
const clock = new HandClock(begin)
const sandbox = await sandboxOfFile({ data: 'none', clock })
const options: RunOptions = { resources: ['notes'], clock: clock.skewed, overlapMs: 60_000 }

const later = (seconds: number): string => addMicros(begin, BigInt(seconds) * 1_000_000n)
const put = (id: number, time: string): void => sandbox.store.put(1, 'notes', template('notes', id, time))
/** This many seconds later on both clocks. */
const wait = (seconds: number): void => clock.pass(seconds * 1000)

/** Records an hour apart, the newest an hour ago. */
function prepare(count: number, script: readonly Rule[] = []): void {
  clock.micros = BigInt(Date.parse(begin)) * 1000n
  clock.skew = 0n
  sandbox.reset()
  sandbox.script(script)
  sandbox.store.addTenant({ id: 1 })
  for (let id = 1; id <= count; id++) put(id, later(-3600 * (count + 1 - id)))
}

const status = (warehouse: Warehouse) => statusOf(sandbox, warehouse, { nowMicros: clock.nowMicros() })

/** The source sends no `Date`. */
const dateless = (source: Source): Source =>
  new Between(source, async (_, ask) => ({ ...(await ask()), serverDate: undefined }))

describe.each(warehouses())('$name', (kind) => {
  const place = kept(kind)
  it('one record dated 2099 hides no later change, and is named, warned about once and counted', async () => {
    prepare(5)
    put(9, far)
    const warehouse = await place.open()
    const notices: [string, Record<string, unknown>][] = []
    const first = only(await sync(sandbox, warehouse, { ...options, notices }))
    expect(first).toMatchObject({
      status: 'ok',
      completeness: 'proven',
      reason: 'future_stamps',
      requests: 1,
    })
    expect(first?.watermark).toBe(begin)
    wait(3600)
    put(10, later(1800))
    const second = await sync(sandbox, warehouse, { ...options, notices })
    expect(only(second)).toMatchObject({ completeness: 'proven', reason: 'future_stamps', requests: 1 })
    expect(await liveIds(warehouse)).toEqual([1, 2, 3, 4, 5, 9, 10])
    expect(second.status).toBe('ok')
    expect(notices.filter(([message]) => message.startsWith('Records are stamped ahead'))).toHaveLength(1)
    const [cursor] = (await status(warehouse)).cursors
    expect(cursor).toMatchObject({ state: 'ok', stamps_ahead: { records: 1, until: far } })
  })

  it('a stamp less than a minute ahead is not reported; both are forgotten when their time has come', async () => {
    prepare(5)
    put(8, later(59))
    const warehouse = await place.open()
    expect(only(await sync(sandbox, warehouse, options))).toMatchObject({ reason: null, watermark: begin })
    put(9, later(600))
    expect(only(await sync(sandbox, warehouse, options))).toMatchObject({ reason: 'future_stamps' })
    wait(601)
    expect(only(await sync(sandbox, warehouse, options))).toMatchObject({
      reason: null,
      watermark: later(600),
    })
    expect((await status(warehouse)).cursors[0]).toMatchObject({ stamps_ahead: null })
  })

  it.each([
    [
      'the source’s Date is an hour slow',
      [{ fault: { kind: 'skew', seconds: -3600 } } as const],
      0n,
      later(-3600),
    ],
    ['our clock is an hour slow', [], -3_600_000_000n, later(-3600)],
    ['our clock is an hour fast', [], 3_600_000_000n, later(-60)],
  ])('the watermark is no later than the slower clock: %s', async (_, script, skew, most) => {
    prepare(5, script)
    put(6, later(-60))
    clock.skew = skew
    const warehouse = await place.open()
    const watermark = only(await sync(sandbox, warehouse, options))?.watermark ?? ''
    expect(watermark.slice(0, 19)).toBe(most.slice(0, 19))
  })

  it('a Date names a whole second: stamps within it are trusted', async () => {
    prepare(5)
    wait(0.9)
    put(6, '2026-03-01T00:00:00.500000Z')
    const warehouse = await place.open()
    expect(only(await sync(sandbox, warehouse, options))?.watermark).toBe('2026-03-01T00:00:00.500000Z')
  })

  it('more than a page ahead is read twice, and repaired', async () => {
    prepare(20)
    for (let id = 100; id < 350; id++) put(id, later(3600 + id))
    const warehouse = await place.open()
    const report = only(await sync(sandbox, warehouse, options))
    // Three pages, the first again, and the other two again.
    expect(report).toMatchObject({ completeness: 'repaired', reason: 'future_stamps', requests: 6 })
    expect(report?.watermark).toBe(begin)
    expect(await liveIds(warehouse)).toHaveLength(270)
  })

  it('a record that slips among those ahead is found by the second reading', async () => {
    prepare(20)
    for (let id = 100; id < 350; id++) put(id, later(3600 + id))
    const warehouse = await place.open()
    let lists = 0
    const off = sandbox.onRequest(({ resource }) => {
      if (resource !== 'notes' || ++lists !== 2) return
      // One record leaves the page that was read, and one arrives after it, so no total falls.
      sandbox.store.remove(1, 'notes', 340)
      put(400, later(3600))
    })
    const report = only(await sync(sandbox, warehouse, options))
    off()
    expect(report).toMatchObject({ status: 'ok', completeness: 'repaired' })
    const here = await live(warehouse)
    for (const id of sandbox.store.ids(1, 'notes')) expect(here.has(id), String(id)).toBe(true)
  })

  it('records that arrive while the list is read are read too, below a record in the far future', async () => {
    prepare(250)
    put(999, far)
    const warehouse = await place.open()
    const off = sandbox.onRequest(({ resource, page }) => {
      if (resource !== 'notes' || page !== 3) return
      off()
      wait(60)
      for (let id = 1000; id < 1150; id++) put(id, addMicros(later(30), BigInt(id)))
    })
    const report = only(await sync(sandbox, warehouse, options))
    // Without another reading: the closing pages contain all of them.
    expect(report).toMatchObject({ completeness: 'proven', watermark: begin })
    expect(await liveIds(warehouse)).toHaveLength(401)
  })

  it('progress with a ceiling ahead of the clocks is not resumed', async () => {
    prepare(350)
    put(999, far)
    const warehouse = await place.open()
    const stop = new AbortController()
    const off = sandbox.onRequest(({ resource, page }) => {
      if (resource === 'notes' && page === 3) stop.abort()
    })
    clock.skew = 365n * 86_400_000_000n
    await sync(sandbox, warehouse, { ...options, around: dateless, signal: stop.signal })
    off()
    clock.skew = 0n
    const report = only(await sync(sandbox, warehouse, options))
    expect(report).toMatchObject({ status: 'ok', watermark: begin })
  })

  it('a stored watermark ahead of both clocks is void: the newest sound one counts', async () => {
    prepare(5)
    const warehouse = await place.open()
    await sync(sandbox, warehouse, options)
    wait(7200)
    put(9, far)
    await sync(sandbox, warehouse, options)
    // As left by a version that believed every stamp. What that run recorded is in the past by now, but not before the
    // start of its run.
    const bad = (await rowsOf(warehouse, 'sync_runs')).at(-1)?.run_id as string
    const recorded = { watermark: later(9000) }
    await warehouse.write([
      warehouse.db.updateTable('sync_cursors').set({ watermark: far }).compile(),
      warehouse.db.updateTable('sync_run_cursors').set(recorded).where('run_id', '=', bad).compile(),
    ])
    wait(3600)
    put(10, later(1800))
    sandbox.resetRequests()
    const report = only(await sync(sandbox, warehouse, options))
    expect(report).toMatchObject({ status: 'ok', watermark: later(10_800), requests: 2 })
    const floors = sandbox.requests
      .filter(({ resource }) => resource === 'notes')
      .map(({ updated_after }) => String(updated_after))
    expect(floors).toHaveLength(2)
    expect(floors[1]).toBe('2026-02-28T22:58:59.999999Z')
    expect(await liveIds(warehouse)).toEqual([1, 2, 3, 4, 5, 9, 10])
  })

  it('a stored watermark ahead of both clocks is void: without a sound one everything is read', async () => {
    prepare(5)
    const warehouse = await place.open()
    await sync(sandbox, warehouse, options)
    await warehouse.write([
      warehouse.db.updateTable('sync_cursors').set({ watermark: far }).compile(),
      warehouse.db.updateTable('sync_run_cursors').set({ watermark: far }).compile(),
    ])
    put(2, later(-7000))
    const report = only(await sync(sandbox, warehouse, options))
    expect(report).toMatchObject({ status: 'ok', records: 5 })
    expect(await live(warehouse)).toEqual(
      new Map(sandbox.store.all(1, 'notes').map(({ id, updated_at }) => [Number(id), String(updated_at)])),
    )
  })

  it('verify does not trust a stored watermark ahead of both clocks, and reports it', async () => {
    prepare(5)
    const warehouse = await place.open()
    await sync(sandbox, warehouse, options)
    await warehouse.write([warehouse.db.updateTable('sync_cursors').set({ watermark: far }).compile()])
    wait(7200)
    put(2, later(1800))
    put(10, later(1800))
    const notices: [string, Record<string, unknown>][] = []
    const { deps, close } = await depsOf(sandbox, warehouse, { ...options, notices })
    sandbox.resetRequests()
    const choice = { tenants: null, resources: ['notes'] }
    const found = await runVerify(deps, choice, { full: false, sample: 0 })
    expect(found.cursors[0]).toMatchObject({ status: 'differs', missing: 1, outdated: 1, extra: 0 })
    expect(notices).toEqual([
      [
        expect.stringContaining('The watermark is ahead of the clocks'),
        { tenant_id: 1, resource: 'notes', watermark: far, walks_from: later(-3600) },
      ],
    ])
    expect((await rowsOf(warehouse, 'sync_cursors'))[0]).toMatchObject({ watermark: far })
    await close()
  })

  const year = 365n * 86_400_000_000n
  it.each([
    ['ours', 0n, year, undefined],
    ['ours, and the source tells no time', 0n, year, dateless],
    ['the source’s', year, -year, undefined],
    ['both', year, 0n, undefined],
    ['both, and the source tells no time', year, 0n, dateless],
  ] as const)(
    'a stamp a year ahead of a clock that is a year ahead (%s) hides nothing once the clock is right again',
    async (_, both, own, around) => {
      prepare(5)
      const warehouse = await place.open()
      const asked = { ...options, ...(around && { around }) }
      await sync(sandbox, warehouse, asked)
      wait(3600)
      put(9, addMicros(begin, 2n * year))
      clock.micros += both
      clock.skew = own
      // Only the clock shows how far ahead a stamp is: the run is marked for it, and ends well.
      const ahead = only(await sync(sandbox, warehouse, asked))
      expect(ahead).toMatchObject({ status: 'ok', reason: 'future_stamps' })
      clock.micros -= both
      clock.skew = 0n
      // If both were wrong, what was found then is read again; what changes now is found each time.
      for (const id of [10, 11, 12]) {
        wait(1800)
        put(id, later(3600 + 1800 * (id - 9) - 60))
        put(2, later(3600 + 1800 * (id - 9) - 30))
        expect(only(await sync(sandbox, warehouse, asked))).toMatchObject({
          status: 'ok',
          reason: 'future_stamps',
        })
        expect(await live(warehouse)).toEqual(
          new Map(sandbox.store.all(1, 'notes').map((one) => [Number(one.id), String(one.updated_at)])),
        )
      }
      const { deps, close } = await depsOf(sandbox, warehouse, asked)
      const choice = { tenants: null, resources: ['notes'] }
      expect((await runVerify(deps, choice, { full: false, sample: 0 })).status).toBe('equal')
      await close()
    },
  )

  it('a stored watermark ahead of our clock only is kept', async () => {
    prepare(5)
    put(6, later(-60))
    const warehouse = await place.open()
    await sync(sandbox, warehouse, options)
    clock.skew = -3_600_000_000n
    const report = only(await sync(sandbox, warehouse, options))
    expect(report).toMatchObject({ status: 'ok', watermark: later(-60), records: 1 })
  })

  it('would notice a watermark that believes all stamps (mutant)', async () => {
    prepare(5)
    put(9, far)
    const warehouse = await place.open()
    const believing: RunOptions = { ...options, around: dateless }
    clock.skew = BigInt(Date.parse('2100-01-01') - Date.parse(begin)) * 1000n
    await sync(sandbox, warehouse, believing)
    wait(3600)
    put(10, later(1800))
    await sync(sandbox, warehouse, believing)
    expect(await liveIds(warehouse)).not.toContain(10)
  })
})
