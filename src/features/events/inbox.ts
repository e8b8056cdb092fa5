/*
 * The inbox: events are stored here from the moment they are answered until a walk settles them. It is a warehouse of
 * three tables beside the other one, written at any moment without the lease, and what it has accepted must be on disk.
 * It contains nothing personal: ids and times.
 */
import type { CompiledQuery, Insertable } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import type { Clock } from '../../engine/base/clock.js'
import { Bug } from '../../engine/base/errors.js'
import { inParts } from '../../engine/base/parts.js'
import type { SourceAddress } from '../../engine/config/sourceaddress.js'
import { noPrivacy } from '../../engine/config/treatment.js'
import { noneForgotten } from '../../engine/model/forgotten.js'
import type { Model } from '../../engine/model/resourcemodel.js'
import { asTables } from '../../engine/model/state.js'
import type { Dialect } from '../../engine/warehouse/dialect.js'
import { growKey, makeMissing } from '../../engine/warehouse/layout/ddl.js'
import type { Session } from '../../engine/warehouse/transaction.js'
import { type Warehouse, Writer } from '../../engine/warehouse/warehouse.js'
import type { BesideWarehouse } from '../../shell/command.js'
import { judgedMetrics } from './counts.js'
import { type Delivered, deleteAllEvents, type EventRow, insertEvents, pruneEvents } from './events.js'
import { type EventDb, eventTables, withEvents } from './tables.js'

/** How sync_listeners identifies a source. */
export const listenedTo = ({ baseUrl, partnerId }: SourceAddress): string => `${baseUrl} ${partnerId}`

interface InboxOptions {
  readonly clock?: Clock
  /** Fires when the process is shutting down: after that, waits for the database are short. */
  readonly signal?: AbortSignal
}

async function upgrade(dialect: Dialect): Promise<void> {
  // 0.2.0 knew an event without its type, action and record.
  for (const table of model.state) await dialect.transaction((session) => growKey(dialect, session, table))
  await dialect.transaction((session) => makeMissing(dialect, session, model.state))
}

const model: Model = {
  list: [],
  byName: new Map(),
  tables: [],
  histories: [],
  embedded: undefined,
  state: asTables(eventTables),
  tableByName: new Map(),
  privacy: noPrivacy,
  hidden: new Map(),
  forgotten: noneForgotten(),
  left: {},
  withFound: () => model,
}

export class Inbox extends Writer implements BesideWarehouse {
  /** The one that is open now. */
  #dialect: Dialect
  /** What failed here and not in the warehouse. */
  readonly #failures = new WeakSet<object>()
  #reopening: Promise<void> | undefined

  private constructor(
    dialect: Dialect,
    private readonly warehouse: Pick<Warehouse, 'dialect'>,
    private readonly reopen: () => Promise<Dialect | undefined>,
    options: InboxOptions,
  ) {
    super({ ...options, dialect, model })
    this.#dialect = dialect
  }

  /** Makes the inbox if it is missing, and upgrades it: only a receiver of events does this. */
  static async open(warehouse: Pick<Warehouse, 'dialect'>, options: InboxOptions = {}): Promise<Inbox> {
    const open = async (): Promise<Dialect> => {
      const dialect = await warehouse.dialect.beside({ ...place, creates: true })
      if (!dialect) throw new Bug('The inbox was not created')
      await upgrade(dialect).catch((error: unknown) => {
        throw dialect.classify(error)
      })
      return dialect
    }
    return new Inbox(await open(), warehouse, open, options)
  }

  /** undefined if events have never been received here. */
  static async there(
    warehouse: Pick<Warehouse, 'dialect'>,
    options: InboxOptions = {},
  ): Promise<Inbox | undefined> {
    const open = (): Promise<Dialect | undefined> =>
      warehouse.dialect.beside({ ...place, creates: false }).catch((error: unknown) => {
        throw warehouse.dialect.classify(error)
      })
    const dialect = await open()
    return dialect && new Inbox(dialect, warehouse, open, options)
  }

  /** Whether only this inbox failed, and the warehouse, which is another file, did not: no run ends because of it. */
  isOwn(error: unknown): boolean {
    return error instanceof Error && this.#failures.has(error)
  }

  override get dialect(): Dialect {
    return this.#dialect
  }

  override get db(): EventDb {
    return withEvents(this.dialect.db)
  }

  override read<T>(work: (db: EventDb) => Promise<T>): Promise<T> {
    return this.trying(() => work(this.db))
  }

  /** Someone may have removed its file: later writes must not go into a file without a name. */
  override async trying<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await this.retryPolicy.trying(async () => {
        if (this.dialect.file.isGone()) {
          this.#reopening ??= this.#reopen().finally(() => {
            this.#reopening = undefined
          })
          await this.#reopening
        }
        return work()
      })
    } catch (error) {
      if (error instanceof Error && this.dialect.db !== this.warehouse.dialect.db) this.#failures.add(error)
      throw error
    }
  }

  async #reopen(): Promise<void> {
    const gone = this.dialect
    const dialect = await this.reopen()
    if (!dialect) return
    this.#dialect = dialect
    await gone.close()
  }

  /**
   * Stores events, each of them once, except those of forgotten tenants; returns how often each stored one has been
   * received so far. Then runs the other statements.
   */
  insert(rows: readonly Insertable<EventRow>[], more: readonly CompiledQuery[]): Promise<Delivered[]> {
    return this.transaction(async (session) => {
      const tenants = rows.map(({ tenant_id }) => tenant_id)
      const forgotten = await forgottenAmong(tenants, this.warehouse.dialect, session)
      const kept = rows.filter(({ tenant_id }) => !forgotten.has(tenant_id))
      const stored: Delivered[] = []
      for (const part of inParts(kept)) stored.push(...(await session.run(insertEvents(this.db, part))).rows)
      for (const other of more) await session.run(other)
      return stored
    })
  }

  /** The source of the most recent events; undefined if there were none. */
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
      pruneEvents(db, before),
      db.deleteFrom('sync_listeners').where('seen_at', '<', before).compile(),
    ])
  }

  /** How far its cursors were judged. */
  forgetting(tenantId: Int64): CompiledQuery[] {
    return [
      this.db
        .deleteFrom('sync_event_counts')
        .where('metric', '=', judgedMetrics.judged)
        .where('labels', 'like', `%"tenant":"${tenantId}"}`)
        .compile(),
    ]
  }

  /** Events of the old source refer to the new one's records by the same ids. Counts stay. */
  adopting(to: SourceAddress, sameData: boolean): CompiledQuery[] {
    const { db } = this
    const heard = db
      .updateTable('sync_listeners')
      .set({ source: listenedTo(to) })
      .compile()
    if (sameData) return [heard]
    const judged = db.deleteFrom('sync_event_counts').where('metric', 'in', Object.values(judgedMetrics))
    return [heard, deleteAllEvents(db), judged.compile()]
  }
}

/**
 * Which of these tenants are forgotten. `forget` first writes that down, then deletes the tenant's own row, then its
 * events. So an event that isn't refused here is stored in time to be deleted: the inbox is a file with one writer, or
 * else the tenant's row is held until the session commits.
 */
export async function forgottenAmong(
  tenants: readonly Int64[],
  { db, locksRows }: Dialect,
  session: Session,
): Promise<ReadonlySet<Int64>> {
  const ids = [...new Set(tenants)]
  if (ids.length === 0) return new Set()
  if (locksRows) {
    const own = db.selectFrom('tenants').select('tenant_id').where('tenant_id', 'in', ids)
    await session.run(own.orderBy('tenant_id').forKeyShare().compile())
  }
  const marked = db.selectFrom('sync_forgotten').select('tenant_id').where('tenant_id', 'in', ids)
  return new Set((await marked.execute()).map(({ tenant_id }) => tenant_id))
}

const place = { name: 'events', table: 'sync_events' } as const
