/*
 * The queue through which rounds of a job reach workers on other machines: one delivery for each shard of the tenants, and
 * one for the whole warehouse once the shards have ended. It holds nothing worth keeping: the lease decides who may write,
 * and a delivery that is lost or doubled costs a run that finds little to do. deliveryqueue.ts has it on pg-boss.
 */
import { plural, span } from '../../base/format.js'
import { type Shard, shardName } from '../../base/shard.js'

/** What a job's deliveries for one instant have in common. */
export interface Round {
  readonly job: string
  /** The instant for which it is, canonical: no other round of its job has the same. By hand: when it was sent. */
  readonly plannedAt: string
  /** How many shards it has. */
  readonly shards: number
}

/** One delivery of a round. `shard`: undefined for what concerns the whole warehouse. */
export interface Delivery {
  readonly round: Round
  readonly shard: Shard | undefined
}

/** What its key ends with, and what is stored of it: `3/8`, or `whole`. */
export const partName = (shard: Shard | undefined): string => (shard ? shardName(shard) : 'whole')

/** Seconds until a delivery is due again whose run ended by an error of ours, by how often it did in a row. */
export const waitsAfterBug = [15, 60, 300, 1800] as const

/**
 * When a delivery that wasn't done is due again: at once, behind the others, or after 15 seconds, or later and later.
 */
export type Again = 'now' | 'later' | 'broken'

/** A delivery that this process has taken. */
export interface Taken extends Delivery {
  /** How many workers in a row have died of it, or seemed to, or met an error of ours. */
  readonly deaths: number
  /** Tells the others that it is under way: if nothing is heard for 15 seconds, it goes to another worker. */
  touch(): Promise<void>
  /** It is done. The round's last shard sends the delivery for the whole warehouse. */
  done(): Promise<void>
  again(when: Again): Promise<void>
}

export interface Deliveries {
  /**
   * Sends what is missing of a round, so that it may be repeated. Returns how many deliveries it sent; undefined if
   * another round of the job is still under way, and nothing was sent.
   */
  send(round: Round): Promise<number | undefined>
  /** The next one that is due; undefined if none is. `by`: the worker, for people. */
  take(by: string): Promise<Taken | undefined>
  close(): Promise<void>
}

/** A delivery as `status` and others see it. */
export interface SeenDelivery {
  readonly job: string
  readonly planned_at: string
  readonly shards: number
  /** `3/8`, or `whole`. */
  readonly part: string
  /** `waiting`: no worker has it, or the one that had it has been silent for a minute. */
  readonly status: 'waiting' | 'active' | 'done'
  /** The worker that has it, or had it last. */
  readonly worker: string | null
  /** How many workers in a row have died of it, or seemed to, and the last of them. */
  readonly deaths: number
  readonly died: string | null
  /** For how many seconds it has been due; 0 unless it waits. */
  readonly waited: number
}

/** The queue as anyone may look at it. */
export interface SeenQueue {
  /** Workers that are up. */
  readonly workers: number
  /** Seconds since a worker took a delivery; null if none ever did. */
  readonly idle: number | null
  /** Of each job, those of its last round. */
  readonly deliveries: readonly SeenDelivery[]
}

export interface QueueOptions {
  /** Whether this process takes deliveries: then it counts as a worker that is up. */
  readonly works: boolean
  /** What goes wrong beside the calls: the next call fails, too, if it matters. */
  readonly trouble: (error: Error) => void
}

/** What a database has of it. */
export interface DeliveryPlace {
  /** undefined if no queue was ever made. */
  seen(): Promise<SeenQueue | undefined>
  /** What keeps this user from making the queue; undefined if nothing does. Writes nothing. */
  obstacle(): Promise<{ readonly problem: string; readonly hint: string } | undefined>
  /** Makes the queue if it is missing. Throws Stop: 2 if the warehouse can have none, 3 if a right is missing. */
  open(options: QueueOptions): Promise<Deliveries>
}

/** Seconds that a delivery may wait while no worker takes any. */
const longestSilence = 120

/**
 * What waits if no worker has taken a delivery for two minutes and none is under way: how many, and for how many seconds
 * the oldest.
 */
export function unheard(
  seen: SeenQueue | undefined,
): { readonly waiting: number; readonly oldest: number } | undefined {
  const deliveries = seen?.deliveries ?? []
  if (deliveries.some(({ status }) => status === 'active')) return undefined
  const waiting = deliveries.filter(({ status }) => status === 'waiting')
  const oldest = Math.max(0, ...waiting.map(({ waited }) => waited))
  const isSilent = oldest >= longestSilence && (seen?.idle ?? oldest) >= longestSilence
  return isSilent ? { waiting: waiting.length, oldest } : undefined
}

export const unheardText = ({ waiting, oldest }: NonNullable<ReturnType<typeof unheard>>): string =>
  `No worker has taken a delivery for two minutes: ${plural(waiting, 'delivery')} ${waiting === 1 ? 'waits' : 'wait, the oldest'} for ${span(oldest * 1000)}`
