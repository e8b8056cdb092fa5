import type { Config } from '../../config/config.js'
import type { Trial } from '../../sync/ask/trials.js'
import type { Command, Invocation } from '../command.js'
import type { CommandContext } from '../context.js'

/** Fewer than those of a run: whoever asks for the trouble does not want to wait for every retry. */
const attempts = 2

export const checkCommand: Command = {
  name: 'check',
  summary: "try configuration, credentials, every tenant's access and the warehouse, and name what is wrong",
  help: `
Costs one request for the grants, one for each tenant, one for each resource of one tenant, and 15 at most for the
questions about the source's ways (order, totals, times, ids, headers), asked of the largest list of that tenant. What
those find is kept in the warehouse, if there is one, and compared the next time. Writes nothing else.`,
  run: async (invocation) => {
    const [{ worstExit }, { checkText, findingOf }] = await Promise.all([
      import('../../sync/ask/trials.js'),
      import('../text/check.js'),
    ])
    const made = await examine(invocation)
    const exitCode = worstExit(made)
    const checks = made.map(findingOf)
    const [ways] = made.flatMap((trial) =>
      trial.of === 'probe' ? [{ ...trial.probe, changes: trial.changes }] : [],
    )
    const document = { ok: exitCode === 0, exit_code: exitCode, checks, probe: ways ?? null }
    const { out } = invocation
    // --quiet silences good news only.
    if (out.json || exitCode === 0) await out.answer(document, checkText(made))
    else out.result(checkText(made))
    return exitCode
  },
}

async function examine(invocation: Invocation): Promise<Trial[]> {
  const [{ loadConfiguration }, { withConfig }, { failure }] = await Promise.all([
    import('../configuration.js'),
    import('../context.js'),
    import('../../sync/ask/trials.js'),
  ])
  let loaded: ReturnType<typeof loadConfiguration>
  try {
    loaded = loadConfiguration(invocation.globals)
  } catch (error) {
    return [failure('configuration', error, 2)]
  }
  const { config, variables } = loaded
  return withConfig(invocation, config, async (context) => [
    { of: 'configuration', file: config.file ?? '', exitCode: 0 },
    { of: 'environment', variables, exitCode: 0 },
    ...(await examineParts(context, config)),
  ])
}

async function examineParts(context: CommandContext, config: Config): Promise<Trial[]> {
  const [{ checkApi, checkOwner, checkRevoked, checkWarehouse, checkWays }, { Stamps }] = await Promise.all([
    import('../../sync/ask/check.js'),
    import('../../clock.js'),
  ])
  const { model, clock, invocation } = context
  const { signal } = invocation.signals
  const source = await context.source(new Stamps(clock), attempts)
  const tenants = config.sync.tenants === 'all' ? null : config.sync.tenants
  const nowMicros = (): bigint => clock.nowMicros()
  const except = config.sync.exceptTenants
  const { trials, largest, granted } = await checkApi({ source, model, tenants, except, nowMicros, signal })
  const stored = await checkWarehouse(() => context.readingWarehouse(), config.warehouse.autoMigrate)
  const warehouse = stored.of === 'warehouse' ? await context.readingWarehouse() : undefined
  const owner = warehouse ? await checkOwner(warehouse, source.address) : []
  const keepIn = owner.length === 0 ? warehouse : undefined
  const ways = largest ? await checkWays({ source, ...largest, nowMicros, signal }, keepIn) : []
  const revoked = keepIn && granted ? await checkRevoked(keepIn, { tenants, except, granted }) : []
  return [...trials, ...revoked, ...ways, stored, ...owner]
}
