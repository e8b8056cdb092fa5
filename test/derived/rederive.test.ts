/** Rows are recomputed when their rule or their settings have changed: all of them, whatever kills the work. */
import { sql } from 'kysely'
import { beforeAll, describe, expect, it } from 'vitest'
import type { RuleSettings } from '../../schema/derive.js'
import totals from '../../schema/derived/repair_order_totals.js'
import { systemClock } from '../../src/engine/base/clock.js'
import { known, sync } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { statusOf } from '../support/harness/status.js'
import {
  bothWarehouses,
  countRecords,
  halfComputed,
  migrate,
  open,
  openLease,
  type Rules,
  readOutdated,
  recompute,
  rowsOf,
  type Warehouse,
  warehouses,
} from '../support/harness/warehouse.js'
import { hazmat, labor, order, part, stamp, storeOrders, sublet } from '../support/world/orders.js'
import { sessionOf, through } from '../support/world/through.js'
import { computeAnew } from './anew.js'

const table = 'repair_order_totals'
type Row = Record<string, unknown>
const sandbox = await sandboxOfFile({ tenants: [{ id: 101, repairOrders: 30 }] as never })

const lineOfEach = {
  labors: [labor(1)],
  parts: [part(1, 1000)],
  sublets: [sublet(500)],
  hazmats: [hazmat(1, 100)],
}

const changed = (warehouse: Warehouse, settings: Partial<RuleSettings>, text: string): Rules => {
  const usual = warehouse.rules
  return { of: (tenantId) => ({ ...usual.of(tenantId), ...settings }), textOf: () => text }
}
const fractions = (warehouse: Warehouse): Rules => changed(warehouse, { taxRates: 'fraction' }, '"fraction"')

const noticesOf = async (warehouse: Warehouse): Promise<unknown[]> => {
  const notices: [string, Record<string, unknown>][] = []
  await sync(sandbox, warehouse, { notices })
  return notices
    .filter(([message]) => message.startsWith('Derived rows were recomputed from'))
    .map(([, fields]) => fields)
}

describe.each(bothWarehouses())('$name', (kind) => {
  /** For what is above the dialects. */
  const test = it.runIf(warehouses().includes(kind))
  let warehouse: Warehouse
  let noticed: unknown
  beforeAll(async () => {
    warehouse = await open(kind)
    noticed = await noticesOf(warehouse)
  })

  it('a first run recomputes nothing, a second one neither; one after a table was dropped makes all its rows', async () => {
    expect(noticed).toEqual([])
    expect(await noticesOf(warehouse)).toEqual([])
    expect(await rowsOf(warehouse, 'sync_derived')).toMatchObject([
      { tenant_id: 101, name: table, version: totals.version, records: 0, done_to: null },
    ])
    const unstamped = async () => (await rowsOf(warehouse, table)).map(({ _synced_at: _, ...row }) => row)
    const before = await unstamped()
    expect(before).toHaveLength(30)
    await warehouse.db.schema.dropTable(table).execute()
    await migrate(warehouse)
    expect(await noticesOf(warehouse)).toEqual([{ table, tenant_id: 101, records: 30 }])
    expect(await unstamped()).toEqual(before)
  })

  it('a run with other settings recomputes all rows once, and reports how many', async () => {
    const [before, parts] = [await rowsOf(warehouse, table), await rowsOf(warehouse, 'repair_order_parts')]
    warehouse.rules = fractions(warehouse)
    expect(await noticesOf(warehouse)).toEqual([{ table, tenant_id: 101, records: 30 }])
    const after = await rowsOf(warehouse, table)
    const isTaxed = ({ tax_cents }: Row): boolean => Number(tax_cents) > 0
    expect(before.filter(isTaxed).length).toBeGreaterThan(10)
    expect(after.map(({ tax_cents }, i) => tax_cents !== before[i]?.tax_cents)).toEqual(before.map(isTaxed))
    // The taxes of lines match those of their orders; nothing else about them has changed.
    const sumOf = (rows: readonly Row[], name: string): number =>
      rows.reduce((sum, row) => sum + Number(row[name] ?? 0), 0)
    const partsAfter = await rowsOf(warehouse, 'repair_order_parts')
    expect(sumOf(partsAfter, '_tax_cents')).toBe(
      sumOf(after, 'parts_tax_cents') - sumOf(after, 'supply_fee_tax_cents'),
    )
    const untaxed = (rows: readonly Row[]) => rows.map((row) => ({ ...row, _tax_cents: 0 }))
    expect(untaxed(partsAfter)).toEqual(untaxed(parts))
    expect(await noticesOf(warehouse)).toEqual([])
  })

  test('a deleted order keeps the gap in its total, although its quarantine is forgotten', async () => {
    const source = await sandboxOfFile({ data: 'none', tenants: [{ id: 101 }] })
    const shown = [1, 2, 3].map((id) => order(id, [lineOfEach]))
    for (const [i, one] of shown.entries()) {
      const services = one.services as object[]
      const [first] = services
      // Twice and not equal, but in the last.
      source.store.put(101, 'repair_orders', {
        ...one,
        services: i === 2 ? services : [first, { ...first, title: 'another' }],
      })
    }
    const warehouse = await open(kind)
    await sync(source, warehouse)
    for (const id of [1, 3]) source.store.remove(101, 'repair_orders', id)
    await sync(source, warehouse, { mode: 'reconcile' })
    const shownOf = async (): Promise<unknown[]> =>
      (await rowsOf(warehouse, table)).map((row) => [
        ...[row.repair_order_id, row._deleted_at !== null, Number(row.lines_in_quarantine)],
        ...[row.total_cents === null, row.total_unknown],
      ])
    const before = [
      [1, true, 1, true, true],
      [2, false, 1, true, true],
      [3, true, 0, false, false],
    ]
    expect(await shownOf()).toEqual(before)
    expect((await rowsOf(warehouse, 'sync_quarantine')).map((row) => row.record_id)).toEqual(['2'])
    warehouse.rules = fractions(warehouse)
    await sync(source, warehouse)
    expect(await shownOf()).toEqual(before)

    // What the source shows again is computed from the record, and what it shows otherwise, too.
    const later = { services: [], updated_at: new Date().toISOString() }
    for (const [i, one] of shown.slice(0, 2).entries())
      source.store.put(101, 'repair_orders', { ...one, ...later, id: i + 1 })
    await sync(source, warehouse)
    warehouse.rules = changed(warehouse, {}, '"percent again"')
    await sync(source, warehouse)
    expect(await shownOf()).toEqual([
      [1, false, 0, false, false],
      [2, false, 0, false, false],
      [3, true, 0, false, false],
    ])
  })

  it.runIf(kind.name === 'sqlite')(
    'finds lines by their keys, even in a file without statistics',
    async () => {
      const warehouse = await open(kind)
      await storeOrders(warehouse, [order(1, [lineOfEach])], stamp(100))
      const asked = new Set<string>()
      const watched = through(warehouse, {
        transaction: (work) =>
          warehouse.dialect.transaction((session) =>
            work(
              sessionOf(session, {
                ask: (text, parameters) => {
                  if (text.startsWith('update "repair_order_') && text.includes(' from ')) asked.add(text)
                  return session.ask(text, parameters)
                },
              }),
            ),
          ),
      })
      await computeAnew(watched)
      expect(asked.size).toBe(5)
      for (const text of asked) {
        const { rows } = await sql
          .raw<{ detail: string }>(`explain query plan ${text.replaceAll('$1', "'[]'")}`)
          .execute(warehouse.db)
        const [found] = rows.filter(({ detail }) => /\bl\b/.test(detail))
        expect(found?.detail).toContain('(tenant_id=? AND repair_order_id=? AND id=?)')
      }
    },
  )

  test('continues where it was killed, and starts over if the settings have changed meanwhile', async () => {
    const warehouse = await open(kind)
    await warehouse.db
      .insertInto('tenants')
      .values({ tenant_id: 7 } as never)
      .execute()
    const many = Array.from({ length: 1200 }, (_, i) => order(i + 1, [{ labors: [labor(i)] }]))
    await storeOrders(warehouse, many, stamp(100))
    await warehouse.write([
      warehouse.db.deleteFrom('sync_derived').compile(),
      warehouse.db.deleteFrom(table).compile(),
    ])

    const held = await openLease({ warehouse, clock: systemClock }, 'test')
    /** Recomputes; `dies`: the transaction in which the work is killed. */
    const run = (dies = Number.POSITIVE_INFINITY): Promise<unknown> => {
      let transactions = 0
      const transaction: Warehouse['transaction'] = (work) =>
        held.warehouse.transaction(async (session) => {
          const result = await work(session)
          if (++transactions === dies) throw new Error('killed')
          return result
        })
      const { dialect, interfered, leaseName, rules } = warehouse
      const watched = {
        dialect,
        interfered,
        leaseName,
        rules,
        read: warehouse.read.bind(warehouse),
        transaction,
      }
      const lease = { signal: new AbortController().signal, at: () => stamp(200) }
      return recompute(watched, known, lease).catch((error: Error) => error.message)
    }
    const inTable = async (): Promise<number> => (await rowsOf(warehouse, table)).length

    expect(await run(2)).toBe('killed')
    expect(await inTable()).toBe(500)
    expect(await run(2)).toBe('killed')
    expect(await inTable()).toBe(1000)
    warehouse.rules = fractions(warehouse)
    expect(await run(1)).toBe('killed')
    expect(await readOutdated(warehouse, known)).toMatchObject([{ tenantId: 7, doneTo: null }])
    expect(await run()).toEqual([{ table, tenantId: 7, records: 1200 }])
    expect(await run()).toEqual([])
    const rows = await rowsOf(warehouse, table)
    expect(rows.map(({ labor_tax_cents }) => labor_tax_cents)).toEqual(many.map((_, i) => i * 10_000 * 10))
    expect(await rowsOf(warehouse, 'sync_derived')).toMatchObject([{ records: 1200, done_to: null }])
    await held[Symbol.asyncDispose]()
  })

  it('there may be more tenants than a statement may name', async () => {
    await sql`
      insert into ${sql.raw(warehouse.dialect.views().sql.table('tenants'))} (tenant_id)
      with recursive more (id) as (select 1000 union all select id + 1 from more where id < 67000)
      select id from more`.execute(warehouse.db)
    const [resource] = known.list.filter(({ derived }) => derived.length > 0)
    if (!resource) throw new Error('no derived table')
    const outdated = await readOutdated(warehouse, known)
    expect([outdated.length, outdated.some(({ hasRecords }) => hasRecords)]).toEqual([66_001, false])
    expect(await halfComputed(warehouse, known)).toEqual([])
    const tenants = (await rowsOf(warehouse, 'tenants')).map(({ tenant_id }) => ({
      tenant_id: Number(tenant_id),
      revoked_at: null,
      excepted: false,
    }))
    const ids = tenants.map(({ tenant_id }) => tenant_id)
    expect(await countRecords(warehouse, resource, ids)).toBe(30)
    const { cursors } = await statusOf(sandbox, warehouse, {
      resources: [resource.name],
      nowMicros: systemClock.nowMicros(),
    })
    expect(cursors.reduce((sum, { rows }) => sum + Number(rows), 0)).toBe(30)
  })
})
