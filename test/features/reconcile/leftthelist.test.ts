/** The stories of leftthelist.txt, copies, and orders that left their list. */
import { describe, expect, it } from 'vitest'
import { template } from '../../../src/sandbox/index.js'
import { adoptBy } from '../../support/harness/commands.js'
import { known } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { reopen, rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { copyInto } from '../../support/world/copying.js'
import { stories } from '../../support/world/listwords.js'
import { at, reconcile } from '../../support/world/notes.js'
import { OneList, repaired } from '../../support/world/onelist.js'

const sandbox = await sandboxOfFile({ data: 'none', partnerId: '42' })

stories(
  'test/features/reconcile/leftthelist.txt',
  sandbox,
  {},
  {
    'adopt N': async ({ list }, partnerId) => {
      await adoptBy(sandbox, list.warehouse, { partnerId: partnerId! })
    },
  },
)

describe.each(warehouses())('$name', (kind) => {
  const list = new OneList(sandbox, kind)

  it.each(warehouses())('a copy into $name knows them, too', async (other) => {
    await list.loaded(350)
    for (const id of [20, 30]) list.odd.archived.add(id)
    const left = { ...repaired, reason: 'left_the_list' }
    await list.reconcile(left, { full: true })
    const to = other.address()
    expect(await copyInto(list.address, to, { model: known })).toMatchObject({ status: 'ok' })
    list.warehouse = await reopen(to)
    await list.verify({ status: 'equal', left_the_list: 2 })
    await list.reconcile({ ...left, reconciled: { left_the_list: 2, stored: 0, deleted: 0 } })
    await list.warehouse.close()
  })
})

describe.each(warehouses())('orders on $name', (kind) => {
  const list = new OneList(sandbox, kind, {}, 'repair_orders')

  it('that left the list keep their totals, which know it, too', async () => {
    await list.loaded(40)
    const expectTotals = async (unlistedAt: unknown): Promise<void> => {
      const totals = await rowsOf(list.warehouse, 'repair_order_totals')
      expect(totals.find((row) => row.repair_order_id === 7)).toMatchObject({
        _unlisted_at: unlistedAt,
        _deleted_at: null,
      })
    }
    list.odd.archived.add(7)
    await list.reconcile({}, { full: true })
    await expectTotals(expect.any(String))
    sandbox.store.put(1, 'repair_orders', template('repair_orders', 7, at(55)))
    await list.reconcile({})
    await expectTotals(expect.any(String))
    list.odd.heal()
    await reconcile(sandbox, list.warehouse, { resources: ['repair_orders'], clock: list.clock })
    await expectTotals(null)
  })
})
