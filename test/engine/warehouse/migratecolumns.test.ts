/**
 * A column belongs to the configuration: promoting a field immediately moves its values from `_extra` into the column,
 * and reverting that moves them back, in batches that survive a kill. Field by field, the source agrees.
 */
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import type { Kind as FieldKind } from '../../../schema/resource.js'
import type { Model } from '../../../src/engine/model/resourcemodel.js'
import type { RunReport } from '../../../src/engine/run/runreport.js'
import { claimLease } from '../../../src/engine/warehouse/lease.js'
import { migrate } from '../../../src/engine/warehouse/migrate.js'
import { hasPendingMoves, moveColumns, pendingMoves } from '../../../src/engine/warehouse/migratecolumns.js'
import { Warehouse } from '../../../src/engine/warehouse/warehouse.js'
import { runVerify } from '../../../src/features/reconcile/verifywork.js'
import { template } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/call.js'
import { model } from '../../support/model.js'
import { configure } from '../../support/place.js'
import { depsOf, known, sync } from '../../support/run.js'
import { sandboxOfFile } from '../../support/sandbox.js'
import { sized } from '../../support/size.js'
import { bothWarehouses, contents, reopen, rowsOf, warehouses } from '../../support/warehouse.js'

const sandbox = await sandboxOfFile()
/** More than a batch. */
const records = 520
const at = (n: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + n * 60_000).toISOString()

/**
 * Fields that the document doesn't show: of every kind, sometimes null, absent, or something that the kind can't hold.
 */
const unknown = (id: number): Record<string, unknown> => ({
  vin: `VIN ${id} "é"`,
  ...(id % 5 > 0 && { year: id % 7 === 0 ? null : 1990 + (id % 30) }),
  mileage: id % 50 === 0 ? 'twelve' : id,
  rating: id === 3 ? 0.30000000000000004 : id / 4,
  sold: id % 2 === 0,
  seen_at: `2026-02-01T10:00:${String(id % 60).padStart(2, '0')}+02:00`,
  owner: { name: `of ${id}`, since: id },
  paint: 'left alone',
})
const columns: Record<string, FieldKind> = {
  vin: 'text',
  year: 'integer',
  mileage: 'integer',
  rating: 'number',
  sold: 'boolean',
  seen_at: 'timestamp',
  owner: 'json',
}

beforeAll(() => {
  sandbox.store.addTenant({ id: 1 })
  for (let id = 1; id <= records; id++)
    sandbox.store.put(1, 'vehicles', { ...template('vehicles', id, at(id)), ...unknown(id) })
})

const promoted = (some: Record<string, FieldKind>): Model => model(resources, { vehicles: { columns: some } })

describe.each(bothWarehouses())('$name', (kind) => {
  /** For what is above the dialects. */
  const test = it.runIf(warehouses().includes(kind))
  const run = (warehouse: Warehouse, known: Model): Promise<RunReport> =>
    sync(sandbox, warehouse, { resources: ['vehicles'], known })
  const begin = async (first: Model) => {
    const address = await kind.migrated()
    const warehouse = await reopen(address, first)
    await migrate(warehouse)
    await run(warehouse, first)
    return { address, warehouse }
  }
  const verify = async (warehouse: Warehouse, known: Model): Promise<unknown> => {
    const { deps, close } = await depsOf(sandbox, warehouse, { known })
    const { cursors, status } = await runVerify(
      deps,
      { tenants: null, resources: ['vehicles'] },
      { full: false, sample: sized(20, 60) },
    )
    await close()
    return { status, differences: cursors.flatMap((cursor) => cursor.differences ?? []) }
  }
  /** All rows, without the columns that a configuration has left behind. */
  const plain = async (warehouse: Warehouse): Promise<unknown> => {
    const { vehicles, ...others } = await contents(warehouse)
    const rows = vehicles as Record<string, unknown>[]
    const kept = rows.map((row) => Object.entries(row).filter(([name]) => !Object.hasOwn(columns, name)))
    return { ...others, vehicles: kept }
  }
  const equal = { status: 'equal', differences: [] }
  const held = async (warehouse: Warehouse): Promise<number> => {
    const names = Object.keys(columns).map((name) => sql`${sql.ref(name)} is not null`)
    const query = warehouse.db.selectFrom('vehicles').select((eb) => eb.fn.countAll<number>().as('n'))
    const [row] = await query.where(sql<boolean>`(${sql.join(names, sql` or `)})`).execute()
    return Number(row?.n)
  }

  it('promoting moves existing values without a request, and reverting moves them back', async () => {
    const { address, warehouse } = await begin(known)
    const before = await plain(warehouse)
    await warehouse.close()

    const all = promoted(columns)
    const next = await reopen(address, all)
    await migrate(next)
    const report = await run(next, all)
    expect(report.cursors).toMatchObject([{ status: 'ok', requests: 1 }])
    const fresh = await begin(all)
    expect(await contents(next, all)).toEqual(await contents(fresh.warehouse, all))
    const quarantined = async (one: Warehouse) =>
      (await rowsOf(one, 'sync_quarantine')).map(({ record_id, path, value, reason }) => [
        record_id,
        path,
        value,
        reason,
      ])
    expect(await quarantined(next)).toEqual(await quarantined(fresh.warehouse))
    expect(await quarantined(next)).toHaveLength(Math.floor(records / 50))
    expect(await verify(next, all)).toEqual(equal)
    await fresh.warehouse.close()
    await next.close()

    const back = await reopen(address)
    expect(await migrate(back)).toEqual([])
    const notices: [string, Record<string, unknown>][] = []
    await sync(sandbox, back, { resources: ['vehicles'], notices })
    expect(notices).toContainEqual([
      'A column is no longer configured: its values moved back into _extra; the column stays, empty',
      { table: 'vehicles', column: 'vin', values: records },
    ])
    expect(await held(back)).toBe(0)
    expect(await plain(back)).toEqual(before)
    expect(await verify(back, known)).toEqual(equal)
    expect(await rowsOf(back, 'sync_columns')).toEqual([])
    expect((await run(back, known)).cursors).toMatchObject([{ requests: 1 }])
    await back.close()
  })

  test('an interrupted move loses nothing, whatever the configuration says next', async () => {
    const { address, warehouse } = await begin(known)
    const before = await plain(warehouse)
    await warehouse.close()
    const one = promoted({ vin: 'text' })
    const next = await reopen(address, one)
    await migrate(next)
    let transactions = 0
    const dialect: Warehouse['dialect'] = {
      ...next.dialect,
      transaction: (work) => {
        // The first one records that the move begins, the second moves a batch.
        if (++transactions === 3) throw new Error('killed')
        return next.dialect.transaction(work)
      },
    }
    const lease = await claimLease(next, { runId: 'killed', command: 'sync', leaseMs: 60_000 })
    await expect(
      moveColumns(
        new Warehouse({ dialect, model: one }).under(lease, 'killed'),
        new AbortController().signal,
      ),
    ).rejects.toThrow('killed')
    await lease.release()
    expect(await held500(next)).toBe(500)
    await next.close()

    const back = await reopen(address)
    await run(back, known)
    expect(await plain(back)).toEqual(before)
    await back.close()
    const forth = await reopen(address, one)
    await run(forth, one)
    expect(await held500(forth)).toBe(records)
    expect(await verify(forth, one)).toEqual(equal)
    await forth.close()
  })

  const held500 = async ({ db }: Warehouse): Promise<number> => {
    const query = db.selectFrom('vehicles').select((eb) => eb.fn.countAll<number>().as('n'))
    const [row] = await query.where(sql<boolean>`vin is not null`).execute()
    return Number(row?.n)
  }

  it('names follow the configuration, without a request', async () => {
    const namesIn = async (one: Warehouse): Promise<unknown[]> =>
      (await rowsOf(one, 'vehicles')).map(({ _name }) => _name)
    const byVin = model(resources, { vehicles: { names: ['vin'] } })
    const { address, warehouse } = await begin(byVin)
    expect((await namesIn(warehouse)).slice(0, 2)).toEqual(['VIN 1 "é"', 'VIN 2 "é"'])
    await warehouse.close()

    // One field becomes a column, one can't be held by it, one is no text.
    const columns = { year: 'integer', mileage: 'integer' } as const
    const other = model(resources, { vehicles: { columns, names: ['year', 'mileage', 'rating', 'owner'] } })
    const next = await reopen(address, other)
    await migrate(next)
    expect(await pendingMoves(next)).toContainEqual(
      expect.objectContaining({ resource: 'vehicles', to: 'name', refills: false }),
    )
    expect((await run(next, other)).cursors).toMatchObject([{ status: 'ok', requests: 1 }])
    const fresh = await begin(other)
    expect(await namesIn(next)).toEqual(await namesIn(fresh.warehouse))
    expect((await namesIn(next)).slice(0, 1)).toEqual(['1991 1 0.25'])
    expect((await namesIn(next)).slice(49, 50)).toEqual(['12.5'])
    await fresh.warehouse.close()

    // Nothing is left to do, and nothing is done.
    expect(await hasPendingMoves(next)).toBe(false)
    await next.close()
  })

  it('a column of another kind is filled by a walk', async () => {
    const { address, warehouse } = await begin(promoted({ seen_at: 'text' }))
    await warehouse.close()
    // On SQLite, both kinds have the same column type. Postgres tells them apart, and the configuration is rejected.
    const other = promoted({ seen_at: 'timestamp' })
    const next = await reopen(address, other)
    if (kind.name === 'postgres') await expect(migrate(next)).rejects.toThrow('vehicles.seen_at is text')
    else {
      await migrate(next)
      // The whole list, its first page again, and what is new within the overlap before it.
      expect((await run(next, other)).cursors).toMatchObject([{ status: 'ok', records: records + 100 + 6 }])
      expect(await verify(next, other)).toEqual(equal)
    }
    await next.close()
  })

  test('migrate does it too, by itself, and reports it', async () => {
    const { address, warehouse } = await begin(known)
    await warehouse.close()
    const config = configure(sandbox, address, ['vehicles'], {
      resources: { vehicles: { columns: { vin: 'text' } } },
    })
    const { code, stdout } = await shopsync(['migrate', '--config', config, '--json'])
    expect(code).toBe(0)
    expect((JSON.parse(stdout) as { changes: unknown }).changes).toContainEqual({
      table: 'vehicles',
      what: `moved ${records} values from _extra into vin`,
    })
    const one = promoted({ vin: 'text' })
    const next = await reopen(address, one)
    expect(await hasPendingMoves(next)).toBe(false)
    expect(await verify(next, one)).toEqual(equal)
    await next.close()
  })
})
