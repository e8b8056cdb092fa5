import type { Command, Feature } from '../../shell/command.js'

const scheduleCommand: Command = {
  name: 'schedule',
  summary: 'stays up and runs every job that has a schedule',
  help: `
Takes the place of cron: runs each job of jobs/ when it is due, by the time zone that schedule.timeZone names (UTC), one
after the other. A run that was missed, while another one ran or while nothing was up, is caught up once. Job files are
read again when they change; the configuration is read once.

Serves the report at http://127.0.0.1:8788/, the operator's page at /operations, the runs at /runs and /runs.json, and
/dictionary, /metrics, /ready and /health; schedule.listen sets the address, or false for no server. There is no
password: anyone who reaches the port can read the report.

SIGTERM ends the job in hand after its transaction, and the program with exit code 0: what was cut short goes on when it
is started again. Where the database does not answer, it ends ten seconds later with 143.`,
  examples: [
    ['shopsync schedule', 'stays up'],
    ['shopsync jobs list', 'when each job is due, and how it last ended'],
    ['curl --fail http://127.0.0.1:8788/ready', 'whether it is up and its warehouse answers'],
  ],
  run: async (invocation) => {
    const [{ withContext }, { stayUp }] = await Promise.all([
      import('../../shell/commandcontext.js'),
      import('./work.js'),
    ])
    return withContext(invocation, stayUp)
  },
}

export const schedule: Feature = {
  command: scheduleCommand,
  tables: async () => (await import('./tables.js')).jobTables,
}
