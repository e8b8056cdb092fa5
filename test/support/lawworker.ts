/** One run of sync in a process of its own, with a lease as short as a test needs: `node lawworker.js '{…}'`. */
import { Stop } from '../../src/errors.js'
import type { Sandbox } from '../../src/sandbox/index.js'
import { openWarehouse } from '../../src/warehouse/open.js'
import { known, lawSync } from './lawrun.js'
import type { Address } from './process.js'

export interface Order {
  readonly sandbox: Pick<Sandbox, 'url' | 'partnerId' | 'secret'>
  readonly warehouse: Address
  readonly resources: readonly string[]
  readonly leaseMs: number
}

const order = JSON.parse(process.argv[2] ?? '{}') as Order
const warehouse = await openWarehouse({ ...order.warehouse, model: known })
try {
  const { resources, leaseMs } = order
  const report = await lawSync(order.sandbox, warehouse, { resources, leaseMs, timeoutMs: 60_000 })
  process.stdout.write(JSON.stringify({ status: report.status }))
} catch (error) {
  const exitCode = error instanceof Stop ? error.exitCode : 9
  process.stdout.write(JSON.stringify({ exitCode, message: String(error) }))
  process.exitCode = exitCode
} finally {
  await warehouse.close()
}
