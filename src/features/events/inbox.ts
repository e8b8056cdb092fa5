/*
 * The inbox: where events lie from the moment they are answered until a walk settles them. It is written at any moment
 * and without the lease, and what it says is here must be on the disk. It has nothing personal in it: ids and times.
 */
import { type CompiledQuery, type Insertable, sql } from 'kysely'
import { type Clock, systemClock } from '../../engine/base/clock.js'
import { Bug } from '../../engine/base/errors.js'
import type { SourceAddress } from '../../engine/config/sourceaddress.js'
import { asTables } from '../../engine/model/state.js'
import type { RowsOf } from '../../engine/model/statetable.js'
import { missing } from '../../engine/warehouse/ddl.js'
import type { Dialect, Traces } from '../../engine/warehouse/dialect.js'
import { RetryPolicy } from '../../engine/warehouse/retrypolicy.js'
import type { Session } from '../../engine/warehouse/transaction.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { type EventDb, eventTables, withEvents } from './tables.js'

type EventTable = RowsOf<typeof eventTables>['sync_events']
type Delivered = Pick<EventTable, 'tenant_id' | 'event_id' | 'resource' | 'deliveries'>

/** How sync_listeners names a source. */
export const listenedTo = ({ baseUrl, partnerId }: SourceAddress): string => `${baseUrl} ${partnerId}`

export interface InboxOptions {
  readonly clock?: Clock
  /** Fires when the process is to end: from then on no wait for the database is long. */
  readonly signal?: AbortSignal
}

export class Inbox {
  readonly #policy: RetryPolicy
  #reopening: Promise<void> | undefined

  private constructor(
    private dialect: Dialect,
    private readonly reopen: () => Promise<Dialect | undefined>,
    { clock = systemClock, signal }: InboxOptions,
  ) {
    this.#policy = new RetryPolicy({ clock, classify: (error) => this.dialect.classify(error), signal })
  }

  /** Makes it where it is not there, and brings it up to date: only who receives events does. */
  static async open(warehouse: Pick<Warehouse, 'dialect'>, options: InboxOptions = {}): Promise<Inbox> {
    const open = async (): Promise<Dialect> => {
      const dialect = await warehouse.dialect.beside({ ...place, creates: true })
      if (!dialect) throw new Bug('The inbox was not created')
      await makeTables(dialect)
      return dialect
    }
    return new Inbox(await open(), open, options)
  }

  /** undefined where nobody has ever received events. */
  static async there(
    warehouse: Pick<Warehouse, 'dialect'>,
    options: InboxOptions = {},
  ): Promise<Inbox | undefined> {
    const open = (): Promise<Dialect | undefined> => warehouse.dialect.beside({ ...place, creates: false })
    const dialect = await open()
    return dialect && new Inbox(dialect, open, options)
  }

  /** For people; never a password. */
  get where(): string {
    return this.dialect.where
  }

  get db(): EventDb {
    return withEvents(this.dialect.db)
  }

  read<T>(work: (db: EventDb) => Promise<T>): Promise<T> {
    return this.#trying(() => work(this.db))
  }

  /** Runs work in one transaction, which a power cut does not take back; again where the database was away. */
  transaction<T>(work: (session: Session) => Promise<T>): Promise<T> {
    return this.#trying(() => this.dialect.transaction(work))
  }

  /** Writes in one transaction; returns the number of rows affected. */
  write(statements: readonly CompiledQuery[]): Promise<number> {
    return this.transaction(async (session) => {
      let affected = 0
      for (const statement of statements) affected += (await session.run(statement)).affected
      return affected
    })
  }

  /** Somebody may have taken its file away: what is written from then on must not go into a file without a name. */
  async #trying<T>(work: () => Promise<T>): Promise<T> {
    return this.#policy.trying(async () => {
      if (this.dialect.isGone()) {
        this.#reopening ??= this.#reopen().finally(() => {
          this.#reopening = undefined
        })
        await this.#reopening
      }
      return work()
    })
  }

  async #reopen(): Promise<void> {
    const gone = this.dialect
    const dialect = await this.reopen()
    if (!dialect) return
    this.dialect = dialect
    await gone.close()
  }

  /** Stores events, each of them once; returns how often each has been received by now. Then runs the other statements. */
  insert(rows: readonly Insertable<EventTable>[], more: readonly CompiledQuery[]): Promise<Delivered[]> {
    const statement = this.db
      .insertInto('sync_events')
      .values([...rows])
      .onConflict((conflict) =>
        conflict.columns(['tenant_id', 'event_id', 'resource']).doUpdateSet({
          deliveries: sql<number>`sync_events.deliveries + excluded.deliveries`,
        }),
      )
      .returning(['tenant_id', 'event_id', 'resource', 'deliveries'])
      .compile()
    return this.transaction(async (session) => {
      const stored = await session.run(statement)
      for (const other of more) await session.run(other)
      return stored.rows
    })
  }

  /** Bytes that are left where it lies; undefined where nobody can say. */
  room(): Promise<number | undefined> {
    return this.dialect.room()
  }

  /** The source whose events were received last; undefined where none ever were. */
  async source(): Promise<string | undefined> {
    const row = await this.read((db) =>
      db.selectFrom('sync_listeners').select('source').orderBy('up_at', 'desc').limit(1).executeTakeFirst(),
    )
    return row?.source ?? undefined
  }

  /** Deletes what was settled before that time, and listeners that had ended by then. */
  prune(before: string): Promise<number> {
    const { db } = this
    return this.write([
      db.deleteFrom('sync_events').where('state', '!=', 'waiting').where('settled_at', '<', before).compile(),
      db.deleteFrom('sync_listeners').where('seen_at', '<', before).compile(),
    ])
  }

  /** Runs work that deletes events for good, and removes what is left of them in the database's files. */
  erase(work: () => Promise<void>): Promise<Traces> {
    return this.dialect.erase(Object.keys(eventTables), work)
  }

  close(): Promise<void> {
    return this.dialect.close()
  }
}

const place = { name: 'events', table: 'sync_events' } as const

async function makeTables(dialect: Dialect): Promise<void> {
  await dialect.transaction(async (session) => {
    await dialect.prepare(session)
    const live = await dialect.liveColumns()
    const changes = await missing({ dialect, live, isStrict: false }, asTables(eventTables))
    for (const { statements } of changes) for (const statement of statements) await session.run(statement)
  })
}
