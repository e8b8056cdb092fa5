/* `shopsync worker`: the pool, the server beside it, and their end. */
import { describeError, Stop } from '../../engine/base/errors.js'
import { workerSettings } from '../../engine/config/schedulesection.js'
import { plannedChanges } from '../../engine/warehouse/layout/migrate.js'
import type { Writer } from '../../engine/warehouse/warehouse.js'
import type { CommandContext } from '../../shell/command.js'
import { wholeNumber } from '../../shell/flags.js'
import { ReplacementWatch } from '../../shell/replaced.js'
import { type ListeningServer, listenAt, type Watched } from '../../shell/statusserver.js'
import type { Opening } from '../../shell/stayup.js'
import { watchedBy } from '../health/watched.js'
import { Pool } from './pool.js'

/** Milliseconds until a warehouse that this program may not bring up to date is looked at again. */
const betweenTries = 10_000

/** Runs until a signal comes; with --once, until nothing waits. */
export async function workUntilEnd(context: CommandContext, opening: Opening): Promise<number> {
  const { invocation, clock, log } = context
  const { options, signals } = invocation
  const parallel = wholeNumber('--parallel', options.parallel, { from: 1, to: 64, example: 4 }) ?? 1
  const trouble = (error: Error): void => log.debug({ error: describeError(error) }, 'The queue')
  // A warehouse that can have no queue is refused before anything is created.
  const there = await context.open('read')
  const queue = await there.trying(() => there.dialect.deliveries.open({ works: true, trouble }))
  context.onClose(() => queue.close())
  signals.expected = true
  const warehouse = await upToDate(context, opening)
  if (!warehouse) return 0
  const watch = new ReplacementWatch(warehouse, clock, signals.signal)
  const pool = new Pool(context, {
    warehouse,
    queue,
    parallel,
    signal: watch.signal,
    once: options.once === true,
    superseded: (error) => watch.superseded(error),
  })
  const ready = () => ({ running: [...pool.running] })
  const server = await listen(
    context,
    opening,
    watchedBy(context, { warehouse, signal: watch.signal, ready }),
  )
  try {
    const start = { pid: process.pid, parallel, url: server?.url ?? null }
    const where = server ? `/metrics, /ready and /health: ${server.url}` : 'No server is listening.'
    const text = `Taking ${parallel === 1 ? 'one shard' : `up to ${parallel} shards`} at a time. ${where}`
    await opening.isUp(start, text, { worker: server?.url })
    await pool.run()
    if (watch.signal.aborted) await watch.throwIfReplaced()
  } finally {
    watch.close()
    await server?.close()
  }
  return 0
}

/**
 * The warehouse with its tables up to date; undefined if a signal came first. Where only `shopsync migrate` may change
 * them, it waits until somebody has typed that.
 */
async function upToDate(context: CommandContext, opening: Opening): Promise<Writer | undefined> {
  const { config, clock, invocation, log } = context
  const { signal } = invocation.signals
  if (config.warehouse.autoMigrate) return opening.warehouse()
  const there = await context.open('read')
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    const [first, ...more] = await plannedChanges(there)
    if (!first) return opening.warehouse()
    const changes = { changes: more.length + 1, first: `${first.table}, ${first.what}` }
    if (isFirst) log.warn(changes, 'Waiting for the tables to be brought up to date: type shopsync migrate')
    await clock.sleep(betweenTries, signal)
  }
  return undefined
}

/** A worker without a server works as well: several on one machine have one address. */
async function listen(
  { config, log }: CommandContext,
  opening: Opening,
  watched: Watched,
): Promise<ListeningServer | undefined> {
  const { listen: at } = workerSettings(config)
  if (at === false) return undefined
  const port = opening.port('worker', at.port)
  try {
    return await listenAt({ ...at, port }, watched, { setting: 'workers', paths: [], routes: () => {} })
  } catch (error) {
    if (!(error instanceof Stop)) throw error
    log.warn({ error: describeError(error) }, 'No server is listening; the worker works on')
    return undefined
  }
}
