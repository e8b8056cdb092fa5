/**
 * Makes one run of the sync in its own process, `node worker.js '{…}'`. The tests set its use of the writer thread here,
 * because the program's configuration doesn't offer that.
 */
import { Stop } from '../../../src/engine/base/errors.js'
import { migrate } from '../../../src/engine/warehouse/layout/migrate.js'
import { openWarehouse } from '../../../src/engine/warehouse/openwarehouse.js'
import { compiledOf } from './compiled.js'
import type { Address } from './place.js'
import { known, sync, type Target } from './runs.js'
import { pagesToThreads } from './thread.js'

export interface Order {
  readonly sandbox: Target
  readonly warehouse: Address
  readonly resources: readonly string[]
  readonly concurrency: number
  readonly pageSize: number
}

export const workerScript = compiledOf('test/support/harness/worker.ts')

/** An order as the process's argument: JSON has no Infinity. */
export const orderText = ({ sandbox, warehouse, ...rest }: Order): string => {
  const { url, partnerId, secret } = sandbox
  return JSON.stringify({
    ...rest,
    sandbox: { url, partnerId, secret },
    warehouse:
      warehouse.threadFrom === Number.POSITIVE_INFINITY ? { ...warehouse, threadFrom: 1e15 } : warehouse,
  })
}

async function work({ sandbox, warehouse: address, ...options }: Order): Promise<void> {
  const warehouse = await openWarehouse({ ...address, model: known })
  try {
    await migrate(warehouse)
    const { status } = await sync(sandbox, warehouse, { ...options, timeoutMs: 60_000 })
    process.stdout.write(JSON.stringify({ status, pagesToThreads: pagesToThreads() }))
  } catch (error) {
    const exitCode = error instanceof Stop ? error.exitCode : 9
    process.stdout.write(JSON.stringify({ exitCode, message: String(error) }))
    process.exitCode = exitCode
  } finally {
    await warehouse.close()
  }
}

const text = process.argv[2]
if (text?.startsWith('{')) await work(JSON.parse(text) as Order)
