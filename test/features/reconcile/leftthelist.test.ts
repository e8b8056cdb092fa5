/** The stories of leftthelist.txt, and of orders that left their list. */
import { adoptBy } from '../../support/harness/commands.js'
import { known } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { bothWarehouses, reopen, rowsOf } from '../../support/harness/warehouse.js'
import { copyInto } from '../../support/world/copying.js'
import type { Words } from '../../support/world/liststory.js'
import { stories } from '../../support/world/listwords.js'
import { OneList } from '../../support/world/onelist.js'

const sandbox = await sandboxOfFile({ data: 'none', partnerId: '42' })
const [sqlite] = bothWarehouses()

const words: Words = {
  'adopt N': async ({ list }, partnerId) => {
    await adoptBy(sandbox, list.warehouse, { partnerId: partnerId! })
  },
  'go on in a copy': async ({ list }) => {
    const to = sqlite!.address()
    const { status } = await copyInto(list.address, to, { model: known })
    list.warehouse = await reopen(to)
    return `copied ${status}`
  },
  'totals of N': async ({ list }, id) => {
    const totals = await rowsOf(list.warehouse, 'repair_order_totals')
    const { _unlisted_at, _deleted_at } = totals.find((row) => row.repair_order_id === Number(id))!
    return `${_unlisted_at === null ? 'listed' : 'unlisted'}, ${_deleted_at === null ? 'live' : 'deleted'}`
  },
}

stories('test/features/reconcile/leftthelist.txt', sandbox, {}, words)
const orders = 'repair_orders'
stories(
  `test/features/reconcile/leftorders.txt`,
  sandbox,
  {},
  words,
  (kind) => new OneList(sandbox, kind, {}, orders),
)
