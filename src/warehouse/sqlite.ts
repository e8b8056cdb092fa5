import { mkdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import BetterSqlite3 from 'better-sqlite3'
import { type CompiledQuery, Kysely, type KyselyPlugin, SqliteDialect, sql } from 'kysely'
import type { Int64, Kind } from '../../schema/resource.js'
import type { Flattened, Tuple, Value } from '../derive/batch.js'
import type { Table } from '../derive/tables.js'
import { fromMicros } from '../derive/timestamp.js'
import { Bug, Retry, Skip, Stop } from '../errors.js'
import { type Slot, slots, tupleIndex, upsertSql } from './bulk.js'
import {
  type Database,
  type Dialect,
  exact,
  type LiveColumn,
  type Session,
  type Shared,
  type Version,
} from './dialect.js'
import { isPacked, packEarly } from './packed.js'
import { Turns } from './turns.js'
import { Writer } from './writer.js'

const types: Record<Kind, string> = {
  id: 'INTEGER',
  integer: 'INTEGER',
  cents: 'INTEGER',
  number: 'REAL',
  boolean: 'INTEGER',
  text: 'TEXT',
  timestamp: 'TEXT',
  json: 'TEXT',
}

/** Rows a statement: measured best at 16 to 64; the rest goes in halves, so that few statements serve every count. */
const rowsPerStatement = 32

/** Smaller batches are written where they are: the way to the thread and back would take longer than the writing. */
const threadedFrom = 300

const isLarge = ({ rows }: Flattened): boolean =>
  [...rows.values()].reduce((sum, tuples) => sum + tuples.length, 0) >= threadedFrom

type Statement = BetterSqlite3.Statement<unknown[]>

/** SQLite gives every integer as bigint (ids are exact); what is safe as a number becomes one. */
const exactIntegers: KyselyPlugin = {
  transformQuery: (args) => args.node,
  transformResult: async ({ result }) => {
    for (const row of result.rows)
      for (const name in row) {
        const value = row[name]
        if (typeof value === 'bigint') row[name] = exact(value)
      }
    return result
  },
}

const bindable = (value: Value): unknown => (value === true ? 1 : value === false ? 0 : value)

/** The upsert of one table: statements for 32, 16, … 1 rows, prepared when first needed. */
class Upsert {
  readonly #statements = new Map<number, Statement>()
  readonly #slots: Slot[]
  readonly #raw: BetterSqlite3.Database
  readonly #db: Kysely<Database>
  readonly #table: Table
  readonly #differing: boolean

  constructor(raw: BetterSqlite3.Database, db: Kysely<Database>, table: Table, differing: boolean) {
    this.#raw = raw
    this.#differing = differing
    this.#db = db
    this.#table = table
    this.#slots = slots(table)
  }

  #statement(rows: number): Statement {
    const known = this.#statements.get(rows)
    if (known) return known
    const row = sql`(${sql.join(this.#table.columns.map(() => sql`${null}`))})`
    const values = sql`values ${sql.join(Array.from({ length: rows }, () => row))}`
    const statement = this.#raw.prepare<unknown[]>(upsertSql(this.#db, this.#table, values, this.#differing))
    this.#statements.set(rows, statement)
    return statement
  }

  write(tuples: readonly Tuple[], shared: Shared): number {
    let written = 0
    let done = 0
    for (let size = rowsPerStatement; size >= 1; size >>= 1)
      while (tuples.length - done >= size) {
        written += this.#statement(size).run(this.#parameters(tuples, done, size, shared)).changes
        done += size
      }
    return written
  }

  #parameters(tuples: readonly Tuple[], from: number, size: number, shared: Shared): unknown[] {
    const parameters: unknown[] = []
    for (let i = from; i < from + size; i++) {
      const tuple = tuples[i] ?? []
      for (const slot of this.#slots) {
        if (typeof slot === 'number') parameters.push(bindable(tuple[slot] ?? null))
        else
          parameters.push(
            slot === 'tenant_id' ? shared.tenantId : slot === '_synced_at' ? shared.syncedAt : null,
          )
      }
    }
    return parameters
  }
}

/** A JSON array of integers that SQLite reads exactly, beyond 2^53 too. */
const jsonList = (ids: readonly Int64[]): string => `[${ids.join(',')}]`

const jsonScalar = (value: Value | undefined): string =>
  typeof value === 'bigint' ? String(value) : JSON.stringify(value ?? null)

class SqliteSession implements Session {
  readonly #raw: BetterSqlite3.Database
  readonly #db: Kysely<Database>
  readonly #upserts = new Map<string, Upsert>()
  readonly #statements = new Map<string, Statement>()

  constructor(raw: BetterSqlite3.Database, db: Kysely<Database>) {
    this.#raw = raw
    this.#db = db
  }

  async run<R>(query: CompiledQuery<R>): Promise<{ rows: R[]; affected: number }> {
    const statement = this.#prepare(query.sql)
    const parameters = query.parameters.map((value) => bindable(value as Value))
    if (!statement.reader) return { rows: [], affected: statement.run(parameters).changes }
    const rows = statement.all(parameters) as Record<string, unknown>[]
    for (const row of rows)
      for (const name in row) {
        const value = row[name]
        if (typeof value === 'bigint') row[name] = exact(value)
      }
    return { rows: rows as R[], affected: rows.length }
  }

  async versions(table: Table, tenantId: Int64, ids: readonly Int64[]): Promise<Map<Int64, Version>> {
    const statement = this.#prepare(
      `select id, updated_at, _synced_at, _deleted_at from "${table.name}" where tenant_id = ? and id in (select value from json_each(?))`,
    )
    const rows = statement.raw(true).all([tenantId, jsonList(ids)]) as [
      bigint,
      string,
      string,
      string | null,
    ][]
    return new Map(
      rows.map(([id, updatedAt, syncedAt, deletedAt]) => [exact(id), { updatedAt, syncedAt, deletedAt }]),
    )
  }

  async upsert(table: Table, tuples: readonly Tuple[], shared: Shared, differing: boolean): Promise<number> {
    const name = `${table.name} ${differing}`
    let upsert = this.#upserts.get(name)
    if (!upsert) {
      upsert = new Upsert(this.#raw, this.#db, table, differing)
      this.#upserts.set(name, upsert)
    }
    return upsert.write(tuples, shared)
  }

  async confirm(table: Table, ids: readonly Int64[], { tenantId, syncedAt }: Shared): Promise<void> {
    const statement = this.#prepare(
      `update "${table.name}" set _synced_at = ? where tenant_id = ? and id in (select value from json_each(?)) and _synced_at < ?`,
    )
    statement.run([syncedAt, tenantId, jsonList(ids), syncedAt])
  }

  async prune(
    table: Table,
    tenantId: Int64,
    owners: readonly Int64[],
    tuples: readonly Tuple[],
  ): Promise<number> {
    if (!table.owner) throw new Bug(`${table.name} has no owner`)
    const rest = table.key.slice(1)
    const places = rest.map((name) => tupleIndex(table, name))
    const kept = tuples.map((tuple) => places.map((place) => tuple[place] ?? null))
    const one = rest.length === 1
    const key = one ? `"${rest[0]}"` : `(${rest.map((name) => `"${name}"`).join(', ')})`
    const picked = one ? 'value' : rest.map((_, i) => `json_extract(value, '$[${i}]')`).join(', ')
    const statement = this.#prepare(
      `delete from "${table.name}" where tenant_id = ? and "${table.owner}" in (select value from json_each(?)) and ${key} not in (select ${picked} from json_each(?))`,
    )
    const list = `[${kept.map((values) => (one ? jsonScalar(values[0]) : `[${values.map(jsonScalar).join(',')}]`)).join(',')}]`
    return statement.run([tenantId, jsonList(owners), list]).changes
  }

  #prepare(text: string): Statement {
    const known = this.#statements.get(text)
    if (known) return known
    const statement = this.#raw.prepare<unknown[]>(text)
    this.#statements.set(text, statement)
    return statement
  }
}

const hints: Record<string, string> = {
  SQLITE_NOTADB: 'Expected a SQLite file: name another path in warehouse.url, or move this file away',
  SQLITE_CANTOPEN: 'Expected a path that can be created and written: check the folder and its permissions',
  SQLITE_READONLY: 'Expected a file and folder that this user may write: check their permissions',
  SQLITE_FULL: 'Free some space and run the same command again: what is committed is complete',
  SQLITE_CORRUPT: 'Restore the file from a backup, or delete it and sync again',
  SQLITE_IOERR: 'Check the disk; what is committed is complete',
}

function classify(error: unknown, where: string): Error {
  if (error instanceof Retry || error instanceof Skip || error instanceof Stop || error instanceof Bug)
    return error
  if (!(error instanceof Error)) return new Bug(String(error))
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  if (code.startsWith('SQLITE_BUSY') || code === 'SQLITE_LOCKED')
    return new Retry(`${where} is locked by another process`, { cause: error })
  const family = Object.keys(hints).find((name) => code.startsWith(name))
  if (family)
    return new Stop(`The warehouse ${where} cannot be written: ${error.message} (${code})`, {
      exitCode: family === 'SQLITE_FULL' || family === 'SQLITE_IOERR' ? 1 : 3,
      hint: hints[family] ?? '',
      cause: error,
    })
  return error
}

function open(path: string, where: string): BetterSqlite3.Database {
  try {
    mkdirSync(dirname(path), { recursive: true })
    const raw = new BetterSqlite3(path)
    raw.defaultSafeIntegers(true)
    raw.pragma('busy_timeout = 5000')
    raw.pragma('journal_mode = WAL')
    // A power cut may take the last commits, never part of one: rows and watermark go together, and are fetched again.
    raw.pragma('synchronous = NORMAL')
    raw.pragma('cache_size = -16000')
    // Index pages are written again and again: checkpointed every 64 MB instead of every 4, a load takes 10 % less.
    raw.pragma('wal_autocheckpoint = 16000')
    raw.pragma('journal_size_limit = 67108864')
    return raw
  } catch (error) {
    const failed = classify(error, where)
    if (failed !== error || !(error instanceof Error)) throw failed
    throw new Stop(`The warehouse ${where} cannot be opened: ${error.message}`, {
      exitCode: 3,
      hint: hints.SQLITE_CANTOPEN ?? '',
      cause: error,
    })
  }
}

/** `url`: `sqlite:PATH`. The file and its folder are created if missing. */
export function sqliteDialect(url: string): Dialect {
  const path = resolve(url.slice('sqlite:'.length))
  const where = `sqlite:${path}`
  const raw = open(path, where)
  const db = new Kysely<Database>({
    dialect: new SqliteDialect({ database: raw }),
    plugins: [exactIntegers],
  })
  const session = new SqliteSession(raw, db)
  const turns = new Turns()
  const writer = new Writer(url)

  const transaction = <T>(work: (session: Session) => Promise<T>): Promise<T> =>
    // Kysely hands out its one connection to one holder at a time: nothing else can slip into the transaction.
    turns.own(() =>
      db.connection().execute(async () => {
        raw.exec('begin immediate')
        try {
          const result = await work(session)
          raw.exec('commit')
          return result
        } catch (error) {
          if (raw.inTransaction) raw.exec('rollback')
          throw error
        }
      }),
    )

  return {
    db,
    where,
    writers: 1,
    columnType: (kind) => types[kind],
    transaction,
    foresee: (flattened) => {
      if (Writer.entry && isLarge(flattened)) packEarly(flattened.rows)
    },
    elsewhere: (tables, embedded, batch) =>
      Writer.entry && (isPacked(batch.flattened.rows) || isLarge(batch.flattened))
        ? turns.theirs(() => writer.apply(tables, embedded, batch))
        : undefined,
    prepare: async () => {},
    liveTables: () => liveTables(raw),
    liveIndexes: async () => {
      const rows = raw.prepare("select name from sqlite_master where type = 'index'").all() as {
        name: string
      }[]
      return new Set(rows.map((row) => row.name))
    },
    comments: () => [],
    fence: () => db.selectFrom('sync_lease').select('token').where('name', '=', 'run').compile(),
    now: async (_, clock) => fromMicros(clock.nowMicros()),
    classify: (error) => classify(error, where),
    optimize: () => turns.own(async () => void raw.pragma('optimize')),
    close: async () => {
      await writer.close()
      await db.destroy()
    },
  }
}

async function liveTables(raw: BetterSqlite3.Database): Promise<Map<string, LiveColumn[]>> {
  const rows = raw
    .prepare(
      "select m.name as name, c.name as column_name, c.type as type from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table'",
    )
    .all() as { name: string; column_name: string; type: string }[]
  const tables = new Map<string, LiveColumn[]>()
  for (const row of rows) {
    const columns = tables.get(row.name) ?? []
    columns.push({ name: row.column_name, type: row.type })
    tables.set(row.name, columns)
  }
  return tables
}
