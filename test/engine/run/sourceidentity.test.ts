/**
 * A warehouse belongs to the source that its first run queried. Otherwise, rows of a sandbox would pass for rows of
 * production: the watermarks of one would vouch for the records of the other, and the run would be `proven`.
 */
import { beforeEach, describe, expect, it } from 'vitest'
import { type Sandbox, template } from '../../../src/sandbox/index.js'
import { adoptBy, plan, replay, verify, why } from '../../support/harness/commands.js'
import { type RunOptions, sync, type Target } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { refusal } from '../../support/harness/server.js'
import { statusOf } from '../../support/harness/status.js'
import {
  addLateness,
  contents,
  kept,
  rowsOf,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { SkippingClock } from '../../support/world/clocks.js'

const resources = ['customers', 'notes']
const at = (minute: number): string =>
  new Date(Date.parse('2026-01-01T00:00:00Z') + minute * 60_000).toISOString()

const own = await sandboxOfFile({ data: 'none', partnerId: '42' })
const other = await sandboxOfFile({ data: 'none', partnerId: '42' })
const empty = await sandboxOfFile({ data: 'none' })

/** The source has `count` records of each resource, with ids from `first` up and times from `minute` on. */
function fill({ store }: Sandbox, { count = 20, first = 1, minute = 0 } = {}): void {
  store.addTenant({ id: 1 })
  for (const resource of resources)
    for (let id = first; id < first + count; id++)
      store.put(1, resource, template(resource, id, at(minute + id)))
}

const run = (source: Target, warehouse: Warehouse, options: RunOptions = {}) =>
  sync(source, warehouse, { resources, ...options })

/** Everything that queries the API, each as a command would. */
const askers: [string, (source: Target, warehouse: Warehouse) => Promise<unknown>][] = [
  ['sync', run],
  ['sync --full', (...given) => run(...given, { mode: 'full' })],
  ['reconcile', (...given) => run(...given, { mode: 'reconcile' })],
  ['backfill', (...given) => run(...given, { mode: 'backfill', ranges: [] })],
  ['verify', (...given) => verify(...given, { resources })],
  ['plan', (...given) => plan(...given, { resources })],
  ['quarantine replay', (...given) => replay(...given, { resources })],
]

describe.each(warehouses())('on $name', (kind) => {
  const place = kept(kind)
  let warehouse: Warehouse
  beforeEach(async () => {
    for (const sandbox of [own, other]) sandbox.reset()
    warehouse = await place.open()
  })
  const refuses = async (source: Target): Promise<void> =>
    expect(await refusal(run(source, warehouse))).toMatchObject({ exitCode: 2 })

  it('belongs to the source of its first run, and refuses any other, whatever command it is', async () => {
    fill(own)
    fill(other, { count: 5 })
    await run(own, warehouse)
    const owner = { name: 'source', base_url: own.url, partner_id: '42', probe: null }
    expect(await rowsOf(warehouse, 'sync_source')).toMatchObject([owner])
    const state = async (): Promise<unknown> => [
      await contents(warehouse),
      await rowsOf(warehouse, 'sync_cursors'),
      await rowsOf(warehouse, 'sync_runs'),
      await rowsOf(warehouse, 'sync_source'),
    ]
    const before = await state()
    other.resetRequests()
    for (const [name, ask] of askers) {
      const error = await refusal(ask(other, warehouse))
      expect([name, error], name).toMatchObject([name, { name: 'Stop', exitCode: 2 }])
      expect(error.message).toContain(`belongs to the source ${own.url} (partner 42)`)
    }
    // Another partner, and another path, of the same host.
    const { url, secret, partnerId } = own
    await refuses({ url, secret, partnerId: '43' })
    await refuses({ url: `${url}/other`, secret, partnerId })
    expect(other.requests).toHaveLength(0)
    expect(await state()).toEqual(before)
    // The same source, written with a slash.
    const again = await run(own, warehouse, { baseUrl: `${url}/` })
    expect(again).toMatchObject({ status: 'ok', requests: 3 })
    // It shows its rows under another source, reports that, and does not query it.
    other.resetRequests()
    const told = await why(other, warehouse, { id: 3 })
    expect(told.belongs_to).toMatchObject({ base_url: url, configured: false })
    expect(told.rows).toMatchObject([{ state: 'live', source: { answer: 'not asked' } }])
    expect(other.requests).toHaveLength(0)
    const settings = { resources, staleAfterMs: 1e9, nowMicros: BigInt(Date.now()) * 1000n }
    for (const [by, isOwner] of [
      [other, false],
      [own, true],
    ] as const) {
      const shown = { healthy: isOwner, belongs_to: { configured: isOwner } }
      expect(await statusOf(by, warehouse, settings)).toMatchObject(shown)
    }
  })

  it('accepts no source that grants nothing: a mistyped partner is corrected without further steps', async () => {
    fill(own)
    await run(empty, warehouse)
    expect(await rowsOf(warehouse, 'sync_source')).toEqual([])
    expect(await run(own, warehouse)).toMatchObject({ status: 'ok' })
  })

  it('adopted with the same data, it keeps everything: the next run is idle', async () => {
    fill(own)
    fill(other)
    await run(own, warehouse)
    const cursors = await rowsOf(warehouse, 'sync_cursors')
    const adopted = await adoptBy(other, warehouse, { keeps: true })
    const between = { from: { base_url: own.url }, to: { base_url: other.url } }
    expect(adopted).toMatchObject({ ...between, changed: true })
    expect(await rowsOf(warehouse, 'sync_cursors')).toEqual(cursors)
    expect(await run(other, warehouse)).toMatchObject({ status: 'ok', requests: 3 })
    await refuses(own)
  })

  it.each([
    ['older', 0, 100],
    ['newer', 100, 0],
  ])(
    'adopted with other data, it walks everything, and reconcile --full removes what is foreign and %s',
    async (_which, ours, theirs) => {
      // Ids 11 to 20 are in both, with different times.
      fill(own, { minute: ours })
      fill(other, { count: 40, first: 11, minute: theirs })
      await run(own, warehouse)
      // What a probe, an interrupted walk, and late records left behind.
      const { db } = warehouse
      const probed = {
        probe: JSON.stringify({ order: 'newest first' }),
        probed_at: at(0),
        lists_from: '1970',
      }
      const part = { tenant_id: 1, resource: 'notes', fills: 0, part: 9, ids: '1', entered: '' }
      const late = { resource: 'notes', day: at(0).slice(0, 10), way: 'walk' } as const
      await warehouse.write([
        db.updateTable('sync_source').set(probed).compile(),
        db.insertInto('sync_walk_parts').values(part).compile(),
        ...addLateness(db, late, [{ upToMs: 1, records: 1, largestMicros: 1000 }]),
      ])
      await adoptBy(other, warehouse)
      for (const table of ['sync_cursors', 'sync_registers', 'sync_walk_parts', 'sync_lateness'])
        expect([table, await rowsOf(warehouse, table)]).toEqual([table, []])
      const owner = { base_url: other.url, probe: null, lists_from: null }
      expect(await rowsOf(warehouse, 'sync_source')).toMatchObject([owner])
      expect(await rowsOf(warehouse, 'notes')).toHaveLength(20)
      const walked = await run(other, warehouse)
      expect(walked.cursors).toMatchObject([{ records: 40 }, { records: 40 }])
      // Versions that went back are requested twice, a few seconds apart.
      const all = { full: true, acceptDeletes: true, clock: new SkippingClock() }
      const mended = await run(other, warehouse, { mode: 'reconcile', ...all })
      expect(mended).toMatchObject({ status: 'ok', rows_deleted: 20 })
      const verified = await verify(other, warehouse, { resources, full: true, sample: 40 })
      expect(verified).toMatchObject({ status: 'equal' })
    },
  )
})
