/** What a list shows is live here, whatever stamps say about the future. reconcile.txt has marks of deletion. */
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import { addMicros, fromMicros } from '../../../src/engine/base/timestamp.js'
import { known, sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { contents, kept, rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { EventBench } from '../../support/world/events.js'
import { timeOf } from '../../support/world/notes.js'
import { OneList, repaired } from '../../support/world/onelist.js'

const sandbox = await sandboxOfFile()
describe.each(warehouses())('rows stamped an hour ahead on $name', (kind) => {
  // Leases go by the clock of this machine.
  const list = new OneList(sandbox, kind, { clock: systemClock }, 'customers')
  const other = kept(kind)
  const hourAhead = (): string => addMicros(fromMicros(systemClock.nowMicros()), 3_600_000_000n)

  /** Writes a stamp into all rows of a customer, as somebody with a database tool might. */
  async function stamp(id: number, columns: object): Promise<void> {
    const _synced_at = hourAhead()
    await list.write({ _synced_at, ...columns }, id)
    for (const { name, owner } of known.byName.get('customers')!.tables.slice(1)) {
      const rows = list.warehouse.db.updateTable(name as 'customers').set({ _synced_at })
      await list.warehouse.write([rows.where(sql.ref(owner!), '=', id).compile()])
    }
  }

  /** A marked row whose record changes, one with a wrong value in the same version, and one whose record is gone. */
  async function stamped(): Promise<void> {
    await list.loaded(8)
    await stamp(2, { _deleted_at: hourAhead() })
    await stamp(8, { detail: 'not the source’s' })
    const phones = list.warehouse.db.deleteFrom('customer_phones' as 'customers')
    await list.warehouse.write([phones.where(sql.ref('customer_id'), '=', 8).compile()])
    list.put(2, timeOf(9))
  }

  async function expectShown(): Promise<void> {
    const fresh = await other.open()
    await sync(sandbox, fresh, { resources: ['customers'] })
    expect(await contents(list.warehouse)).toEqual(await contents(fresh))
  }

  it('the next walk stores what the source shows, and says so', async () => {
    await stamped()
    await list.sync({ status: 'ok' })
    expect(list.notices).toContainEqual([
      expect.stringContaining('stamped ahead of all that was recorded'),
      expect.objectContaining({ resource: 'customers', records: 2 }),
    ])
    await expectShown()
  })

  it('so does reconcile, which also marks those that are gone or have left the list', async () => {
    await stamped()
    for (const id of [4, 5]) await stamp(id, {})
    list.remove(5)
    list.odd.archived.add(4)
    const reconciled = { deleted: 1, left_ids: [4] }
    await list.reconcile({ ...repaired, reason: 'left_the_list', reconciled }, { full: true })
    const unlisted = (await rowsOf(list.warehouse, 'customers')).filter((row) => row._unlisted_at !== null)
    expect(unlisted.map(({ id }) => id)).toEqual([4])
  })

  it('a list of names goes by what it shows, too', async () => {
    const names = { resources: ['customer_payment_types'] }
    await list.begin(0)
    sandbox.store.tenant(1).strings.set('customer_payment_types', ['Cash', 'Check', 'Barter'])
    const warehouse = await other.open()
    await sync(sandbox, warehouse, names)
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
    ]) {
      const rows = warehouse.db.updateTable('customer_payment_types' as 'notes').set(columns as object)
      await warehouse.write([rows.where(sql.ref('name'), '=', name).compile()])
    }
    await sync(sandbox, warehouse, names)
    expect(await live()).toEqual(before)
  })

  // The last one: its inbox is a table of the warehouse on Postgres.
  it('so does a ring', async () => {
    await stamped()
    const events = await EventBench.open(sandbox, list.warehouse)
    await events.put({ tenant: 1, resource: 'customers', type: 'Customer', id: 2 })
    expect([await events.turn(), await events.states()]).toEqual([{ by: 'done' }, ['settled']])
    await events.inbox.close()
    await expectShown()
  })
})
