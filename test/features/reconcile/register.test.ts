/**
 * The register of live rows: whatever vanishes from the warehouse or is changed in it, and whatever is deleted at the
 * source, however the two cancel out in the counts, one reconcile makes both sides equal.
 */
import { describe, expect, it } from 'vitest'
import { template } from '../../../src/sandbox/index.js'
import { sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { bothWarehouses, open, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { registersAgree } from '../../support/oracle/registers.js'
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
import { randomFrom } from '../../support/world/random.js'
import { isWhole, sample } from '../../support/world/size.js'

interface Differences {
  readonly deleted: number[]
  readonly lost: number[]
  readonly outdated: number[]
  /** Records at the source that no sync has ever seen, and that no sync looks for any more. */
  readonly neverStored: number[]
}

const sandbox = await sandboxOfFile()

/**
 * Random sets; half of the lost rows are next to a deleted record, so that a cut point is unlikely to be between them.
 */
function draw(random: () => number, ids: readonly number[], most: number, late: boolean): Differences {
  const free = [...ids]
  const take = (place: number): number => free.splice(Math.min(place, free.length - 1), 1)[0] ?? 0
  const anywhere = (): number => Math.floor(random() * free.length)
  const deleted: number[] = []
  const lost: number[] = []
  for (let n = Math.floor(random() ** 2 * most) + 1; n > 0; n--) {
    const place = anywhere()
    if (random() < 0.7) deleted.push(take(place))
    if (random() < 0.7) lost.push(take(random() < 0.5 ? place : anywhere()))
  }
  const outdated = Array.from({ length: Math.floor(random() * 4) }, () => take(anywhere()))
  const neverStored = late ? [1, 2].map(() => Math.floor(random() * ids.length) + 1_000_000) : []
  return { deleted, lost, outdated, neverStored }
}

async function make(warehouse: Warehouse, random: () => number, differences: Differences): Promise<void> {
  const { deleted, lost, outdated, neverStored } = differences
  for (const id of deleted) sandbox.store.remove(1, 'notes', id)
  await lose(warehouse, lost)
  for (const id of outdated)
    await warehouse.write([
      warehouse.db
        .updateTable('notes')
        .set({ updated_at: timeOf(Math.max(1, id - Math.floor(random() * 300)), 3) })
        .where('id', '=', id)
        .compile(),
    ])
  for (const id of neverStored) sandbox.store.put(1, 'notes', template('notes', id, timeOf(id - 1_000_000)))
}

async function isEqual(warehouse: Warehouse): Promise<boolean> {
  const rows = await live(warehouse)
  const ids = atSource(sandbox)
  return (
    rows.size === ids.length &&
    ids.every((id) => rows.get(id) === sandbox.store.stored(1, 'notes', id)?.updated_at)
  )
}

describe.each(bothWarehouses())('$name', (kind) => {
  /** For what is above the dialects. */
  const test = it.runIf(warehouses().includes(kind))
  async function prepared(count: number): Promise<Warehouse> {
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    fill(sandbox, count)
    const warehouse = await open(kind)
    await sync(sandbox, warehouse, { resources: ['notes'] })
    return warehouse
  }

  async function trials(size: number, rounds: number, options: { late?: boolean; blind?: boolean } = {}) {
    const warehouse = await prepared(size)
    const tally = {
      rounds,
      equal: 0,
      deleted: 0,
      lost: 0,
      outdated: 0,
      neverStored: 0,
      requests: 0,
      listings: 0,
    }
    for (let seed = 1; seed <= rounds; seed++) {
      const random = randomFrom(seed * 31 + size)
      const differences = draw(random, atSource(sandbox), size > 2000 ? 25 : 8, options.late === true)
      await make(warehouse, random, differences)
      if (options.blind)
        await warehouse.write([warehouse.db.updateTable('sync_registers').set({ live_rows: null }).compile()])
      const report = await reconcile(sandbox, warehouse, { random })
      expect(only(report)?.status, `seed ${seed}: ${only(report)?.error}`).toBe('ok')
      if (await isEqual(warehouse)) tally.equal++
      else await reconcile(sandbox, warehouse, { full: true })
      expect(await isEqual(warehouse)).toBe(true)
      await registersAgree(warehouse)
      tally.requests += only(report)?.requests ?? 0
      if (only(report)?.reconciled?.method === 'listing') tally.listings++
      for (const name of ['deleted', 'lost', 'outdated', 'neverStored'] as const)
        tally[name] += differences[name].length
    }
    await warehouse.close()
    console.log(`${kind.name}, ${size} records: ${JSON.stringify(tally)}`)
    return tally
  }

  const sizes = [
    [1500, 6],
    [650, 6],
    [6000, 4],
    [20_000, 2],
  ] as const
  it.each(sample(sizes))(
    'of %i records, one reconcile fixes everything deleted, lost and outdated',
    async (size, rounds) => {
      const { equal } = await trials(size, rounds)
      expect(equal).toBe(rounds)
    },
  )

  // What the counts miss, and what the register is for, doesn't depend on the database.
  const isOnce = kind.name === bothWarehouses()[0]?.name

  // One such pair is in reconcile.test.ts.
  it.runIf(isOnce && isWhole())('without the register, pairs that cancel out are overlooked', async () => {
    const { equal, rounds } = await trials(6000, 8, { blind: true })
    expect(equal).toBeLessThan(rounds)
  })

  it.runIf(isOnce)('what was never stored is found more often than not, and never called lost', async () => {
    const { equal, rounds } = await trials(isWhole() ? 6000 : 1500, 10, { late: true })
    expect(equal).toBeGreaterThan(rounds / 2)
  })

  test('a row lost next to a deletion costs one request, and verify reports both without writing', async () => {
    const warehouse = await prepared(3000)
    sandbox.store.remove(1, 'notes', 1500)
    await lose(warehouse, [1501])
    const notices: [string, Record<string, unknown>][] = []
    const report = await reconcile(sandbox, warehouse, { notices })
    expect(only(report)).toMatchObject({
      status: 'ok',
      reconciled: { method: 'counting', deleted: 1, stored: 1 },
    })
    expect(notices.find(([message]) => message.startsWith('Rows have vanished'))?.[1]).toMatchObject({
      vanished: 1,
      changed: 0,
    })
    expect(await isEqual(warehouse)).toBe(true)
    await registersAgree(warehouse)
    await warehouse.close()
  })

  test('a lost row whose record is gone too is requested once', async () => {
    const warehouse = await prepared(3000)
    sandbox.store.remove(1, 'notes', 1500)
    await lose(warehouse, [1500])
    expect(only(await reconcile(sandbox, warehouse))).toMatchObject({
      status: 'ok',
      reconciled: { method: 'counting', deleted: 0, stored: 0 },
    })
    await registersAgree(warehouse)
    expect(only(await reconcile(sandbox, warehouse))?.requests).toBe(8)
    await warehouse.close()
  })

  test('a removed tombstone is put back, and a row that someone added is requested', async () => {
    const warehouse = await prepared(3000)
    sandbox.store.remove(1, 'notes', 900)
    await reconcile(sandbox, warehouse)
    await lose(warehouse, [2000])
    await warehouse.write([
      warehouse.db.updateTable('notes').set({ _deleted_at: null }).where('id', '=', 900).compile(),
    ])
    expect(only(await reconcile(sandbox, warehouse))?.status).toBe('ok')
    expect(await isEqual(warehouse)).toBe(true)
    await registersAgree(warehouse)
    await warehouse.close()
  })

  test('more lost rows than can be identified are found by listing everything', async () => {
    const warehouse = await prepared(3000)
    await lose(
      warehouse,
      Array.from({ length: 200 }, (_, i) => 100 + i * 13),
    )
    expect(only(await reconcile(sandbox, warehouse))).toMatchObject({
      status: 'ok',
      reconciled: { method: 'listing', stored: 200 },
    })
    expect(await isEqual(warehouse)).toBe(true)
    await registersAgree(warehouse)
    await warehouse.close()
  })

  test("if the source doesn't answer by id, lost rows are found by listing everything", async () => {
    const warehouse = await prepared(3000)
    sandbox.store.remove(1, 'notes', 1500)
    await lose(warehouse, [1501])
    sandbox.script([{ when: { kind: 'item' }, fault: { kind: 'status', status: 404 } }])
    expect(only(await reconcile(sandbox, warehouse))).toMatchObject({
      status: 'ok',
      reconciled: { method: 'listing', deleted: 1, stored: 1 },
    })
    expect(await isEqual(warehouse)).toBe(true)
    await warehouse.close()
  })

  test('a warehouse without one gets it when a reconcile has closed, and keeps it from then on', async () => {
    const warehouse = await prepared(3000)
    await warehouse.write([warehouse.db.deleteFrom('sync_registers').compile()])
    sandbox.store.put(1, 'notes', template('notes', 4000, at(100_000)))
    await sync(sandbox, warehouse, { resources: ['notes'] })
    expect((await rowsOf(warehouse, 'sync_registers'))[0]?.live_rows).toBeNull()
    await reconcile(sandbox, warehouse)
    await registersAgree(warehouse, 1)
    sandbox.store.remove(1, 'notes', 1500)
    await lose(warehouse, [1501])
    await reconcile(sandbox, warehouse)
    expect(await isEqual(warehouse)).toBe(true)
    await warehouse.close()
  })

  test('tags, which also come inside other records, have none', async () => {
    const warehouse = await prepared(0)
    sandbox.store.put(1, 'integrator_tags', template('integrator_tags', 1, at(1)))
    await sync(sandbox, warehouse, { resources: ['integrator_tags'] })
    await reconcile(sandbox, warehouse, { resources: ['integrator_tags'] })
    expect(await rowsOf(warehouse, 'sync_registers')).toEqual([])
    await warehouse.close()
  })

  it('pages applied twice, older versions, tombstones and restored records are entered once', async () => {
    const warehouse = await prepared(700)
    const kept = [5, 6].map((id) => sandbox.store.stored(1, 'notes', id)!)
    for (const id of [5, 6, 7]) sandbox.store.remove(1, 'notes', id)
    await reconcile(sandbox, warehouse)
    await registersAgree(warehouse, 1)
    for (const record of kept) sandbox.store.put(1, 'notes', record)
    for (const mode of ['full', 'full', 'reconcile', 'sync'] as const) {
      await sync(sandbox, warehouse, { resources: ['notes'], mode })
      await registersAgree(warehouse, 1)
    }
    await lose(warehouse, [40])
    await sync(sandbox, warehouse, { resources: ['notes'], mode: 'full' })
    await registersAgree(warehouse, 1)
    const ranges = [{ from: at(0), to: at(9000) }]
    await lose(warehouse, [30])
    await sync(sandbox, warehouse, { resources: ['notes'], mode: 'backfill', ranges })
    await reconcile(sandbox, warehouse)
    await registersAgree(warehouse, 1)
    expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
    await warehouse.close()
  })
})
