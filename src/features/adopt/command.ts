import type { Command } from '../../shell/command.js'
import { besidesOf } from '../../shell/features.js'

export const adoptCommand: Command = {
  name: 'adopt',
  group: 'Move it',
  summary: 'take over a warehouse whose source (base URL or partner) has changed on purpose',
  help: `
A warehouse belongs to the source that its first run read; runs against another source are refused. This command assigns
it to the source that the configuration names now. It asks for the warehouse's name first, and sends no request.

Without --same-data, the new address has other records: rows are kept, and everything that vouched for them is dropped.
The next sync then walks everything, and reconcile --full finds the rows that the new source does not have.`,
  examples: [
    ['shopsync adopt', 'the new address has other records'],
    ['shopsync adopt --same-data', 'the same records under a new address: everything is kept'],
  ],
  options: [
    { flags: '--same-data', description: 'the same records under a new address: keep everything' },
    { flags: '--yes', description: 'do not ask for confirmation' },
  ],
  run: async (invocation) => {
    const [
      { withContext },
      { adopt, adoptQuestion, adoptText, planAdoption },
      { sourceAddress },
      { confirmTyped },
    ] = await Promise.all([
      import('../../shell/commandcontext.js'),
      import('./work.js'),
      import('../../engine/config/sourceaddress.js'),
      import('../../shell/confirmation.js'),
    ])
    return withContext(invocation, async (context) => {
      const { options, out, io } = invocation
      const sameData = options.sameData === true
      const to = sourceAddress(context.config.api)
      const warehouse = await context.open('write', { takesOver: true })
      const plan = await planAdoption(warehouse, to, sameData)
      if (plan.changed && options.yes !== true) {
        const name = nameOf(context.config.warehouse.label)
        const undone = 'Nothing was changed. To adopt without being asked, add --yes'
        const { signal } = invocation.signals
        invocation.signals.resumesAt = () => 'nothing was changed'
        await confirmTyped(name, { question: adoptQuestion(plan, name), undone, signal, io })
      }
      const besides = await besidesOf(invocation.features)
      const { clock } = context
      const done = plan.changed ? await adopt({ warehouse, clock, besides }, to, sameData) : plan
      await out.answer(done, adoptText(done))
      return 0
    })
  },
}

/** The last part of the warehouse's address: its file name or database name. */
const nameOf = (label: string): string => label.split(/[/:\\]/).at(-1) || label
