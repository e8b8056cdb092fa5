/**
 * A transaction on SQLite. Root and child rows are bound value by value to statements of up to 32 rows.
 * sqlite/dialect.ts makes one per connection.
 */
import type BetterSqlite3 from 'better-sqlite3'
import { type CompiledQuery, type Expression, sql } from 'kysely'
import type { Int64 } from '../../../../schema/resource.js'
import { exact } from '../../base/int64.js'
import type { Tuple } from '../../model/flatten/batch.js'
import { type Table, tupleColumns } from '../../model/table.js'
import { ofStatement } from '../classify.js'
import type { Db } from '../database.js'
import { SharedSession } from '../store/session.js'
import { insertSql, type Slot, settledSql, slots, tupleIndex, upsertSql } from '../store/upsert.js'
import type { BatchStamp } from '../store/versionbatch.js'
import type { Parameter } from '../transaction.js'
import { TupleRows } from './rows.js'

/** Measured best at 16 to 64. The rest of a page goes in halves, so a few statements cover every number of rows. */
const rowsPerStatement = 32

type Statement = BetterSqlite3.Statement<unknown[]>

/** SQLite returns every integer as a bigint; this turns those that are safe into numbers. */
export function narrowIntegers(rows: readonly object[]): void {
  for (const row of rows as Record<string, unknown>[])
    for (const name in row) {
      const value = row[name]
      if (typeof value === 'bigint') row[name] = exact(value)
    }
}

/** `values` with placeholders for this many rows. */
function valuesOf(rows: number, row: readonly Expression<unknown>[]): Expression<unknown> {
  return sql`values ${sql.join(Array.from({ length: rows }, () => sql`(${sql.join(row)})`))}`
}

const bound = sql`${null}`
/** Values that all rows of a batch share are bound once per statement. */
const tenant = sql.raw('@tenantId')
const shares: Readonly<Record<Exclude<Slot, number>, Expression<unknown>>> = {
  tenant_id: tenant,
  _synced_at: sql.raw('@syncedAt'),
  _deleted_at: sql.raw('null'),
  _unlisted_at: sql.raw('null'),
  _seen_from: sql.raw('@syncedAt'),
}

/** As JSON. SQLite reads integers exactly, even beyond 2^53. */
const jsonScalar = (value: unknown): string =>
  typeof value === 'bigint' ? String(value) : JSON.stringify(value ?? null)

const jsonList = (values: readonly unknown[]): string => `[${values.map(jsonScalar).join(',')}]`

export class SqliteSession extends SharedSession<TupleRows> {
  protected readonly locking = ''
  /** By name or text. */
  readonly #statements = new Map<string, Statement>()

  constructor(
    private readonly raw: BetterSqlite3.Database,
    private readonly db: Db,
  ) {
    super()
  }

  async run<T>(query: CompiledQuery<T>): Promise<{ rows: T[]; affected: number }> {
    const parameters = query.parameters.map((value) => (typeof value === 'boolean' ? Number(value) : value))
    return this.#tried(query.sql, () => {
      const statement = this.#prepare(query.sql)
      if (!statement.reader) return { rows: [], affected: statement.run(parameters).changes }
      const rows = statement.all(parameters) as object[]
      narrowIntegers(rows)
      return { rows: rows as T[], affected: rows.length }
    })
  }

  async upsert(
    table: Table,
    rows: TupleRows,
    stamp: BatchStamp,
    which: 'all' | 'differing',
  ): Promise<number> {
    return this.#write(`${which} ${table.name}`, table, rows, stamp, (source) =>
      upsertSql(this.db, table, source, which),
    )
  }

  /** As fast as an insert that would fail on a conflict (docs/dev/performance.md). */
  insert(table: Table, rows: TupleRows, stamp: BatchStamp): Promise<number> {
    return this.upsert(table, rows, stamp, 'differing')
  }

  async load(table: Table, tuples: readonly Tuple[]): Promise<void> {
    const row = table.columns.map(() => bound)
    this.#sum(
      `load ${table.name}`,
      (count) => insertSql(this.db, table, valuesOf(count, row), { skips: true }),
      new TupleRows(tuples, 0),
      (statement, values) => statement.run(...values).changes,
    )
  }

  #write(
    name: string,
    table: Table,
    rows: TupleRows,
    { tenantId, syncedAt }: BatchStamp,
    sqlOf: (source: Expression<unknown>) => string,
  ): number {
    const textOf = (count: number): string =>
      sqlOf(
        valuesOf(
          count,
          slots(table).map((slot) => (typeof slot === 'number' ? bound : shares[slot])),
        ),
      )
    // Separate arguments, because the driver takes twice as long to read them from an array.
    return this.#sum(
      name,
      textOf,
      rows,
      (statement, values) => statement.run(...values, { tenantId, syncedAt }).changes,
    )
  }

  async prune(table: Table, tenantId: Int64, owners: readonly Int64[], rows: TupleRows): Promise<number> {
    const rest = table.key.slice(1)
    const places = rest.map((name) => tupleIndex(table, name))
    // A single-column key needs no nested list, which SQLite would parse row by row.
    const one = rest.length === 1
    const kept = rows.tuples.map((tuple) => {
      const values = places.map((place) => tuple[place])
      return one ? jsonScalar(values[0]) : jsonList(values)
    })
    const key = rest.map((name) => `"${name}"`).join(', ')
    const picked = one ? 'value' : rest.map((_, i) => `json_extract(value, '$[${i}]')`).join(', ')
    const text = `delete from "${table.name}" where ${this.ownedBy(table)} and (${key}) not in (select ${picked} from json_each($3))`
    const values = { 1: tenantId, 2: jsonList(owners), 3: `[${kept.join(',')}]` }
    return this.#tried(text, () => this.#prepare(text).run(values).changes)
  }

  async countSettled(table: Table, rows: TupleRows, { tenantId, syncedAt }: BatchStamp): Promise<number> {
    const names = tupleColumns(table).map((column) => column.name)
    const textOf = (count: number): string => {
      const picked = sql.join(names.map((name, i) => sql`${sql.ref(`column${i + 1}`)} as ${sql.id(name)}`))
      const values = valuesOf(
        count,
        names.map(() => bound),
      )
      const source = sql`select ${picked}, ${shares._synced_at} as _synced_at from (${values})`
      return settledSql(this.db, table, source, tenant)
    }
    return this.#sum(`settled ${table.name}`, textOf, rows, (statement, values) =>
      Number(statement.pluck(true).get(...values, { tenantId, syncedAt })),
    )
  }

  async ask<T extends unknown[]>(
    text: string,
    parameters: readonly Parameter[],
  ): Promise<{ rows: T[]; affected: number }> {
    const named = Object.fromEntries(
      parameters.map((value, i) => [i + 1, Array.isArray(value) ? jsonList(value) : value]),
    )
    return this.#tried(text, () => {
      const statement = this.#prepare(text)
      if (!statement.reader) return { rows: [], affected: statement.run(named).changes }
      const rows = statement.raw(true).all(named) as T[]
      narrowIntegers(rows)
      return { rows, affected: rows.length }
    })
  }

  protected from(table: string): string {
    return `"${table}"`
  }

  protected within(parameter: string): string {
    return `in (select value from json_each(${parameter}))`
  }

  /** Runs statements of 32, 16, … 1 rows until all rows are done. Returns the sum of their results. */
  #sum(
    name: string,
    textOf: (rows: number) => string,
    rows: TupleRows,
    run: (statement: Statement, values: unknown[]) => number,
  ): number {
    const all = rows.tuples.length
    let at = 0
    let sum = 0
    for (let size = rowsPerStatement; size >= 1; size >>= 1)
      while (all - at >= size) {
        const values: unknown[] = []
        for (const end = at + size; at < end; at++) rows.read(at, values)
        sum += this.#tried(textOf, () =>
          run(
            this.#prepare(`${size} ${name}`, () => textOf(size)),
            values,
          ),
        )
      }
    return sum
  }

  /** Work on one statement. An error remembers which one it was. */
  #tried<T>(text: string | ((rows: number) => string), work: () => T): T {
    try {
      return work()
    } catch (error) {
      throw ofStatement(error, typeof text === 'string' ? text : text(1))
    }
  }

  #prepare(name: string, textOf = (): string => name): Statement {
    const known = this.#statements.get(name)
    if (known) return known
    const statement = this.raw.prepare<unknown[]>(textOf())
    this.#statements.set(name, statement)
    return statement
  }
}
