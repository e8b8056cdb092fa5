import { checkBelonging, storeBelonging } from '../warehouse/sourceidentity.js'
import type { Grants } from './granted.js'
import { now, type RunContext } from './runcontext.js'

/**
 * A warehouse without a source takes the first one that grants a tenant: a mistyped address or partner, which grants
 * none, must not have to be adopted away.
 */
export async function takeSource(context: RunContext, { granted }: Grants): Promise<void> {
  const { warehouse, source } = context
  if (granted.length === 0 || (await checkBelonging(warehouse, source.address))) return
  await warehouse.write([storeBelonging(warehouse, source.address, now(context))])
}
