/* How far the rounds of jobs are that workers carry out, and what is wrong with it. Used by status, alerts and metrics. */
import type { Int64 } from '../../../schema/resource.js'
import { atMinute, plural } from '../../engine/base/format.js'
import { fromMicros } from '../../engine/base/timestamp.js'
import {
  partName,
  type SeenDelivery,
  type SeenQueue,
  unheard,
  unheardText,
} from '../../engine/warehouse/queue/deliveries.js'
import { requestsOf } from '../../engine/warehouse/state/requests.js'
import { runIds } from '../../engine/warehouse/state/runs.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { foundIncident, type KeptIncident } from './incident.js'

/** The last round of a job, in the document of `shopsync status`. */
interface RoundStatus {
  readonly job: string
  /** The instant for which it is. */
  readonly planned_at: string
  readonly shards: number
  /** Of the shards. */
  readonly done: number
  readonly active: number
  readonly waiting: number
  /** How many workers have the active ones. */
  readonly workers: number
  /** What concerns the whole warehouse; null before all shards are done. */
  readonly whole: SeenDelivery['status'] | null
}

export interface WorkersStatus {
  /** Workers that are up. */
  readonly up: number
  readonly rounds: readonly RoundStatus[]
  /** What is wrong; null if nothing is. */
  readonly trouble: string | null
}

/** Empty if nothing was ever sent to workers, or jobs aren't divided for them any more and none has anything to do. */
export async function readWorkers(
  warehouse: Warehouse,
  shards: number,
): Promise<{ readonly workers?: WorkersStatus }> {
  const seen = await warehouse.trying(() => warehouse.dialect.deliveries.seen())
  const isOver = shards === 0 && !seen?.deliveries.some(({ status }) => status !== 'done')
  if (!seen || (seen.workers === 0 && (isOver || seen.deliveries.length === 0))) return {}
  const silent = unheard(seen)
  const trouble = silent ? unheardText(silent) : null
  return { workers: { up: seen.workers, rounds: roundsOf(seen), trouble } }
}

const whole = partName(undefined)

function roundsOf({ deliveries }: SeenQueue): RoundStatus[] {
  const jobs = [...new Set(deliveries.map(({ job }) => job))]
  return jobs.map((job) => {
    const all = deliveries.filter((one) => one.job === job)
    const parts = all.filter(({ part }) => part !== whole)
    const having = (status: SeenDelivery['status']) => parts.filter((one) => one.status === status)
    const active = having('active')
    return {
      job,
      planned_at: all[0]?.planned_at ?? '',
      shards: all[0]?.shards ?? 0,
      done: having('done').length,
      active: active.length,
      waiting: having('waiting').length,
      workers: new Set(active.map(({ worker }) => worker)).size,
      whole: all.find(({ part }) => part === whole)?.status ?? null,
    }
  })
}

/** One line for each job, such as `hourly since 18:00: 5 of 8 shards done, 2 under way on 2 workers, 1 waits`. */
export function workersText(status: WorkersStatus | undefined): string {
  if (!status) return ''
  const { up, rounds, trouble } = status
  const lines = rounds.map(
    ({ job, planned_at, shards, done, active, waiting, workers, whole: rest }) =>
      `${job} since ${atMinute(planned_at)}: ${[
        `${done} of ${plural(shards, 'shard')} done`,
        active > 0 ? `${active} under way on ${plural(workers, 'worker')}` : '',
        waiting > 0 ? `${waiting} ${waiting === 1 ? 'waits' : 'wait'}` : '',
        rest === 'waiting'
          ? 'the whole warehouse waits'
          : rest === 'active'
            ? 'the whole warehouse under way'
            : '',
      ]
        .filter((text) => text !== '')
        .join(', ')}`,
  )
  const head = `Workers: ${up} up`
  return [head, ...lines, ...(trouble === null ? [] : [`✗ ${trouble}`])].join('\n  ')
}

export const workersAdvice =
  'Type shopsync worker on at least one machine; if one is up, its log says what it waits for (docs/runbook.md)'

/** Workers that have died of one delivery in a row, until it is reported. */
const manyDeaths = 3

/** The list that a shard's run was on when it was last seen to store something, by the run before this one. */
async function lastList(
  warehouse: Warehouse,
  { job, part }: SeenDelivery,
): Promise<{ readonly tenant_id: Int64; readonly resource: string | null } | undefined> {
  return warehouse.read((db) =>
    requestsOf(db, runIds(db, { job, shard: part, where: (eb) => eb('finished_at', 'is', null) }))
      .select(['tenant_id', 'resource'])
      .orderBy('synced_at', 'desc')
      .limit(1)
      .executeTakeFirst(),
  )
}

/** What needs attention about the workers, as incidents. */
export async function workerIncidents(warehouse: Warehouse, nowMicros: bigint): Promise<KeptIncident[]> {
  const seen = await warehouse.trying(() => warehouse.dialect.deliveries.seen())
  if (!seen) return []
  const before = (seconds: number): string => fromMicros(nowMicros - BigInt(Math.round(seconds * 1e6)))
  const silent = unheard(seen)
  const found: KeptIncident[] = []
  if (silent)
    found.push(
      foundIncident({
        kind: 'workers',
        cause: 'silent',
        since: before(silent.oldest),
        message: unheardText(silent),
        advice: workersAdvice,
      }),
    )
  for (const deadly of seen.deliveries.filter(isDeadly))
    found.push(deadlyIncident(deadly, await lastList(warehouse, deadly), before(0)))
  return found
}

const isDeadly = ({ deaths, status }: SeenDelivery): boolean => deaths >= manyDeaths && status !== 'done'

function deadlyIncident(
  { job, part, deaths, died }: SeenDelivery,
  list: Awaited<ReturnType<typeof lastList>>,
  since: string,
): KeptIncident {
  const what = part === whole ? `what concerns the whole warehouse in ${job}` : `shard ${part} of ${job}`
  const where = list ? `; its run was on ${list.resource ?? 'a list'} of tenant ${list.tenant_id}` : ''
  return foundIncident({
    kind: 'workers',
    cause: `${job} ${part}`,
    since,
    message: `${deaths} workers in a row have died of ${what}, fell silent, or met an error of shopsync, the last one on ${died ?? 'an unknown host'}${where}`,
    advice:
      'It is given to other workers all the same. Look at that host: the memory it has, the log of the worker, the list (docs/runbook.md)',
  })
}

/** For the metrics. undefined if there is no queue. */
export async function readWorkerGauges(warehouse: Warehouse) {
  const seen = await warehouse.trying(() => warehouse.dialect.deliveries.seen())
  if (!seen) return undefined
  const of = (status: SeenDelivery['status']) => seen.deliveries.filter((one) => one.status === status).length
  return {
    workers: seen.workers,
    deliveries: { waiting: of('waiting'), active: of('active'), done: of('done') },
    oldestSeconds: Math.max(0, ...seen.deliveries.map(({ waited }) => waited)),
  }
}
