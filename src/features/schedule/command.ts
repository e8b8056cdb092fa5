import type { Command, Feature } from '../../shell/command.js'

const scheduleCommand: Command = {
  name: 'schedule',
  group: 'Keep it running',
  summary: 'stay up and run every job that has a schedule',
  help: `
Replaces cron: runs each job of jobs/ when it is due, in the time zone schedule.timeZone (default UTC), one after the
other. A job that missed its time is caught up once. Job files are reloaded when they change (docs/operations.md).

Serves the report at http://127.0.0.1:8788/, the operator's page at /operations, the runs at /runs and /runs.json, and
/dictionary, /metrics, /ready and /health; schedule.listen sets the address, or false for no server. There is no
password: anyone who reaches the port can read the report.

With --json it prints one document when it is up: its address, and each job with its next instant.

SIGTERM stops the current job after its transaction and ends the program with exit code 0. What was cut short resumes when
you start it again. If the database does not answer, it ends ten seconds later with 143.`,
  examples: [
    ['shopsync schedule', 'stays up'],
    ['shopsync jobs list', 'when each job is due, and how it last ended'],
    ['curl --fail http://127.0.0.1:8788/ready', 'whether it is up, and its warehouse answers'],
  ],
  run: async (invocation) => {
    const [{ stayUp }, { runJobs }] = await Promise.all([
      import('../../shell/stayup.js'),
      import('./work.js'),
    ])
    return stayUp(invocation, runJobs)
  },
}

export const schedule: Feature = {
  command: scheduleCommand,
  tables: async () => (await import('./tables.js')).jobTables,
}
