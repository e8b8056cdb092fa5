/*
 * The inbox: where events lie from the moment they are answered until a walk settles them. It has nothing personal in it:
 * ids, times, and no payload.
 */
import type { CompiledQuery } from 'kysely'
import type { Clock } from '../../engine/base/clock.js'
import { Bug } from '../../engine/base/errors.js'
import { BesideStore } from '../../engine/warehouse/besidestore.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { type EventDb, eventTables, withEvents } from './tables.js'

export type { EventDb }

export interface InboxOptions {
  readonly clock?: Clock
  readonly signal?: AbortSignal
}

export class Inbox {
  private constructor(private readonly store: BesideStore) {}

  /** Makes it where it is not there, and brings it up to date: only who receives events does. */
  static async open(warehouse: Pick<Warehouse, 'dialect'>, options: InboxOptions = {}): Promise<Inbox> {
    const store = await BesideStore.open(warehouse, { ...options, ...place, creates: true })
    if (!store) throw new Bug('The inbox was not made')
    return new Inbox(store)
  }

  /** undefined where nobody has ever received events. */
  static async there(
    warehouse: Pick<Warehouse, 'dialect'>,
    options: InboxOptions = {},
  ): Promise<Inbox | undefined> {
    const store = await BesideStore.open(warehouse, { ...options, ...place, creates: false })
    return store && new Inbox(store)
  }

  /** For people; never a password. */
  get where(): string {
    return this.store.where
  }

  get db(): EventDb {
    return withEvents(this.store.db)
  }

  read<T>(work: (db: EventDb) => Promise<T>): Promise<T> {
    return this.store.read((db) => work(withEvents(db)))
  }

  /** Writes in one transaction, which a power cut does not take back; returns the number of rows affected. */
  write(statements: readonly CompiledQuery[]): Promise<number> {
    return this.store.write(statements)
  }

  /** Runs work that deletes events for good, and removes what is left of them in the file. */
  erase(work: () => Promise<void>): Promise<void> {
    return this.store.erase(eventTables, work)
  }

  close(): Promise<void> {
    return this.store.close()
  }
}

const place = { name: 'events', tables: eventTables } as const
