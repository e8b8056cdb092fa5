import type { Trial } from '../../sync/ask/check.js'
import type { Command, Invocation } from '../command.js'

/** Fewer than those of a run: whoever asks for the trouble does not want to wait for every retry. */
const attempts = 2

export const checkCommand: Command = {
  name: 'check',
  summary: "try configuration, credentials, every tenant's access and the warehouse, and name what is wrong",
  help: `
Costs one request, and one for each tenant. Changes nothing.`,
  run: async (invocation) => {
    const [{ worstExit }, { checkText, findingOf }] = await Promise.all([
      import('../../sync/ask/check.js'),
      import('../text/check.js'),
    ])
    const made = await examine(invocation)
    const exitCode = worstExit(made)
    const checks = made.map(findingOf)
    const { out } = invocation
    // --quiet silences good news only.
    if (out.json || exitCode === 0)
      await out.answer({ ok: exitCode === 0, exit_code: exitCode, checks }, checkText(checks))
    else out.result(checkText(checks))
    return exitCode
  },
}

async function examine(invocation: Invocation): Promise<Trial[]> {
  const [{ loadConfiguration }, { withConfig }, { checkApi, checkWarehouse, failure }, { Stamps }] =
    await Promise.all([
      import('../configuration.js'),
      import('../context.js'),
      import('../../sync/ask/check.js'),
      import('../../clock.js'),
    ])
  let loaded: ReturnType<typeof loadConfiguration>
  try {
    loaded = loadConfiguration(invocation.globals)
  } catch (error) {
    return [failure('configuration', error, 2)]
  }
  const { config, variables } = loaded
  const { signal } = invocation.signals
  const tenants = config.sync.tenants === 'all' ? null : config.sync.tenants
  return withConfig(invocation, config, async (context) => {
    const { model, clock } = context
    const source = await context.source(new Stamps(clock), attempts)
    return [
      { of: 'configuration', file: config.file ?? '', exitCode: 0 },
      { of: 'environment', variables, exitCode: 0 },
      ...(await checkApi({ source, model, tenants, nowMicros: () => clock.nowMicros(), signal })),
      await checkWarehouse(() => context.warehouse(), config.warehouse.autoMigrate),
    ]
  })
}
