/** Stamps before 1970, such as .NET's 0001-01-01, are valid: a first load requests them, and comparisons count them. */
import { describe, expect, it } from 'vitest'
import { Skip } from '../../../src/engine/base/errors.js'
import { runVerify } from '../../../src/features/reconcile/verifywork.js'
import { template } from '../../../src/sandbox/index.js'
import {
  beginnings,
  depsOf,
  type ListRequest,
  type Page,
  type RunOptions,
  sync,
} from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { bothWarehouses, kept, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'
import { at, live, only, reconcile } from '../../support/world/notes.js'

const sandbox = await sandboxOfFile()
const put = (id: number, time: string): void => sandbox.store.put(1, 'notes', template('notes', id, time))
const dotnet = '0001-01-01T00:00:00.000000Z'
const old = '1950-05-05T05:05:05.000000Z'
const options: RunOptions = { resources: ['notes'] }

function prepare(count = 3): void {
  sandbox.reset()
  sandbox.store.addTenant({ id: 1 })
  for (let id = 1; id <= count; id++) put(id, at(id * 3600))
  put(5001, dotnet)
  put(5002, old)
}

const reason = { reason: 'before_all' }

async function verified(warehouse: Warehouse, options: RunOptions) {
  const { deps, close } = await depsOf(sandbox, warehouse, options)
  const found = await runVerify(deps, { tenants: null, resources: ['notes'] }, { full: true, sample: 0 })
  await close()
  return found.cursors[0]
}

const asked = (): (string | null)[] =>
  sandbox.requests.filter(({ resource }) => resource === 'notes').map((line) => line.updated_after)

const says422 = { reason: 'refused', status: 422 } as const

/** An API that can't take times before a given year; without a time it shows everything. */
const refusing = (
  first: string,
  refused: string[] = [],
  how: ConstructorParameters<typeof Skip>[1] = says422,
): RunOptions => ({
  ...options,
  around: (source) =>
    new Between(source, async ({ updatedAfter }: ListRequest, ask: () => Promise<Page>) => {
      if (updatedAfter === '' || updatedAfter >= first) return ask()
      refused.push(updatedAfter)
      throw new Skip('The API did not answer with the list', how)
    }),
})

describe.each(bothWarehouses())('$name', (kind) => {
  const place = kept(kind)
  /** For what is above the dialects. */
  const test = it.runIf(warehouses().includes(kind))
  it('a first load fetches them without an extra request', async () => {
    prepare()
    const warehouse = await place.open()
    expect(only(await sync(sandbox, warehouse, options))).toMatchObject({
      completeness: 'proven',
      requests: 1,
    })
    expect(asked()).toEqual(['0001-01-01T00:00:00+12:00'])
    const here = await live(warehouse)
    expect([here.get(5001), here.get(5002), here.size]).toEqual([dotnet, old, 5])
  })

  test('a list with nothing else is walked, resumed from its watermark and reconciled', async () => {
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    put(1, dotnet)
    const warehouse = await place.open()
    for (let run = 0; run < 2; run++)
      expect(only(await sync(sandbox, warehouse, options))).toMatchObject({ status: 'ok', watermark: dotnet })
    expect(only(await reconcile(sandbox, warehouse, options))).toMatchObject({
      status: 'ok',
      rows_deleted: 0,
    })
  })

  test.each([false, true])(
    'reconcile counts them, and finds one that is missing (full: %s)',
    async (full) => {
      prepare(1500)
      const warehouse = await place.open()
      await sync(sandbox, warehouse, options)
      const even = only(await reconcile(sandbox, warehouse, { ...options, full }))
      expect(even).toMatchObject({ status: 'ok', reconciled: { source: 1502, warehouse: 1502, stored: 0 } })
      await warehouse.write([warehouse.db.deleteFrom('notes').where('id', '=', 5001).compile()])
      const report = only(await reconcile(sandbox, warehouse, { ...options, full }))
      expect(report).toMatchObject({ status: 'ok', reconciled: { stored: 1 } })
      expect((await live(warehouse)).get(5001)).toBe(dotnet)
    },
  )

  it.each([
    ['with Z, where it refuses the offset', '0001-01-01T00:00:00Z', 2],
    ['from 1970, where it refuses the year 1', '1970-01-01T00:00:00Z', 3],
  ])('requests %s, and remembers it', async (_, first, tries) => {
    prepare()
    const warehouse = await place.open()
    const refused: string[] = []
    // '+' sorts before 'Z'.
    const around = refusing(first, refused)
    expect(only(await sync(sandbox, warehouse, around))).toMatchObject({ status: 'ok' })
    expect(refused).toHaveLength(tries - 1)
    expect((await rowsOf(warehouse, 'sync_source'))[0]).toMatchObject({ lists_from: first })
    await sync(sandbox, warehouse, { ...around, mode: 'full' })
    expect(refused).toHaveLength(tries - 1)
  })

  test('records that no updated_after shows are read without it by reconcile --full, which reports that', async () => {
    prepare(150)
    const warehouse = await place.open()
    const around = { ...refusing('1970-01-01T00:00:00Z'), random: () => 0.5 }
    const told = {
      status: 'failed',
      completeness: 'unproven',
      reason: 'before_all',
      watermark: at(150 * 3600),
    }
    expect(only(await sync(sandbox, warehouse, around))).toMatchObject({
      status: 'ok',
      watermark: at(150 * 3600),
    })
    expect(await verified(warehouse, around)).toMatchObject({ status: 'failed', missing: 2, ...reason })
    const first = only(await reconcile(sandbox, warehouse, { ...around, full: true }))
    expect(first).toMatchObject({ ...told, reconciled: { stored: 2, source: 152, warehouse: 152 } })
    expect(first?.error).toContain('counts 2 records more without updated_after')
    expect((await live(warehouse)).size).toBe(152)
    // From then on, every comparison reads the list this way. Otherwise the two would be surplus rows.
    sandbox.store.remove(1, 'notes', 70)
    const next = only(await reconcile(sandbox, warehouse, around))
    expect(next).toMatchObject({ ...told, rows_deleted: 1, reconciled: { method: 'listing', source: 151 } })
    expect(await verified(warehouse, around)).toMatchObject({ missing: 0, extra: 0, ...reason })
    // A sync works as before.
    expect(only(await sync(sandbox, warehouse, around))).toMatchObject({ status: 'ok', requests: 1 })
    for (const id of [5001, 5002]) sandbox.store.remove(1, 'notes', id)
    const healed = only(await reconcile(sandbox, warehouse, { ...around, full: true }))
    expect(healed).toMatchObject({ status: 'ok', completeness: 'proven', reason: null, rows_deleted: 2 })
    expect((await rowsOf(warehouse, 'sync_cursors'))[0]?.remembered).toBeNull()
  })

  it.each([
    ['reconcile --full', true, 1],
    ['reconcile', false, 0],
  ])('%s requests the total without updated_after that often', async (_, full, times) => {
    prepare(150)
    const warehouse = await place.open()
    await sync(sandbox, warehouse, options)
    sandbox.resetRequests()
    expect(only(await reconcile(sandbox, warehouse, { ...options, full }))).toMatchObject({ status: 'ok' })
    expect(asked().filter((after) => after === null)).toHaveLength(times)
  })

  test.each([
    ['calls the request bad', { reason: 'refused', status: 400 }],
    ['fails', { reason: 'failed', status: 500 }],
    ['closes the connection', { reason: 'failed' }],
  ] as const)('an API that %s for the year 1 is asked from 1970, which is remembered', async (_, how) => {
    prepare()
    const warehouse = await place.open()
    const refused: string[] = []
    const around = refusing('1970-01-01T00:00:00Z', refused, how)
    expect(only(await sync(sandbox, warehouse, around))).toMatchObject({ status: 'ok', rows_upserted: 3 })
    // The list, then one record from each beginning, and from the first one again: it may have been an outage.
    expect(refused).toEqual([beginnings[0], beginnings[0], beginnings[1], beginnings[0]])
    await sync(sandbox, warehouse, { ...around, mode: 'full' })
    expect(refused).toHaveLength(4)
  })

  test.each([1, 2, 3])('an outage of %s requests loses no record of before 1970', async (requests) => {
    prepare()
    const warehouse = await place.open()
    let asked = 0
    const around: RunOptions['around'] = (source) =>
      new Between(source, async (_, ask) => {
        if (++asked <= requests) throw new Skip('It did not answer', { reason: 'failed', status: 502 })
        return ask()
      })
    await sync(sandbox, warehouse, { ...options, around })
    expect((await rowsOf(warehouse, 'sync_source'))[0]?.lists_from ?? null).toBeNull()
    expect(only(await sync(sandbox, warehouse, options))).toMatchObject({ status: 'ok' })
    expect((await live(warehouse)).size).toBe(5)
  })

  test('a list that fails once others were read is not asked from later beginnings', async () => {
    prepare()
    const warehouse = await place.open()
    await sync(sandbox, warehouse, options)
    const refused: string[] = []
    const failing = refusing('9', refused, { reason: 'failed', status: 503 })
    await sync(sandbox, warehouse, { ...failing, mode: 'full' })
    expect(new Set(refused)).toEqual(new Set([beginnings[0]]))
  })

  test.each([says422, { reason: 'refused', status: 400 }, { reason: 'failed', status: 503 }] as const)(
    'an API that refuses every list fails its cursor: %o',
    async (how) => {
      prepare()
      const warehouse = await place.open()
      const refused: string[] = []
      expect(only(await sync(sandbox, warehouse, refusing('9', refused, how)))).toMatchObject({
        status: 'failed',
      })
      expect(new Set(refused)).toEqual(new Set(beginnings))
    },
  )
})
