import { Stop } from '../../engine/base/errors.js'
import { type Command, type Invocation, shardOption, timeLimitOption } from '../../shell/command.js'

export const runCommand: Command = {
  name: 'run',
  group: 'Keep it running',
  summary: 'run the job jobs/JOB.json: the command for cron',
  help: `
Looks for the file in jobs/ beside the configuration, then among the jobs that come with shopsync (hourly, nightly,
weekly-verify, backfill, due). schema/job.schema.json describes its settings. Its "schedule" tells shopsync schedule when
it is due; cron needs a line of its own.

On several machines (Postgres), each does one shard. What concerns the whole warehouse, such as a snapshot, a report and
the heartbeat, follows with --whole once all shards have ended (docs/scale.md).`,
  examples: [
    ['shopsync run hourly', 'what is new'],
    ['shopsync run nightly --time-limit PT4H', 'stops cleanly after four hours; the next run continues'],
    ['0 * * * *  cd /srv/shopsync && shopsync run hourly --quiet', 'a line of a crontab'],
    ['shopsync run nightly --shard 0/8', 'the first of eight parts, each on a machine of its own'],
    ['shopsync run nightly --whole', 'after all of them: the snapshot, the report and the heartbeat'],
    ['shopsync run nightly --enqueue 8', 'both, on the workers that are up (shopsync worker)'],
  ],
  argument: { name: 'job', description: 'name of the job, such as hourly', names: 'jobs' },
  options: [
    timeLimitOption,
    shardOption,
    { flags: '--whole', description: 'only what shards leave out, after all of them' },
    { flags: '--enqueue <n>', description: 'put it into the queue for workers, divided into so many shards' },
  ],
  run: async (invocation) => {
    const [{ withContext }, { carryOutJob }, { readJob }, { aroundJobs, jobFolders }] = await Promise.all([
      import('../../shell/commandcontext.js'),
      import('./work.js'),
      import('./jobfile.js'),
      import('./jobfile.js'),
    ])
    const { shard, whole, enqueue: shards } = invocation.options
    if (shard !== undefined && whole) refuseBoth()
    if (shards !== undefined) refuseBeside(invocation.options)
    return withContext(invocation, async (context) => {
      const around = await aroundJobs(invocation, context.config.api.allowInsecure)
      const folders = jobFolders(invocation)
      const job = readJob(invocation.argument ?? '', folders, around)
      if (shards === undefined) return carryOutJob(context, job)
      return (await import('./enqueue.js')).enqueue(context, job, shards)
    })
  },
}

function refuseBoth(): never {
  throw new Stop(
    'Found --shard and --whole, expected one of them: what concerns the whole comes after all shards',
    {
      exitCode: 2,
      hint: 'Type --shard for each part, then --whole',
    },
  )
}

/** What is put into the queue has no flags of its own. */
function refuseBeside({ shard, whole, timeLimit }: Invocation['options']): void {
  const other = shard !== undefined ? '--shard' : whole ? '--whole' : '--time-limit'
  if (shard === undefined && !whole && timeLimit === undefined) return
  throw new Stop(`Found --enqueue and ${other}, expected one of them`, {
    exitCode: 2,
    hint: 'Type shopsync run JOB --enqueue 8; the job file sets the limit of time',
  })
}
