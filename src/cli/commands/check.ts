import type { CheckFinding } from '../../sync/ask/check.js'
import type { Command, Invocation } from '../command.js'

/** Nobody who asks what is wrong wants to wait for every retry of a run. */
const attempts = 2

export const checkCommand: Command = {
  name: 'check',
  summary: "try configuration, credentials, every tenant's access and the warehouse, and say what is wrong",
  help: `
Costs one request, and one for each tenant. Changes nothing.`,
  run: async (invocation) => {
    const { checkText, worstExit } = await import('../../sync/ask/check.js')
    const findings = await examine(invocation)
    const exitCode = worstExit(findings)
    const { out } = invocation
    if (out.json) {
      const checks = findings.map(({ what, ok, found, hint }) => ({ what, ok, found, hint: hint ?? null }))
      await out.document({ ok: exitCode === 0, exit_code: exitCode, checks })
    } else if (exitCode === 0) out.print(checkText(findings))
    else out.result(checkText(findings))
    return exitCode
  },
}

async function examine(invocation: Invocation): Promise<CheckFinding[]> {
  const [{ load }, { withConfig }, { checkApi, checkWarehouse, failure }, { Stamps }] = await Promise.all([
    import('../../config/load.js'),
    import('../context.js'),
    import('../../sync/ask/check.js'),
    import('../../clock.js'),
  ])
  const loaded = attempt(() =>
    load({ file: invocation.globals.config, environment: process.env, workingDirectory: process.cwd() }),
  )
  if ('error' in loaded) return [failure('configuration', loaded.error, 2)]
  const { config, variables } = loaded.value
  const { signal } = invocation.signals
  const tenants = config.sync.tenants === 'all' ? null : config.sync.tenants
  return withConfig(invocation, config, async (context) => {
    const { model, clock } = context
    const source = await context.source(new Stamps(clock), attempts)
    return [
      { what: 'configuration', ok: true, found: config.file ?? '' },
      { what: 'environment', ok: true, found: environmentText(variables) },
      ...(await checkApi({ source, model, tenants, nowMicros: () => clock.nowMicros(), signal })),
      await checkWarehouse(() => context.warehouse(), config.warehouse.autoMigrate),
    ]
  })
}

const environmentText = (variables: readonly string[]): string =>
  variables.length === 0 ? 'nothing is taken from it' : `${variables.join(', ')} set`

function attempt<T>(act: () => T): { readonly value: T } | { readonly error: unknown } {
  try {
    return { value: act() }
  } catch (error) {
    return { error }
  }
}
