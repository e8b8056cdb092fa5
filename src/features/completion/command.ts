import { Stop } from '../../engine/base/errors.js'
import type { Command } from '../../shell/command.js'
import { commandsOf } from '../../shell/features.js'
import { packageFolder } from '../../shell/package.js'

/** The command that prints the completion words of all commands, its own included. */
export const completionCommand: Command = {
  name: 'completion',
  group: 'Set it up',
  summary: 'a script that lets bash, zsh or fish complete commands, flags, resources and jobs',
  help: `
Put the script where the shell looks for completions. It knows commands, flags, their values, resources and jobs.`,
  examples: [
    ['source <(shopsync completion bash)', 'bash; to keep it, put this line into ~/.bashrc'],
    [`shopsync completion zsh > "\${fpath[1]}/_shopsync"`, 'zsh'],
    ['shopsync completion fish > ~/.config/fish/completions/shopsync.fish', 'fish'],
  ],
  argument: { name: 'shell', description: 'bash, zsh or fish', choices: ['bash', 'zsh', 'fish'] },
  run: async ({ argument = '', out, features }) => {
    const [{ completionScript, shells }, { resources }, { jobNames }, { join }, { model }] =
      await Promise.all([
        import('./words.js'),
        import('../../../schema/index.js'),
        import('../jobs/jobfile.js'),
        import('node:path'),
        import('../../engine/model/registry.js'),
      ])
    const shell = shells.find((name) => name === argument)
    if (shell === undefined)
      throw new Stop(`Found completion ${argument}, expected bash, zsh or fish`, {
        exitCode: 2,
        hint: 'Type shopsync completion bash',
      })
    const script = completionScript(shell, {
      commands: commandsOf(features),
      resources: Object.keys(resources),
      tables: model(resources, {}).list.flatMap(({ tables }) => tables.map(({ name }) => name)),
      jobs: jobNames([join(packageFolder(), 'jobs')]),
    })
    if (out.json) await out.document({ shell, script })
    else out.result(script)
    return 0
  },
}
