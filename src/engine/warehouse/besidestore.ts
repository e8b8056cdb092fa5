/*
 * Tables that are written beside a run, at any moment and without its lease: what came from elsewhere must be on the
 * disk before anybody is told that it is here. A feature makes them when they are first needed; nobody else has them.
 */
import type { CompiledQuery } from 'kysely'
import { type Clock, systemClock } from '../base/clock.js'
import { asTables } from '../model/state.js'
import type { StateTables } from '../model/statetable.js'
import type { Db } from './database.js'
import { missing } from './ddl.js'
import type { Dialect } from './dialect.js'
import { RetryPolicy } from './retrypolicy.js'
import type { Warehouse } from './warehouse.js'

export interface BesidePlace {
  /** Of the file beside a warehouse that is one. */
  readonly name: string
  readonly tables: StateTables
  readonly creates: boolean
  readonly clock?: Clock
  readonly signal?: AbortSignal
}

export class BesideStore {
  readonly #policy: RetryPolicy

  private constructor(
    private readonly dialect: Dialect,
    clock: Clock,
    signal: AbortSignal | undefined,
  ) {
    this.#policy = new RetryPolicy({ clock, classify: (error) => dialect.classify(error), signal })
  }

  /** The tables, made and brought up to date where they may be; undefined where they are not there. */
  static async open(
    { dialect }: Pick<Warehouse, 'dialect'>,
    { name, tables, creates, clock = systemClock, signal }: BesidePlace,
  ): Promise<BesideStore | undefined> {
    const [table = ''] = Object.keys(tables)
    const there = await dialect.beside({ name, table, creates })
    if (!there) return undefined
    if (creates) await makeTables(there, tables)
    return new BesideStore(there, clock, signal)
  }

  /** For people; never a password. */
  get where(): string {
    return this.dialect.where
  }

  get db(): Db {
    return this.dialect.db
  }

  read<T>(work: (db: Db) => Promise<T>): Promise<T> {
    return this.#policy.trying(() => work(this.db))
  }

  /** Writes in one transaction, which a power cut does not take back; returns the number of rows affected. */
  write(statements: readonly CompiledQuery[]): Promise<number> {
    return this.#policy.trying(() =>
      this.dialect.transaction(async (session) => {
        let affected = 0
        for (const statement of statements) affected += (await session.run(statement)).affected
        return affected
      }),
    )
  }

  /** Runs work that deletes rows for good, and removes what is left of them. */
  async erase(tables: StateTables, work: () => Promise<void>): Promise<void> {
    await this.dialect.erase(Object.keys(tables), work)
  }

  close(): Promise<void> {
    return this.dialect.close()
  }
}

async function makeTables(dialect: Dialect, tables: StateTables): Promise<void> {
  await dialect.transaction(async (session) => {
    await dialect.prepare(session)
    const changes = await missing(
      { dialect, live: await dialect.liveColumns(), isStrict: false },
      asTables(tables),
    )
    for (const { statements } of changes) for (const statement of statements) await session.run(statement)
  })
}
