import { checkBelonging, storeBelonging } from '../warehouse/sourceidentity.js'
import type { Grants } from './granted.js'
import type { WritingRun } from './runcontext.js'
import { now } from './tenant.js'

/**
 * A warehouse without a source takes the first one that grants a tenant: a mistyped address or partner, which grants
 * none, must not have to be adopted away.
 */
export async function takeSource(run: WritingRun, { granted }: Grants): Promise<void> {
  const { warehouse, source } = run
  if (granted.length === 0 || (await checkBelonging(warehouse, source.address))) return
  await warehouse.write([storeBelonging(warehouse, source.address, now(run))])
}
