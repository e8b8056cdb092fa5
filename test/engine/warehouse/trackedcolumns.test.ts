/**
 * A column belongs to the configuration: promoting a field has its list read again, and so has taking it out. Meanwhile
 * both forms stand, and records go on. Field by field, the source agrees afterwards; what no list shows keeps its form.
 */
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import type { Kind as FieldKind } from '../../../schema/resource.js'
import { Skip } from '../../../src/engine/base/errors.js'
import type { Model } from '../../../src/engine/model/resourcemodel.js'
import { runVerify } from '../../../src/features/reconcile/verifywork.js'
import { template } from '../../../src/sandbox/index.js'
import { shopsync } from '../../support/harness/call.js'
import { model } from '../../support/harness/model.js'
import { configure } from '../../support/harness/place.js'
import { depsOf, known, type RunReport, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { sized } from '../../support/harness/size.js'
import {
  bothWarehouses,
  contents,
  migrate,
  pendingRewrites,
  reopen,
  rowsOf,
  tablesToRewrite,
  type Warehouse,
} from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'
import { writePrivacy } from '../../support/world/hidden.js'

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
  const run = (warehouse: Warehouse, known: Model): Promise<RunReport> =>
    sync(sandbox, warehouse, { resources: ['vehicles'], known })
  /** A run that fetches what is new, and fails to read the whole list. */
  const cutShort = (warehouse: Warehouse, known: Model): Promise<RunReport> =>
    sync(sandbox, warehouse, {
      resources: ['vehicles'],
      known,
      around: (source) =>
        new Between(source, async (request, ask) => {
          if (request.updatedAfter?.startsWith('0001')) throw new Skip('cut short', { reason: 'failed' })
          return ask()
        }),
    })
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

  /** What a run does to the list when it is read again: the whole list, its first page again, and the overlap's records. */
  const readAgain = { status: 'ok', records: records + 100 + 6 }
  const stateOf = async (warehouse: Warehouse) =>
    (await rowsOf(warehouse, 'sync_columns')).map(({ name, state }) => `${name} ${state}`).sort()

  it('promoting has the list read again, and so has taking it back', async () => {
    const { address, warehouse } = await begin(known)
    const before = await plain(warehouse)
    await warehouse.close()

    const all = promoted(columns)
    const next = await reopen(address, all)
    expect((await migrate(next)).map(({ what }) => what)).toContainEqual(
      expect.stringMatching(/^add column vin text/i),
    )
    expect(await held(next)).toBe(0)
    expect(await verify(next, all)).toEqual(equal)
    expect((await run(next, all)).cursors).toMatchObject([readAgain])
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
    expect((await migrate(back)).map(({ what }) => what)).toContain(
      'leave the column vin, which is no longer configured',
    )
    expect(await held(back)).toBe(records)
    expect(await verify(back, known)).toEqual(equal)
    expect((await run(back, known)).cursors).toMatchObject([readAgain])
    expect(await held(back)).toBe(0)
    expect(await plain(back)).toEqual(before)
    expect(await verify(back, known)).toEqual(equal)
    expect(await stateOf(back)).toEqual(
      Object.keys(columns)
        .map((name) => `${name} left`)
        .sort(),
    )
    expect(await migrate(back)).toEqual([])
    expect((await run(back, known)).cursors).toMatchObject([{ requests: 1 }])
    await back.close()
  })

  it('records that change meanwhile arrive in the new form, and the watermark moves', async () => {
    const { address, warehouse } = await begin(known)
    const [{ watermark }] = (await rowsOf(warehouse, 'sync_cursors')) as [{ watermark: string }]
    await warehouse.close()
    const one = promoted({ vin: 'text' })
    const next = await reopen(address, one)
    await migrate(next)
    sandbox.store.put(1, 'vehicles', { ...template('vehicles', 1, at(9000)), vin: 'changed' })
    expect((await cutShort(next, one)).cursors).toMatchObject([{ status: 'failed' }])
    const [cursor] = (await rowsOf(next, 'sync_cursors')) as [{ watermark: string; refill: string }]
    expect(cursor.refill).toContain('vehicles.vin')
    expect(cursor.watermark > watermark).toBe(true)
    const [changed, other] = await rowsOf(next, 'vehicles')
    expect(changed).toMatchObject({ vin: 'changed', _extra: null })
    expect(other).toMatchObject({ vin: null, _extra: { vin: 'VIN 2 "é"' } })
    expect(await verify(next, one)).toEqual(equal)
    expect((await run(next, one)).cursors).toMatchObject([{ status: 'ok' }])
    expect((await rowsOf(next, 'vehicles'))[1]).toMatchObject({ vin: 'VIN 2 "é"' })
    sandbox.store.put(1, 'vehicles', { ...template('vehicles', 1, at(1)), ...unknown(1) })
    await next.close()
  })

  it('what no list shows keeps its form, and is copied, hidden and forgotten in it', async () => {
    const address = await kind.viewed()
    const here = await sandboxOfFile()
    const put = (id: number, version: number): void =>
      here.store.put(1, 'customers', {
        ...template('customers', id, at(id + version * 100)),
        nick: `nick ${id}.${version}`,
      })
    here.store.addTenant({ id: 1 })
    for (const id of [1, 2, 3]) put(id, 1)
    const call = async (more: object, ...words: string[]): Promise<string> => {
      const config = configure(here, address, ['customers'], {
        resources: { customers: { history: true, ...more } },
      })
      const { code, stdout, stderr } = await shopsync([...words, '--config', config])
      // One list is read, and the receipt names the others.
      const expected = words[0] === 'forget' ? 1 : 0
      expect([words, code, stderr]).toEqual([words, expected, expect.any(String)])
      return stdout
    }
    const look = await reopen(address)
    const nicks = async (of = look, table = 'customers') => {
      const name = of.dialect.views().sql.table(table)
      const query = sql<{
        nick: string | null
        extra: unknown
      }>`select nick, _extra as extra from ${sql.raw(name)}`
      const { rows } = await query.execute(of.db)
      return rows.map(({ nick, extra }) => `${nick} ${extra === null ? null : 'extra'}`).sort()
    }
    const columns = { columns: { nick: 'text' } }
    await call(columns, 'sync')
    put(1, 2)
    for (const id of [2, 3]) here.store.remove(1, 'customers', id)
    await call(columns, 'sync')
    await call(columns, 'reconcile')
    expect(await call({}, 'plan')).toContain('leave the column nick, which is no longer configured')
    await call({}, 'sync')
    await call({}, 'verify', '--full')
    // The deleted ones are as they were.
    expect(await nicks()).toEqual(['nick 2.1 null', 'nick 3.1 null', 'null extra'])
    const ended = (await nicks(look, 'customers_history')).length
    expect(ended).toBeGreaterThan(2)

    const to = kind.address()
    const target = to.url.startsWith('sqlite:')
      ? ['--to', to.url]
      : ['--to', to.url, '--to-schema', to.schema]
    await call({}, 'copy', ...target)
    const copy = await reopen(to)
    expect(await nicks(copy)).toEqual(await nicks())
    await copy.close()

    await call({}, 'forget', '--tenant', '1', '--customer', '2', '--yes')
    expect(await nicks()).toEqual(['nick 3.1 null', 'null extra', 'null null'])
    const key = Buffer.alloc(32, 3).toString('base64')
    const config = configure(here, address, ['customers'], { resources: { customers: { history: true } } })
    writePrivacy(config, { preset: 'pseudonymous', key })
    expect((await shopsync(['migrate', '--config', config])).code).toBe(0)
    expect(await nicks()).toEqual(['null null', 'null null', 'null null'])
    expect(new Set(await nicks(look, 'customers_history'))).toEqual(new Set(['null null']))
    await look.close()
  })

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
    expect(await pendingRewrites(next)).toContainEqual(
      expect.objectContaining({ resource: 'vehicles', to: 'name', refills: false }),
    )
    // Before the list is read again, they are made of what is in `_extra`.
    expect((await cutShort(next, other)).cursors).toMatchObject([{ status: 'failed' }])
    expect((await namesIn(next)).slice(0, 1)).toEqual(['1991 1 0.25'])
    expect((await run(next, other)).cursors).toMatchObject([{ status: 'ok' }])
    const fresh = await begin(other)
    expect(await namesIn(next)).toEqual(await namesIn(fresh.warehouse))
    expect((await namesIn(next)).slice(0, 1)).toEqual(['1991 1 0.25'])
    expect((await namesIn(next)).slice(49, 50)).toEqual(['12.5'])
    await fresh.warehouse.close()

    // Nothing is left to do, and nothing is done.
    expect(await tablesToRewrite(next)).toEqual([])
    await next.close()
  })

  it('a column of another kind is filled by a walk', async () => {
    const { address, warehouse } = await begin(promoted({ seen_at: 'text' }))
    await warehouse.close()
    // On SQLite, both kinds have the same column type. Postgres tells them apart, and the list waits.
    const other = promoted({ seen_at: 'timestamp' })
    const next = await reopen(address, other)
    await migrate(next)
    if (kind.name === 'postgres')
      expect(next.interfered.unchanged(['vehicles'])?.message).toContain('vehicles.seen_at is text')
    else {
      expect((await run(next, other)).cursors).toMatchObject([readAgain])
      expect(await verify(next, other)).toEqual(equal)
    }
    await next.close()
  })
})
