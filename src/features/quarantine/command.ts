import { Stop } from '../../engine/base/errors.js'
import { type Command, type CommandContext, choiceOptions, type Invocation } from '../../shell/command.js'

export const quarantineCommand: Command = {
  name: 'quarantine',
  group: 'Compare with the source',
  summary: 'list values that could not be stored, and why; fetch them again and retry',
  help: `
Exits with 1 when replay leaves something in quarantine.`,
  examples: [
    ['shopsync quarantine list', 'every value, item and record that could not be stored as it came'],
    ['shopsync quarantine replay', 'fetches those records again, one request each, and stores what fits now'],
    ['shopsync quarantine list --resource customers --json', 'as a document, with each value in full'],
  ],
  argument: { name: 'action', description: 'list or replay', choices: ['list', 'replay'] },
  options: choiceOptions,
  run: async (invocation) => {
    const { argument = '' } = invocation
    if (argument !== 'list' && argument !== 'replay')
      throw new Stop(`Found quarantine ${argument}, expected list or replay`, {
        exitCode: 2,
        hint: 'Type shopsync quarantine list',
      })
    const { withContext } = await import('../../shell/commandcontext.js')
    return withContext(invocation, async (context) => {
      await context.refuseUnknown()
      return (argument === 'list' ? list : replay)(invocation, context)
    })
  },
}

const parts = async () => ({
  ...(await import('./work.js')),
  ...(await import('./words.js')),
})

async function list({ out }: Invocation, context: CommandContext): Promise<number> {
  const [{ listQuarantine, quarantineText }, { absenceText }] = await Promise.all([
    parts(),
    import('../../engine/warehouse/layout/migrate.js'),
  ])
  const warehouse = await context.open('read')
  const absent = await absenceText(warehouse)
  const values = absent === undefined ? await listQuarantine(warehouse, context.choice) : []
  await out.answer({ values, warehouse_absent: absent }, absent ?? quarantineText(values, out.terminal))
  return 0
}

async function replay({ out }: Invocation, context: CommandContext): Promise<number> {
  const [{ listQuarantine, recordsIn, replayQuarantine, replayText, leftText }, { shown }] =
    await Promise.all([parts(), import('../../shell/progress.js')])
  const deps = await context.dependencies(await context.open('write'))
  const outcomes = await shown(context, { what: 'looking at the quarantine' }, (shows) =>
    replayQuarantine({ ...deps, observer: { ...deps.observer, ...shows } }, context.choice),
  )
  // What is there is counted: a record that is gone has left, and one that wasn't tried has not.
  const left = recordsIn(await listQuarantine(deps.warehouse, context.choice))
  await out.answer({ records: outcomes }, replayText(outcomes, left, out.terminal))
  if (left > 0) out.complain([leftText(left)])
  return left === 0 ? 0 : 1
}
