/**
 * A table contains what its watermark claims. What was dropped is created and filled again by the next run, with a walk
 * of the whole list, even if the walk is killed. What the program has learned is filled from `_extra`.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import { type Shape, scalars, text } from '../../../schema/resource.js'
import { Skip } from '../../../src/engine/base/errors.js'
import { template } from '../../../src/sandbox/index.js'
import { copied } from '../../support/harness/clones.js'
import { model } from '../../support/harness/model.js'
import type { Address } from '../../support/harness/place.js'
import { type CursorReport, type RunReport, type Source, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { someOf } from '../../support/harness/size.js'
import { statusLines, statusOf } from '../../support/harness/status.js'
import {
  bothWarehouses,
  contents,
  migrate,
  reopen,
  rowsOf,
  typed,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'

const sandbox = await sandboxOfFile()
const chosen = ['customers', 'notes', 'integrator_tags']
/** Two pages. */
const records = 13
const pageSizes = [10]
const at = (n: number): string => new Date(Date.parse('2026-01-01T00:00:00Z') + n * 60_000).toISOString()

beforeAll(() => {
  for (const tenant of [1, 2]) {
    sandbox.store.addTenant({ id: tenant })
    for (let id = 1; id <= records; id++) {
      const customer = { ...template('customers', id, at(id)), phones: [{ number: `${id}` }] }
      sandbox.store.put(tenant, 'customers', { ...customer, nickname: `the ${id}th`, hobbies: ['chess'] })
      sandbox.store.put(tenant, 'notes', template('notes', id, at(id)))
      if (id <= 3) sandbox.store.put(tenant, 'integrator_tags', template('integrator_tags', id, at(id)))
    }
  }
})

const of = (report: RunReport, resource: string): CursorReport[] =>
  report.cursors.filter((cursor) => cursor.resource === resource)
const requests = (report: RunReport, resource: string): number[] =>
  of(report, resource).map((cursor) => cursor.requests)

/** Somebody drops something, and the next run makes it again. */
const loses = async (warehouse: Warehouse, what = 'drop table customer_phones') => {
  await typed(warehouse, what)
  return migrate(warehouse)
}

describe.each(bothWarehouses())('$name', (kind) => {
  /** For what is above the dialects. */
  const test = it.runIf(warehouses().includes(kind))
  const run = (warehouse: Warehouse, options = {}): Promise<RunReport> =>
    sync(sandbox, warehouse, { resources: chosen, pageSizes, ...options })
  let synced: Address
  let wanted: unknown
  /** A warehouse of its own that has been synced. */
  const begin = async () => {
    const address = await copied(synced)
    return { address, warehouse: await reopen(address) }
  }
  const demands = async (warehouse: Warehouse) =>
    (await rowsOf(warehouse, 'sync_cursors')).filter(({ refill }) => refill !== null)

  // These leave the warehouse as they found it.
  let usual: Awaited<ReturnType<typeof begin>>
  beforeAll(async () => {
    synced = await kind.migrated()
    const first = await reopen(synced)
    await run(first)
    wanted = await contents(first)
    await first.close()
    usual = await begin()
  })
  afterAll(() => usual.warehouse.close())

  const dropped: [what: string, resource: string, bringing: string[], drop: string][] = [
    ['a child table', 'customers', ['customers'], 'drop table customer_phones'],
    ['a resource’s own table', 'customers', ['customers'], 'drop table customers'],
    ['a table of records inside of others', 'integrator_tags', chosen, 'drop table integrator_tags'],
    ['a column', 'notes', ['notes'], 'alter table notes drop column description'],
    [
      'a column of a child table',
      'customers',
      ['customers'],
      'alter table customer_phones drop column number',
    ],
  ]
  // Which lists bring the rows of a table doesn't depend on the database.
  it.each(warehouses().includes(kind) ? dropped : someOf(3, dropped))(
    '%s that was dropped is filled by the next run, and the run after it is idle',
    async (_what, resource, bringing, drop) => {
      const { warehouse } = usual
      await loses(warehouse, drop)
      // All lists that may contain its rows are read whole, and no rows are reported missing in a table that was
      // created empty.
      expect(new Set((await demands(warehouse)).map((cursor) => cursor.resource))).toEqual(new Set(bringing))
      const registers = (await rowsOf(warehouse, 'sync_registers')).filter((row) => row.resource === resource)
      expect(registers).toHaveLength(drop === `drop table ${resource}` ? 0 : 2)
      const report = await run(warehouse)
      expect(report.status).toBe('ok')
      expect(of(report, resource).map(({ completeness }) => completeness)).toEqual(['proven', 'proven'])
      expect(await contents(warehouse)).toEqual(wanted)
      expect(await demands(warehouse)).toEqual([])
      const idle = await run(warehouse)
      expect(idle.cursors.map((cursor) => cursor.requests)).toEqual(idle.cursors.map(() => 1))
      const reconciled = await run(warehouse, { mode: 'reconcile' })
      expect(reconciled).toMatchObject({ status: 'ok', rows_upserted: 0, rows_deleted: 0 })
    },
  )

  it('cursors that have lost nothing are not read again, and an index comes back', async () => {
    const { warehouse } = usual
    await typed(warehouse, 'drop index notes_by_updated_at')
    const made = (await loses(warehouse)).map(({ what }) => what)
    expect(made).toEqual(['create table', 'create index on tenant_id, updated_at'])
    const report = await run(warehouse)
    expect(requests(report, 'notes')).toEqual([1, 1])
    // What is new first, then the whole list.
    expect(requests(report, 'customers')).toEqual([1 + 3, 1 + 3])
  })

  it('for the ids of nested items, only a list that has shown one is read whole', async () => {
    const { warehouse } = await begin()
    const { db } = warehouse
    const list = { resource: 'repair_orders', watermark: '2026-01-02T00:00:00.000000Z' }
    const lists = [1, 101].map((tenant_id) => ({ ...list, tenant_id }))
    await warehouse.write([db.insertInto('sync_cursors').values(lists).compile()])
    const shown = {
      tenant_id: 1,
      resource: 'repair_orders',
      path: 'payments[].id',
      kind: 'unknown_field',
      detail: '',
    }
    for (const isShown of [false, true]) {
      if (isShown) await warehouse.write([db.insertInto('sync_drift').values(shown).compile()])
      await typed(warehouse, 'drop index repair_order_payments_by_id')
      await typed(warehouse, 'alter table repair_order_payments drop column id')
      await migrate(warehouse)
      const asked = (await demands(warehouse)).map(({ tenant_id, resource }) => `${tenant_id} ${resource}`)
      expect(asked).toEqual(isShown ? ['1 repair_orders'] : [])
    }
    await warehouse.close()
  })

  test('an interrupted refill walk continues in the next run, whatever that is asked to do', async () => {
    const { warehouse } = await begin()
    await loses(warehouse)
    sandbox.script([{ when: { resource: 'customers', page: 2 }, fault: { kind: 'status', status: 403 } }])
    expect(of(await run(warehouse), 'customers').map(({ status }) => status)).toEqual(['failed', 'failed'])
    sandbox.script([])
    expect((await demands(warehouse)).map(({ resource }) => resource)).toEqual(['customers', 'customers'])
    const nowMicros = BigInt(Date.now()) * 1000n
    const lines = statusLines(await statusOf(sandbox, warehouse, { resources: chosen, nowMicros }))
    expect(lines.join('\n')).toMatch(
      /! tenants 1, 2: customers: the whole list is being read, because the table customer_phones was created .*: 10 of 13 records so far/,
    )
    const notices: [string, Record<string, unknown>][] = []
    const report = await run(warehouse, { mode: 'reconcile', notices })
    expect(notices.map(([message]) => message)).toContain('Resuming a walk')
    expect(report.status).toBe('ok')
    expect(await contents(warehouse)).toEqual(wanted)
    expect(await demands(warehouse)).toEqual([])
    await warehouse.close()
  })

  test('a walk that was interrupted before the table was dropped is not resumed', async () => {
    const warehouse = await reopen(await kind.migrated())
    sandbox.script([{ when: { resource: 'customers', page: 2 }, fault: { kind: 'status', status: 403 } }])
    await run(warehouse)
    sandbox.script([])
    await loses(warehouse)
    expect((await run(warehouse)).status).toBe('ok')
    expect(await rowsOf(warehouse, 'customer_phones')).toHaveLength(2 * records)
    await warehouse.close()
  })

  test('a refill that is requested during a walk outlives the walk', async () => {
    const { address, warehouse } = await begin()
    await loses(warehouse)
    const other = await reopen(address)
    let asked = 0
    /** After what is new in both: when the first page is requested again to close the books, some pages are stored. */
    const dropInTheMiddle = async (): Promise<void> => {
      if (++asked !== 5) return
      await loses(other)
    }
    const around = (source: Source): Source =>
      new Between(source, async (request, ask) => {
        if (request.path === 'customers') await dropInTheMiddle()
        return ask()
      })
    expect((await run(warehouse, { around, concurrency: 1 })).status).toBe('ok')
    // Pages stored before have lost their rows, and the refill request is newer than the walks of both tenants.
    expect((await rowsOf(warehouse, 'customer_phones')).length).toBeLessThan(2 * records)
    expect(await demands(warehouse)).toHaveLength(2)
    await run(warehouse)
    expect(await demands(warehouse)).toEqual([])
    await other.close()
    expect(await contents(warehouse)).toEqual(wanted)
    await warehouse.close()
  })

  test('a walk that continues despite a refill requested meanwhile, and is then interrupted, is not resumed', async () => {
    const address = await kind.migrated()
    const warehouse = await reopen(address)
    const other = await reopen(address)
    // The first pages are stored before the table is dropped, the next two after it, and the sixth never arrives.
    const around = (source: Source): Source =>
      new Between(source, async (request, ask) => {
        if (request.path !== 'customers' || request.tenantId !== 1) return ask()
        if (request.page === 4) {
          await loses(other)
        }
        if (request.page === 6) throw new Skip('cut short', { reason: 'refused' })
        return ask()
      })
    const sizes = { pageSizes: [2], readAhead: 0, concurrency: 1 }
    const cut = of(await run(warehouse, { around, mode: 'full', ...sizes }), 'customers')
    expect(cut[0]).toMatchObject({ tenant_id: 1, status: 'failed' })
    const [stored] = (await rowsOf(warehouse, 'sync_cursors')).filter(
      ({ tenant_id, resource }) => tenant_id === 1 && resource === 'customers',
    )
    expect(stored).toMatchObject({ refill: expect.any(String), walk: { mode: 'full', refill: null } })
    expect((await run(warehouse, sizes)).status).toBe('ok')
    expect(await rowsOf(warehouse, 'customer_phones')).toHaveLength(2 * records)
    await other.close()
    await warehouse.close()
  })

  it('a field and a nested list that a later program declares are filled by a walk, as if they had been known from the beginning', async () => {
    const { address, warehouse } = await begin()
    await warehouse.close()
    const list = { table: 'hobbies', column: 'hobby', key: 'position', of: text('Hobby.') } as const
    // A later version of the program declares more fields of customers.
    const customers = resources['customers']!
    const more: Shape = { nickname: text('Nickname.'), hobbies: scalars(list, 'Hobbies.') }
    const learned = model({
      ...resources,
      customers: { ...customers, fields: { ...customers.fields, ...more } },
    })
    const next = await reopen(address, learned)
    expect((await migrate(next)).map(({ what }) => what.toLowerCase())).toContain('add column nickname text')
    const report = await run(next, { known: learned })
    // What is new first, then the whole list.
    expect(requests(report, 'customers')).toEqual([1 + 3, 1 + 3])
    expect(requests(report, 'notes')).toEqual([1, 1])
    const rows = await rowsOf(next, 'customers')
    expect(rows.map(({ nickname }) => nickname)).toEqual(rows.map(({ id }) => `the ${id}th`))
    expect(new Set(rows.map(({ _extra }) => _extra))).toEqual(new Set([null]))
    expect(await rowsOf(next, 'customer_hobbies')).toHaveLength(2 * records)
    const fresh = await reopen(kind.address(), learned)
    await migrate(fresh)
    await run(fresh, { known: learned })
    expect(await contents(next, learned)).toEqual(await contents(fresh, learned))
    await fresh.close()
    await next.close()
  })

  it('a column that cannot be added again only fails its table', async () => {
    const { warehouse } = await begin()
    await typed(warehouse, 'alter table notes rename column _synced_at to seen')
    expect(await migrate(warehouse)).toEqual([])
    const report = await run(warehouse)
    expect(report.status).toBe('partial')
    expect(of(report, 'notes').map(({ reason }) => reason)).toEqual(['not_migrated', 'not_migrated'])
    expect(of(report, 'customers').map(({ status }) => status)).toEqual(['ok', 'ok'])
    await warehouse.close()
  })
})
