/* `shopsync run JOB --enqueue N`: a round of a job for workers, sent by hand. */
import { Stop } from '../../engine/base/errors.js'
import { plural } from '../../engine/base/format.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import type { CommandContext } from '../../shell/command.js'
import { wholeNumber } from '../../shell/flags.js'
import type { Job } from './jobfile.js'

/** Puts the job's shards into the queue. Throws Stop 4 while another round of it is under way. */
export async function enqueue(context: CommandContext, job: Job, given: unknown): Promise<number> {
  const { invocation, clock, log } = context
  const shards = wholeNumber('--enqueue', given, { from: 1, to: 64, example: 8 }) ?? 1
  const warehouse = await context.open('read')
  const trouble = (error: Error): void => log.debug({ error: error.message }, 'The queue')
  const queue = await warehouse.trying(() => warehouse.dialect.deliveries.open({ works: false, trouble }))
  context.onClose(() => queue.close())
  const round = { job: job.name, plannedAt: fromMicros(clock.nowMicros()), shards }
  const sent = await warehouse.trying(() => queue.send(round))
  if (sent === undefined)
    throw new Stop(`A round of ${job.name} is still in the queue or under way; nothing was put there`, {
      exitCode: 4,
      hint: 'Type shopsync status to see how far it is',
    })
  await invocation.out.answer(
    { job: job.name, planned_at: round.plannedAt, shards },
    `${job.name}: ${plural(shards, 'shard')} in the queue. Workers take them: shopsync worker\n`,
  )
  return 0
}
