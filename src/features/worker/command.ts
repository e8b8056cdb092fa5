import type { Command, Feature } from '../../shell/command.js'

const workerCommand: Command = {
  name: 'worker',
  group: 'Keep it running',
  summary: 'stay up and take shards of jobs from the queue, on as many machines as you like',
  help: `
Postgres only. shopsync schedule puts a job's shards into the queue if schedule.shards is set, and so does shopsync run JOB
--enqueue 8. After a job's last shard, a worker does what concerns the whole warehouse. If a worker dies, another one
continues its shard. All workers share one rate limit: more of them load faster, but poll no faster (docs/scale.md).

Serves /metrics, /ready and /health at http://127.0.0.1:8789/; workers.listen sets the address, or false for no server. If
the port is taken, it says so and works on.

SIGTERM stops the current run after its transaction, puts the shard back, and ends the program with exit code 0.`,
  examples: [
    ['shopsync worker', 'stays up'],
    ['shopsync worker --parallel 4', 'takes up to four shards at a time'],
  ],
  options: [
    { flags: '--parallel <n>', description: 'how many shards at a time (default: 1)' },
    { flags: '--once', description: 'end when nothing waits' },
  ],
  run: async (invocation) => {
    const [{ stayUp }, { workUntilEnd }] = await Promise.all([
      import('../../shell/stayup.js'),
      import('./work.js'),
    ])
    return stayUp(invocation, workUntilEnd)
  },
}

/* Two features of one folder, because commands and sections of the configuration have orders of their own. */

export const worker: Feature = { command: workerCommand }

export const workers: Feature = {
  settings: async () => (await import('../../engine/config/schedulesection.js')).workersSection,
}
