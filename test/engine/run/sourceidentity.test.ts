/**
 * A warehouse belongs to the source that its first run queried. Otherwise, rows of a sandbox would pass for rows of
 * production: the watermarks of one would vouch for the records of the other, and the run would be `proven`.
 */
import { afterAll, describe, expect, it } from 'vitest'
import { adopt } from '../../../src/features/adopt/work.js'
import { withBackfills } from '../../../src/features/backfill/tables.js'
import { makePlan } from '../../../src/features/plan/work.js'
import { replayQuarantine } from '../../../src/features/quarantine/work.js'
import { runVerify } from '../../../src/features/reconcile/verifywork.js'
import { tellWhy } from '../../../src/features/why/work.js'
import { createSandbox, type Sandbox, template } from '../../../src/sandbox/index.js'
import { depsOf, type RunOptions, sync } from '../../support/harness/runs.js'
import { refusal } from '../../support/harness/server.js'
import { statusOf } from '../../support/harness/status.js'
import {
  addLateness,
  contents,
  open,
  rowsOf,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { SkippingClock } from '../../support/world/clocks.js'

const resources = ['customers', 'notes']
const at = (minute: number): string =>
  new Date(Date.parse('2026-01-01T00:00:00Z') + minute * 60_000).toISOString()

const made: Sandbox[] = []
afterAll(() => Promise.all(made.map((sandbox) => sandbox.close())))

/** A source with `count` records of each resource, with ids from `first` up and times from `minute` on. */
async function source({ count = 20, first = 1, minute = 0, partnerId = '42' } = {}): Promise<Sandbox> {
  const sandbox = await createSandbox({ data: 'none', partnerId })
  made.push(sandbox)
  sandbox.store.addTenant({ id: 1 })
  for (const resource of resources)
    for (let id = first; id < first + count; id++)
      sandbox.store.put(1, resource, template(resource, id, at(minute + id)))
  return sandbox
}

const choice = { tenants: null, resources }
const stateOf = async (warehouse: Warehouse): Promise<unknown> => [
  await contents(warehouse),
  await rowsOf(warehouse, 'sync_cursors'),
  await rowsOf(warehouse, 'sync_runs'),
  await rowsOf(warehouse, 'sync_source'),
]

/** Everything that queries the API, each as a command would. */
const askers: [string, (sandbox: Sandbox, warehouse: Warehouse) => Promise<unknown>][] = [
  ['sync', (sandbox, warehouse) => sync(sandbox, warehouse, { resources })],
  ['sync --full', (sandbox, warehouse) => sync(sandbox, warehouse, { resources, mode: 'full' })],
  ['reconcile', (sandbox, warehouse) => sync(sandbox, warehouse, { resources, mode: 'reconcile' })],
  ['backfill', (sandbox, warehouse) => sync(sandbox, warehouse, { resources, mode: 'backfill', ranges: [] })],
  ['verify', with_((deps) => runVerify(deps, choice, { full: false, sample: 0 }))],
  ['plan', with_((deps) => makePlan(deps, { mode: 'sync', job: null, ...choice }, 0))],
  ['quarantine replay', with_((deps) => replayQuarantine(deps, choice))],
]

type Deps = Awaited<ReturnType<typeof depsOf>>['deps']

function with_(work: (deps: Deps) => Promise<unknown>, options: RunOptions = {}) {
  return async (sandbox: Sandbox, warehouse: Warehouse): Promise<unknown> => {
    const { deps, close } = await depsOf(sandbox, warehouse, options)
    return work(deps).finally(close)
  }
}

describe.each(warehouses())('on $name', (kind) => {
  it('belongs to the source of its first run, and refuses any other, whatever command it is', async () => {
    const [own, other] = [await source(), await source({ count: 5 })]
    const warehouse = await open(kind)
    await sync(own, warehouse, { resources })
    expect(await rowsOf(warehouse, 'sync_source')).toMatchObject([
      { name: 'source', base_url: own.url, partner_id: '42', probe: null },
    ])
    const before = await stateOf(warehouse)
    other.resetRequests()
    for (const [name, ask] of askers) {
      const error = await refusal(ask(other, warehouse))
      expect([name, error], name).toMatchObject([name, { name: 'Stop', exitCode: 2 }])
      expect(error.message).toContain(`belongs to the source ${own.url} (partner 42)`)
    }
    expect(other.requests).toHaveLength(0)
    expect(await stateOf(warehouse)).toEqual(before)
    // The same source, written with a slash.
    const again = await sync(own, warehouse, { resources, baseUrl: `${own.url}/` })
    expect(again).toMatchObject({ status: 'ok', requests: 3 })
    await warehouse.close()
  })

  it('refuses another partner, and another path, of the same host', async () => {
    const own = await source()
    const warehouse = await open(kind)
    await sync(own, warehouse, { resources })
    const partner = { url: own.url, secret: own.secret, partnerId: '43' }
    const path = { ...partner, partnerId: '42', url: `${own.url}/other` }
    for (const another of [partner, path])
      expect(await refusal(sync(another, warehouse, { resources }))).toMatchObject({ exitCode: 2 })
    await warehouse.close()
  })

  it('accepts no source that grants nothing: a mistyped partner is corrected without further steps', async () => {
    const [empty, own] = [await createSandbox({ data: 'none' }), await source()]
    made.push(empty)
    const warehouse = await open(kind)
    await sync(empty, warehouse, { resources })
    expect(await rowsOf(warehouse, 'sync_source')).toEqual([])
    expect(await sync(own, warehouse, { resources })).toMatchObject({ status: 'ok' })
    await warehouse.close()
  })

  it('shows its rows under another source, reports that, and does not query it', async () => {
    const [own, other] = [await source(), await source({ count: 5 })]
    const warehouse = await open(kind)
    await sync(own, warehouse, { resources })
    other.resetRequests()
    const question = { table: 'notes', id: '3', tenants: null }
    const told = (await with_((deps) => tellWhy(deps, question))(other, warehouse)) as Awaited<
      ReturnType<typeof tellWhy>
    >
    expect(told.belongs_to).toMatchObject({ base_url: own.url, configured: false })
    expect(told.rows).toMatchObject([{ state: 'live', source: { answer: 'not asked' } }])
    expect(other.requests).toHaveLength(0)
    const nowMicros = BigInt(Date.now()) * 1000n
    const asked = (by: Sandbox) => statusOf(by, warehouse, { resources, staleAfterMs: 1e9, nowMicros })
    expect(await asked(other)).toMatchObject({ healthy: false, belongs_to: { configured: false } })
    expect(await asked(own)).toMatchObject({ healthy: true, belongs_to: { configured: true } })
    await warehouse.close()
  })

  it('adopted with the same data, it keeps everything: the next run is idle', async () => {
    const [own, moved] = [await source(), await source()]
    const warehouse = await open(kind)
    await sync(own, warehouse, { resources })
    const cursors = await rowsOf(warehouse, 'sync_cursors')
    const adopted = await with_(({ source: { address }, ...deps }) => adopt(deps, address, true))(
      moved,
      warehouse,
    )
    expect(adopted).toMatchObject({ from: { base_url: own.url }, to: { base_url: moved.url }, changed: true })
    expect(await rowsOf(warehouse, 'sync_cursors')).toEqual(cursors)
    expect(await sync(moved, warehouse, { resources })).toMatchObject({ status: 'ok', requests: 3 })
    expect(await refusal(sync(own, warehouse, { resources }))).toMatchObject({ exitCode: 2 })
    await warehouse.close()
  })

  it.each([
    ['older', 0, 100],
    ['newer', 100, 0],
  ])(
    'adopted with other data, it walks everything, and reconcile --full removes what is foreign and %s',
    async (_which, ours, theirs) => {
      // Ids 11 to 20 are in both, with different times.
      const [own, other] = [
        await source({ minute: ours }),
        await source({ count: 40, first: 11, minute: theirs }),
      ]
      const warehouse = await open(kind)
      await sync(own, warehouse, { resources })
      // What a probe, an interrupted walk and backfill, and late records left behind.
      const { db } = warehouse
      const cursor = { tenant_id: 1, resource: 'notes' }
      const range = { from_at: at(0), to_at: at(9), boundary: at(5) }
      await warehouse.write([
        db
          .updateTable('sync_source')
          .set({ probe: JSON.stringify({ order: 'newest first' }), probed_at: at(0), lists_from: '1970' })
          .compile(),
        db
          .insertInto('sync_walk_parts')
          .values({ ...cursor, fills: 0, part: 9, ids: '1', entered: '' })
          .compile(),
        withBackfills(db)
          .insertInto('sync_backfills')
          .values({ ...cursor, ...range, run_id: 'x' })
          .compile(),
        ...addLateness(db, { resource: 'notes', day: at(0).slice(0, 10), way: 'walk' }, [
          { upToMs: 1, records: 1, largestMicros: 1000 },
        ]),
      ])
      await with_(({ source: { address }, ...deps }) => adopt(deps, address, false))(other, warehouse)
      for (const table of [
        'sync_cursors',
        'sync_registers',
        'sync_walk_parts',
        'sync_backfills',
        'sync_lateness',
      ])
        expect([table, await rowsOf(warehouse, table)]).toEqual([table, []])
      expect(await rowsOf(warehouse, 'sync_source')).toMatchObject([
        { base_url: other.url, probe: null, lists_from: null },
      ])
      expect(await rowsOf(warehouse, 'notes')).toHaveLength(20)

      const walked = await sync(other, warehouse, { resources })
      expect(walked.cursors).toMatchObject([{ records: 40 }, { records: 40 }])
      const mended = await sync(other, warehouse, {
        resources,
        mode: 'reconcile',
        full: true,
        acceptDeletes: true,
        // Versions that went back are requested twice, a few seconds apart.
        clock: new SkippingClock(),
      })
      expect(mended).toMatchObject({ status: 'ok', rows_deleted: 20 })
      const verified = await with_((deps) => runVerify(deps, choice, { full: true, sample: 40 }))(
        other,
        warehouse,
      )
      expect(verified).toMatchObject({ status: 'equal' })
      await warehouse.close()
    },
  )
})
