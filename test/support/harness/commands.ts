/** What commands beside runs do with a warehouse, in this process and with every seam of runs.ts. Doesn't use vitest. */
import { adopt } from '../../../src/features/adopt/work.js'
import { forgetTenant } from '../../../src/features/forget/work.js'
import { makePlan, type RunPlan } from '../../../src/features/plan/work.js'
import { type Replayed, replayQuarantine } from '../../../src/features/quarantine/work.js'
import { runVerify, type VerifyReport } from '../../../src/features/reconcile/verifywork.js'
import { tellWhy, type Why } from '../../../src/features/why/work.js'
import { randomFrom } from '../world/random.js'
import { type Dependencies, depsOf, type RunOptions, type Target } from './runs.js'
import type { Warehouse } from './warehouse.js'

export * from '../../../src/features/forget/customers.js'

export * from '../../../src/features/health/gauges.js'
export * from '../../../src/features/jobs/jobfiles.js'
export * from '../../../src/features/reconcile/verifywork.js'
export * from '../../../src/features/reconcile/words.js'
export * from '../../../src/features/runs/work.js'

/** Work with the dependencies of a run, which are closed afterwards. */
export async function carryOut<T>(
  sandbox: Target,
  warehouse: Warehouse,
  work: (deps: Dependencies) => Promise<T>,
  options: RunOptions = {},
): Promise<T> {
  const { deps, close } = await depsOf(sandbox, warehouse, options)
  return work(deps).finally(close)
}

export interface VerifyOptions extends RunOptions {
  readonly sample?: number
}

export const verify = (
  sandbox: Target,
  warehouse: Warehouse,
  { full = false, sample = 0, tenants = null, resources = ['notes'], ...options }: VerifyOptions = {},
): Promise<VerifyReport> =>
  carryOut(
    sandbox,
    warehouse,
    (deps) => runVerify({ ...deps, random: randomFrom(3) }, { tenants, resources }, { full, sample }),
    options,
  )

/** What a run would cost. `stamped`: where its stamps come from, if the warehouse has no tables yet. */
export const plan = (
  sandbox: Target,
  warehouse: Warehouse,
  options: RunOptions = {},
  stamped = warehouse,
): Promise<RunPlan> => {
  const { mode = 'sync', tenants = null, resources = ['notes'], full = false, ranges, ...more } = options
  const request = { mode, job: null, tenants, resources, full, ranges }
  const work = (deps: Dependencies) => makePlan({ ...deps, warehouse }, request, 0)
  return carryOut(sandbox, stamped, work, { readAhead: 1, ...more })
}

export const why = (
  sandbox: Target,
  warehouse: Warehouse,
  {
    table = 'notes',
    id,
    tenants = null,
  }: { table?: string; id: number | string; tenants?: readonly number[] | null },
  options: RunOptions = {},
): Promise<Why> =>
  carryOut(sandbox, warehouse, (deps) => tellWhy(deps, { table, id: String(id), tenants }), options)

export const replay = (
  sandbox: Target,
  warehouse: Warehouse,
  options: RunOptions = {},
): Promise<Replayed[]> =>
  carryOut(
    sandbox,
    warehouse,
    (deps) => replayQuarantine(deps, { tenants: null, resources: options.resources ?? null }),
    options,
  )

/** The warehouse belongs to that source from now on, or to that partner of it. */
export const adoptBy = (
  sandbox: Target,
  warehouse: Warehouse,
  { keeps = false, partnerId = sandbox.partnerId }: { keeps?: boolean; partnerId?: string } = {},
): ReturnType<typeof adopt> =>
  carryOut(sandbox, warehouse, ({ source, ...deps }) => adopt(deps, { ...source.address, partnerId }, keeps))

export const forget = (sandbox: Target, warehouse: Warehouse, tenantId: number) =>
  carryOut(sandbox, warehouse, (deps) => forgetTenant(deps, tenantId))
