/**
 * The queue of deliveries on pg-boss. Loaded by `worker`, and by `schedule` and `run --enqueue` where rounds are sent.
 *
 * queued: sent, or put back. A key JOB/I/N is queued or active once (policy `exclusive`).
 * active: a worker has it, and says so every five seconds. If it is silent for fifteen, any other worker puts it back.
 * done:   kept for two days, so that a round that was sent in part is known.
 *
 * What the queue holds may be dropped at any time: every call makes it again, and a delivery that ends sends what its
 * round now lacks. What has run for the round's instant already ends at once, because the warehouse knows it.
 */
import { CompiledQuery, type PostgresPool, sql } from 'kysely'
import pg from 'pg'
import { type JobInsert, type JobWithMetadata, PgBoss } from 'pg-boss'
import manifest from 'pg-boss/package.json' with { type: 'json' }
import { Retry, Stop } from '../../base/errors.js'
import type { Shard } from '../../base/shard.js'
import { codeOf } from '../classify.js'
import type { Db } from '../database.js'
import { statementsOf, statementsOn } from '../postgres/connectionpool.js'
import { denied, isMadeMeanwhile, type Names } from '../postgres/drivererrors.js'
import { lookAtTable } from '../postgres/lockholder.js'
import {
  type Again,
  type Deliveries,
  type Delivery,
  partName,
  type QueueOptions,
  type Round,
  type Taken,
  waitsAfterBug,
} from './deliveries.js'
import { dropping, missingRight, queueName, queueRights, queueSchema } from './queueplace.js'

/** What a delivery carries through pg-boss; queueplace.ts reads its members in SQL. */
interface Carried {
  readonly job: string
  readonly planned_at: string
  readonly shards: number
  readonly part: string
  readonly worker?: string
  readonly deaths?: number
}

/** What pg-boss records of a job whose worker is silent. */
const silence = 'job heartbeat timeout'

const jobOf = (
  { job, plannedAt, shards }: Round,
  part: string,
  more: Partial<Carried> = {},
): JobInsert<Carried> => ({
  data: { job, planned_at: plannedAt, shards, part, ...more },
  singletonKey: `${job}/${part}`,
})

const roundCarried = ({ job, planned_at, shards }: Carried): Round => ({
  job,
  plannedAt: planned_at,
  shards,
})

function shardOf({ part }: Carried): Shard | undefined {
  const [index, of] = part.split('/').map(Number)
  return index === undefined || of === undefined ? undefined : { index, of }
}

/** Whether the worker that had it fell silent. */
export function wasSilent({ output }: JobWithMetadata<Carried>): boolean {
  const { value } = (output ?? {}) as { value?: { message?: unknown } }
  return value?.message === silence
}

/** In seconds. A run's own limit ends it after six hours; the end of a claim is only for a worker that never ends. */
const queueOptions = {
  policy: 'exclusive',
  heartbeatSeconds: 15,
  expireInSeconds: 82_800,
  retryLimit: 2_147_483_647,
  retryDelay: 15,
  retentionSeconds: 30 * 86_400,
  deleteAfterSeconds: 2 * 86_400,
}

/** Seconds between two looks for deliveries whose workers are silent. */
const watching = { superviseIntervalSeconds: 5, monitorIntervalSeconds: 5, instanceHeartbeatSeconds: 5 }

/** What a statement is sent with: pg-boss's connection, or ours within a transaction. */
type Connection = ReturnType<PgBoss['getDb']>

const quote = pg.escapeIdentifier

/** Whether the queue or its schema is gone, or goes just now (XX000). */
const isGone = (error: unknown): boolean =>
  /^(42P01|3F000|42883|42704|XX000)$/.test(codeOf(error)) ||
  (error instanceof Error && /^Queue \S+ does not exist/.test(error.message))

/** How often the queue is made again for one piece of work: others may make or drop it at the same moment. */
const mostTries = 25

/** pg-boss's tables are of a version that this program doesn't know, or were changed. */
const strange = (schema: string, found: string, cause?: unknown): Stop =>
  new Stop(
    `The queue for workers in the schema ${queueSchema(schema)} ${found}; expected tables of pg-boss, version ${manifest.pgboss.schema}`,
    { exitCode: 3, hint: dropping(schema), cause },
  )

class PostgresDeliveries implements Deliveries {
  #boss: Promise<PgBoss> | undefined

  constructor(
    private readonly pool: PostgresPool,
    private readonly db: Db,
    private readonly names: Names,
    private readonly options: QueueOptions,
  ) {}

  async send(round: Round): Promise<number | undefined> {
    return this.#transact(async (boss, db) => {
      await this.#lock(db)
      return this.#fill(boss, db, round)
    })
  }

  async take(by: string): Promise<Taken | undefined> {
    return this.#transact(async (boss, db) => {
      const [found] = await boss.fetch<Carried>(queueName, { includeMetadata: true, db })
      if (!found) return undefined
      const { deaths: before = 0 } = found.data
      // One that was put back by a worker that lives has survived; a new one goes on with the deaths that it was sent with.
      const deaths = wasSilent(found) ? before + 1 : found.retryCount === 0 ? before : 0
      // Whom it cost stays on record until a worker survives it.
      const died = deaths === 0 ? null : (found.data.worker ?? null)
      const more = JSON.stringify({ worker: by, deaths, died })
      await db.executeSql(
        `update ${queueSchema(this.names.schema)}.job set data = data || $3::jsonb where name = $1 and id = $2`,
        [queueName, found.id, more],
      )
      return this.#taken(found, deaths, by)
    })
  }

  async close(): Promise<void> {
    const boss = await this.#boss?.catch(() => undefined)
    this.#boss = undefined
    await boss?.stop({ graceful: false })
    await this.pool.end()
  }

  /** Opens the queue now: what is wrong with it is known before anything rests on it. */
  async open(): Promise<this> {
    try {
      await this.#using(async () => {})
      return this
    } catch (error) {
      await this.pool.end()
      throw error
    }
  }

  #taken({ id, retryCount, data }: JobWithMetadata<Carried>, deaths: number, worker: string): Taken {
    const attempt = { id, retryCount }
    const delivery: Delivery = { round: roundCarried(data), shard: shardOf(data) }
    return {
      ...delivery,
      deaths,
      touch: () => this.#using(async (boss) => void (await boss.touch(queueName, attempt))),
      done: () =>
        this.#transact(async (boss, db) => {
          // Two last shards that end together see each other.
          await this.#lock(db)
          await boss.complete(queueName, attempt, null, { db })
          await this.#fill(boss, db, delivery.round)
        }),
      again: (when) => this.#again(attempt, { ...delivery, deaths, worker }, when),
    }
  }

  async #again(
    attempt: { readonly id: string; readonly retryCount: number },
    { round, shard, deaths, worker }: Delivery & { readonly deaths: number; readonly worker: string },
    when: Again,
  ): Promise<void> {
    if (when === 'later') return this.#using(async (boss) => void (await boss.fail(queueName, attempt, null)))
    return this.#transact(async (boss, db) => {
      await this.#lock(db)
      await boss.complete(queueName, attempt, null, { db })
      // A new one, so that what has waited longer comes first.
      const startAfter = when === 'broken' ? waitsAfterBug[deaths] : undefined
      const again =
        startAfter === undefined
          ? jobOf(round, partName(shard))
          : { ...jobOf(round, partName(shard), { deaths: deaths + 1, worker }), startAfter }
      await boss.insert(queueName, [again], { db })
    })
  }

  /** One sender at a time: the row of the queue, since no reader may lock it. pg-boss's own share of it isn't held up. */
  async #lock(db: Connection): Promise<void> {
    const text = `select name from ${quote(queueSchema(this.names.schema))}."queue" where name = $1 for no key update`
    try {
      await db.executeSql(`set local lock_timeout = '3s'`)
      const { rows } = await db.executeSql(text, [queueName])
      if (rows.length === 0) throw new Error(`Queue ${queueName} does not exist`)
    } catch (error) {
      const ask = (asked: string, values: readonly string[]) =>
        this.db.executeQuery(CompiledQuery.raw(asked, [...values]))
      await lookAtTable(ask, { error, statement: text })
      throw error
    }
  }

  /** Sends what a round lacks: its shards; once all are done, the whole warehouse. */
  async #fill(boss: PgBoss, db: Connection, round: Round): Promise<number | undefined> {
    const { rows } = await db.executeSql(
      `select data ->> 'part' as part, data ->> 'planned_at' as round, bool_or(state < 'completed') as live
       from ${queueSchema(this.names.schema)}.job
       where name = $1 and data ->> 'job' = $2 and (state < 'completed' or data ->> 'planned_at' = $3)
       group by 1, 2`,
      [queueName, round.job, round.plannedAt],
    )
    const known = rows as readonly { part: string; round: string; live: boolean }[]
    const live = known.filter(({ live }) => live)
    if (live.some((row) => row.round !== round.plannedAt)) return undefined
    const parts = new Set(known.filter((row) => row.round === round.plannedAt).map(({ part }) => part))
    const shards = Array.from({ length: round.shards }, (_, index) => partName({ index, of: round.shards }))
    const missing = shards.filter((part) => !parts.has(part))
    const areDone = missing.length === 0 && live.every(({ part }) => !shards.includes(part))
    if (areDone && !parts.has(partName(undefined))) missing.push(partName(undefined))
    if (missing.length > 0)
      await boss.insert(
        queueName,
        missing.map((part) => jobOf(round, part)),
        { db },
      )
    return missing.length
  }

  #transact<T>(work: (boss: PgBoss, db: Connection) => Promise<T>): Promise<T> {
    return this.#using(async (boss) => {
      const client = await this.pool.connect()
      try {
        await client.query('begin', [])
        const result = await work(boss, statementsOf(client))
        await client.query('commit', [])
        return result
      } catch (error) {
        await client.query('rollback', []).catch(() => {})
        throw error
      } finally {
        client.release()
      }
    })
  }

  /** Makes the queue again, and repeats the work, if the queue was dropped meanwhile. */
  async #using<T>(work: (boss: PgBoss) => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      const opening = this.#open()
      try {
        return await work(await opening)
      } catch (error) {
        const isPassing = isGone(error) || (error instanceof Error && isMadeMeanwhile(error))
        if (!isPassing) throw this.#explained(error)
        await this.#abandon(opening)
        if (tries === mostTries) throw await this.#unusable(error)
      }
    }
  }

  async #unusable(cause: unknown): Promise<Error> {
    const { isThere } = await queueRights(this.db, this.names)
    return isThere
      ? strange(this.names.schema, 'lacks tables', cause)
      : new Retry(`The schema ${queueSchema(this.names.schema)} is dropped again and again`, { cause })
  }

  async #abandon(opening: Promise<PgBoss>): Promise<void> {
    if (this.#boss === opening) this.#boss = undefined
    const boss = await opening.catch(() => undefined)
    await boss?.stop({ graceful: false }).catch(() => {})
  }

  #open(): Promise<PgBoss> {
    this.#boss ??= this.#make().catch((error: unknown) => {
      this.#boss = undefined
      throw error
    })
    return this.#boss
  }

  async #make(): Promise<PgBoss> {
    const { schema } = this.names
    const { isThere, obstacle } = await queueRights(this.db, this.names)
    if (obstacle)
      throw new Stop(`${obstacle.problem}; nothing was done`, { exitCode: 3, hint: obstacle.hint })
    if (!isThere) await sql`create schema if not exists ${sql.id(queueSchema(schema))}`.execute(this.db)
    await this.#refuseNewer()
    const options = {
      db: statementsOn(this.pool),
      schema: queueSchema(schema),
      createSchema: false,
      supervise: true,
      schedule: false,
      reindex: false,
      monitorVacuum: false,
      registerInstance: this.options.works,
      instanceName: 'worker',
      openTelemetry: { enabled: false },
      // Its advisory locks have names that anyone can know and take. Without them, as on databases that have none, its
      // statements rest on rows alone. It is no documented option; test/laws/strangernames.test.ts sees that it holds.
      __test__noAdvisoryLocks: true,
      ...watching,
    }
    const boss = new PgBoss(options)
    boss.on('error', this.options.trouble)
    try {
      await boss.start()
      await boss.createQueue(queueName, queueOptions)
      return boss
    } catch (error) {
      await boss.stop({ graceful: false }).catch(() => {})
      throw error
    }
  }

  /** pg-boss moves older tables on by itself, and works on newer ones as if they were its own. */
  async #refuseNewer(): Promise<void> {
    const place = queueSchema(this.names.schema)
    const there = await sql<{ found: boolean }>`select to_regclass(${`${place}.version`}) is not null
      as found`.execute(this.db)
    if (!there.rows[0]?.found) return
    const { rows } = await sql<{ version: number }>`select version::int as version
      from ${sql.id(place, 'version')}`.execute(this.db)
    const version = rows[0]?.version ?? 0
    if (version > manifest.pgboss.schema) throw strange(this.names.schema, `has tables of version ${version}`)
  }

  #explained(error: unknown): unknown {
    const code = codeOf(error)
    const { schema } = this.names
    if (code === denied) {
      const { problem, hint } = missingRight(schema, this.names)
      return new Stop(`${problem}; nothing was done`, { exitCode: 3, hint, cause: error })
    }
    return /^(42|22|23)/.test(code) ? strange(schema, 'refused a statement', error) : error
  }
}

export const openDeliveries = async (
  pool: PostgresPool,
  db: Db,
  names: Names,
  options: QueueOptions,
): Promise<Deliveries> => new PostgresDeliveries(pool, db, names, options).open()
