import type { Command } from '../../shell/command.js'

export const checkCommand: Command = {
  name: 'check',
  summary: "try configuration, credentials, every tenant's access and the warehouse, and name what is wrong",
  help: `
Costs one request for the grants, one for each tenant, one for each resource of one tenant, and 15 at most for the
questions about the source's ways (order, totals, times, ids, headers), asked of the largest list of that tenant. What
those find is kept in the warehouse, if there is one, and compared the next time. Writes nothing else.

--alerts also sends a test message to each of alerts.rules, calls alerts.heartbeat and the heartbeats of jobs, and says
what came back.

--webhook-url also asks the address at which the source is to deliver its events (docs/webhooks.md): whether its
certificate is trusted, nothing redirects, and shopsync listen is behind it. Prints the names of events to register.`,
  examples: [
    ['shopsync check', 'what is wrong, and how to mend it'],
    ['shopsync check --quiet', 'says something only where something is wrong'],
    [
      'shopsync check --webhook-url https://hooks.example.com/webhooks',
      'also tries where events are to come',
    ],
    ['shopsync check --alerts', 'also tries whom alerts.rules and alerts.heartbeat name'],
  ],
  options: [
    { flags: '--webhook-url <url>', description: 'also ask the address at which events are to be received' },
    { flags: '--alerts', description: 'also send a test to each rule of alerts and call each heartbeat' },
  ],
  run: async (invocation) => {
    const [{ worstExit }, { checkText, findingOf }, { examine }] = await Promise.all([
      import('./trials.js'),
      import('./words.js'),
      import('./examine.js'),
    ])
    const made = await examine(invocation)
    const exitCode = worstExit(made)
    const checks = made.map(findingOf)
    const [ways] = made.flatMap((trial) =>
      trial.of === 'probe' ? [{ ...trial.probe, changes: trial.changes }] : [],
    )
    const document = { ok: exitCode === 0, exit_code: exitCode, checks, probe: ways ?? null }
    const { out } = invocation
    // --quiet only silences good news.
    if (out.json || exitCode === 0) await out.answer(document, checkText(made, out.terminal))
    else out.say(checkText(made, out.terminal))
    return exitCode
  },
}
