import type { Command } from '../../shell/command.js'

export const checkCommand: Command = {
  name: 'check',
  group: 'Set it up',
  summary:
    "test the configuration, the credentials, every tenant's access and the warehouse, and show what is wrong",
  help: `
Costs one request for the grants, one for each tenant, one for each resource of one tenant, and at most 15 to find out
how the source behaves (order, totals, times, ids, headers) on the largest list of that tenant. The findings are kept
in the warehouse, if there is one, and compared next time. Writes nothing else: whatever it tries there is rolled back.

--alerts also sends a test message to each of alerts.rules, calls alerts.heartbeat and the heartbeats of jobs, and shows
what came back.

--webhook-url also tests the address at which the source will deliver its events (docs/webhooks.md): its certificate
must be trusted, nothing may redirect, and shopsync listen must be behind it. Prints the names of events to register.`,
  examples: [
    ['shopsync check', 'what is wrong, and how to fix it'],
    ['shopsync check --quiet', 'only what is wrong, one per line, for the mail of cron'],
    [
      'shopsync check --webhook-url https://hooks.example.com/webhooks',
      'also tests where events will arrive',
    ],
    ['shopsync check --alerts', 'also tests alerts.rules and alerts.heartbeat'],
  ],
  options: [
    { flags: '--webhook-url <url>', description: 'also test the address at which events will arrive' },
    { flags: '--alerts', description: 'also send a test to each alert rule and call each heartbeat' },
  ],
  readsAnyEncoding: true,
  run: async (invocation) => {
    const [{ worstExit }, { checkText, checkTroubles, findingOf }, { examine }] = await Promise.all([
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
    await out.answer(document, checkText(made, out.terminal))
    out.complain(checkTroubles(made))
    return exitCode
  },
}
