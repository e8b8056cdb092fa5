/** What a list shows is live here, whatever a deletion mark says about the future. */
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import { addMicros, fromMicros } from '../../../src/engine/base/timestamp.js'
import { createSandbox, template } from '../../../src/sandbox/index.js'
import { known, type Note, type Source, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { contents, open, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'
import { HandClock } from '../../support/world/clocks.js'
import { EventBench } from '../../support/world/events.js'
import { atSource, fill, liveIds, only, reconcile, timeOf, verifyNotes } from '../../support/world/notes.js'

const sandbox = await sandboxOfFile()
const yearsAhead = '2099-03-01T13:00:00.000000Z'

describe.each(warehouses())('$name', (kind) => {
  const clock = new HandClock('2026-03-01T12:00:00Z', 10n)

  /** A warehouse in which a row is marked deleted by somebody whose clock is ahead. */
  async function marked(count: number, id: number, at = yearsAhead): Promise<Warehouse> {
    sandbox.reset()
    sandbox.store.addTenant({ id: 1 })
    fill(sandbox, count)
    const warehouse = await open(kind)
    await sync(sandbox, warehouse, { resources: ['notes'], clock })
    await mark(warehouse, id, at)
    return warehouse
  }

  const mark = (warehouse: Warehouse, id: number, at: string): Promise<unknown> =>
    warehouse.write([
      warehouse.db
        .updateTable('notes')
        .set({ _deleted_at: at, _synced_at: at })
        .where('tenant_id', '=', 1)
        .where('id', '=', id)
        .compile(),
    ])

  const verify = (warehouse: Warehouse, full: boolean) => verifyNotes(sandbox, warehouse, { clock, full })

  it.each([
    // The walk at its beginning reads the newest again, and stores them.
    [80, 75, false, 0],
    [80, 20, true, 1],
    [900, 300, false, 1],
    [900, 300, true, 1],
    [900, 899, true, 0],
  ])(
    'of %i, a row that is marked deleted ahead of the clocks (%i) is one again (full: %s)',
    async (count, id, full, stored) => {
      const warehouse = await marked(count, id)
      expect((await verify(warehouse, full)).cursors[0]).toMatchObject({ status: 'differs', missing: 1 })
      const report = await reconcile(sandbox, warehouse, { clock, full })
      expect(only(report)).toMatchObject({
        status: 'ok',
        reconciled: { stored, source: count, warehouse: count },
      })
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
      expect((await verify(warehouse, true)).status).toBe('equal')
      await warehouse.close()
    },
  )

  it.each([
    ['on the page that is read twice', 899],
    ['on a page that is read once', 750],
  ])(
    'a row %s that is marked while the list is read is one again, if the source has it',
    async (_name, id) => {
      sandbox.reset()
      sandbox.store.addTenant({ id: 1 })
      fill(sandbox, 900)
      const warehouse = await open(kind)
      await sync(sandbox, warehouse, { resources: ['notes'], clock })
      const around = (source: Source): Source =>
        new Between(source, async ({ page }, ask) => {
          const answer = await ask()
          if (page === 9) await mark(warehouse, id, fromMicros(clock.nowMicros()))
          return answer
        })
      const report = await reconcile(sandbox, warehouse, { clock, full: true, around, readAhead: 0 })
      expect(only(report)?.status).toBe('ok')
      expect(await liveIds(warehouse)).toEqual(atSource(sandbox))
      await warehouse.close()
    },
  )

  describe('rows stamped an hour ahead', () => {
    const resources = ['customers']
    // Leases go by the clock of this machine.
    const hourAhead = (): string => addMicros(fromMicros(systemClock.nowMicros()), 3_600_000_000n)
    const put = (id: number, at: number): void =>
      sandbox.store.put(1, 'customers', template('customers', id, timeOf(at)))

    /** Writes a stamp into all rows of a customer, as somebody with a database tool might. */
    async function stamp(warehouse: Warehouse, id: number, columns: object): Promise<void> {
      const _synced_at = hourAhead()
      const { db } = warehouse
      const own = { _synced_at, ...columns }
      const rows = db.updateTable('customers').set(own).where('tenant_id', '=', 1)
      const children = known.byName.get('customers')!.tables.slice(1)
      await warehouse.write([
        rows.where('id', '=', id).compile(),
        ...children.map(({ name, owner }) =>
          db
            .updateTable(name as 'customers')
            .set({ _synced_at })
            .where(sql.ref(owner!), '=', id)
            .compile(),
        ),
      ])
    }

    /** A marked row whose record changes, one with a wrong value in the same version, and one whose record is gone. */
    async function stamped(): Promise<Warehouse> {
      sandbox.reset()
      sandbox.store.addTenant({ id: 1 })
      fill(sandbox, 8, { resource: 'customers' })
      const warehouse = await open(kind)
      await sync(sandbox, warehouse, { resources })
      await stamp(warehouse, 2, { _deleted_at: hourAhead() })
      await stamp(warehouse, 8, { detail: 'not the source’s' })
      const phones = warehouse.db.deleteFrom('customer_phones' as 'customers')
      await warehouse.write([phones.where(sql.ref('customer_id'), '=', 8).compile()])
      put(2, 9)
      return warehouse
    }

    async function expectShown(warehouse: Warehouse): Promise<void> {
      const fresh = await open(kind)
      await sync(sandbox, fresh, { resources })
      expect(await contents(warehouse)).toEqual(await contents(fresh))
      await fresh.close()
      await warehouse.close()
    }

    it('the next walk stores what the source shows, and says so', async () => {
      const warehouse = await stamped()
      const notices: Parameters<Note>[] = []
      expect((await sync(sandbox, warehouse, { resources, notices })).status).toBe('ok')
      expect(notices).toContainEqual([
        expect.stringContaining('stamped ahead of all that was recorded'),
        expect.objectContaining({ resource: 'customers', records: 2 }),
      ])
      await expectShown(warehouse)
    })

    it('so does a ring', async () => {
      const warehouse = await stamped()
      const events = await EventBench.open(sandbox, warehouse)
      await events.put({ tenant: 1, resource: 'customers', type: 'Customer', id: 2 })
      expect(await events.turn()).toEqual({ by: 'done' })
      expect(await events.states()).toEqual(['settled'])
      await events.inbox.close()
      await expectShown(warehouse)
    })

    it('so does reconcile, which also marks those that are gone or have left the list', async () => {
      const warehouse = await stamped()
      for (const id of [4, 5]) await stamp(warehouse, id, {})
      sandbox.store.remove(1, 'customers', 5)
      sandbox.store.collection(1, 'customers').odd.archived.add(4)
      const report = await reconcile(sandbox, warehouse, { resources, full: true })
      expect(only(report, 'customers')).toMatchObject({
        ...{ status: 'ok', reason: 'left_the_list' },
        reconciled: { deleted: 1, left_ids: [4] },
      })
      const unlisted = (await rowsOf(warehouse, 'customers')).filter(({ _unlisted_at: at }) => at !== null)
      expect(unlisted.map(({ id }) => id)).toEqual([4])
      expect(await liveIds(warehouse, 'customers')).toEqual(atSource(sandbox, 'customers'))
      await warehouse.close()
    })

    it('a list of names goes by what it shows, too', async () => {
      const names = { resources: ['customer_payment_types'] }
      const small = await createSandbox({ tenants: 1, repairOrders: 0, seed: 5 })
      const warehouse = await open(kind)
      await sync(small, warehouse, names)
      const live = async (): Promise<unknown[]> =>
        (await rowsOf(warehouse, 'customer_payment_types')).flatMap(({ name, _deleted_at }) =>
          _deleted_at === null ? name : [],
        )
      const before = await live()
      const [marked, renamed] = before
      const _synced_at = hourAhead()
      for (const [name, columns] of [
        [marked, { _synced_at, _deleted_at: _synced_at }],
        [renamed, { _synced_at, name: 'Not the source’s' }],
      ])
        await warehouse.write([
          warehouse.db
            .updateTable('customer_payment_types' as 'notes')
            .set(columns as object)
            .where(sql.ref('name'), '=', name)
            .compile(),
        ])
      await sync(small, warehouse, names)
      expect(await live()).toEqual(before)
      await warehouse.close()
      await small.close()
    })
  })
})
