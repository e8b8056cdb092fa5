/**
 * The statements that bring the warehouse's tables up to date. Used by migrate.ts; `plan` and `migrate` show the
 * changes.
 */
import { type CompiledQuery, sql } from 'kysely'
import { Bug, Skip, Stop } from '../../base/errors.js'
import { type Column, datedColumn, type Table } from '../../model/table.js'
import { isEverybodys } from '../classify.js'
import { rootTable } from '../database.js'
import type { Dialect, LiveColumn, LiveIndex } from '../dialect.js'
import type { Session } from '../transaction.js'

/** One change that a migration would make, or has made. */
export interface Change {
  readonly table: string
  /** For people, such as `create table` or `add column vin text`. */
  readonly what: string
  /** `field`: nothing of the table changes, but what its columns get from then on (trackedcolumns.ts). */
  readonly kind: 'table' | 'column' | 'index' | 'field'
  /** The column that is added. */
  readonly column?: Column | undefined
  /** Why it can't be made. */
  readonly refusal?: Skip | undefined
  readonly statements: readonly CompiledQuery[]
}

/** Whether no version of shopsync has ever created its tables here. */
export const isNewWarehouse = (changes: readonly Change[]): boolean =>
  ['tenants', 'sync_cursors'].some((name) =>
    changes.some(({ table, what }) => table === name && what === 'create table'),
  )

const longestName = 63

/** Index names list the columns that they sort by. All of them begin with the tenant, which the name leaves out. */
function indexName(table: string, columns: readonly string[]): string {
  const words = columns.map((c) => c.replace(/^utc_day\((\w+)\)$/, '$1_utc_day'))
  const name = `${table}_by_${words.filter((c) => c !== 'tenant_id').join('_')}`
  if (name.length > longestName)
    throw new Bug(`The index name ${name} is longer than ${longestName} characters`)
  return name
}

function createTable(dialect: Dialect, table: Table, keyName = `${table.name}_key`): CompiledQuery {
  let builder = dialect.db.schema.createTable(table.name)
  for (const column of table.columns)
    builder = builder.addColumn(column.name, sql.raw(dialect.sql.columnType(column.kind)), (c) =>
      column.nullable ? c : c.notNull(),
    )
  return builder.addPrimaryKeyConstraint(keyName, [...table.key] as never[]).compile()
}

function createIndex(
  dialect: Dialect,
  table: Table,
  columns: readonly string[],
  { isUnique = false, name = indexName(table.name, columns) } = {},
): CompiledQuery {
  const entry = (column: string): string => {
    const dated = datedColumn(column)
    return dated === undefined ? `"${column}"` : `(${dialect.sql.utcDay?.(`"${dated}"`)})`
  }
  const index = dialect.db.schema
    .createIndex(name)
    .on(table.name)
    .expression(sql.raw(columns.map(entry).join(', ')))
  return (isUnique ? index.unique() : index).compile()
}

/**
 * What no migration adds, since it would change what others made of the table. The lists whose rows go there wait; the
 * product's own tables stop everybody.
 */
function refused(dialect: Dialect, table: Table, column: Column, found: string): Change {
  const { name } = table
  const alter = dialect.db.schema.alterTable(name)
  const statement = column.nullable
    ? alter.renameColumn(column.name, `${column.name}_before`).compile().sql
    : dialect.catalog.setAside(name)
  const hint = `Migrations only add. In the database, type: ${statement}. Then type shopsync sync: it makes the ${column.nullable ? 'column' : 'table'} again, and reads the list in full`
  if (isEverybodys(name)) throw new Stop(found, { exitCode: 2, hint, table: name })
  const details = { reason: 'failed', code: 'warehouse', table: name, hint, type: [statement] } as const
  return { table: name, what: found, kind: 'column', statements: [], refusal: new Skip(found, details) }
}

function addColumn(dialect: Dialect, table: Table, column: Column): Change {
  const { name } = column
  const lacks = `The table ${table.name} is missing the column ${name}, which cannot be added to existing rows`
  if (!column.nullable) return refused(dialect, table, column, lacks)
  const type = dialect.sql.columnType(column.kind)
  return {
    table: table.name,
    what: `add column ${name} ${type}`,
    kind: 'column',
    column,
    statements: [dialect.db.schema.alterTable(table.name).addColumn(name, sql.raw(type)).compile()],
  }
}

function missingColumns(dialect: Dialect, table: Table, live: readonly LiveColumn[]): Change[] {
  const types = new Map(live.map((column) => [column.name, column.type.toLowerCase()]))
  return table.columns.flatMap((column) => {
    const found = types.get(column.name)
    if (found === undefined) return [addColumn(dialect, table, column)]
    const expected = dialect.sql.columnType(column.kind).toLowerCase()
    if (found === expected) return []
    const other = `The column ${table.name}.${column.name} is ${found}; expected ${expected}`
    return [refused(dialect, table, column, other)]
  })
}

/** A name for an index. A table that somebody renamed has kept the names of its own. */
function freeName(wanted: string, live: readonly LiveIndex[]): string {
  const taken = new Set(live.map(({ name }) => name))
  let name = wanted
  for (let n = 2; taken.has(name); n++) name = `${wanted}_${n}`
  return name
}

function missingIndexes(dialect: Dialect, table: Table, live: readonly LiveIndex[]): Change[] {
  const own = live.filter((index) => index.table === table.name)
  const lacking = (index: readonly string[]): boolean => {
    const name = indexName(table.name, index)
    // The database names no column where an index has an expression.
    const columns = index.map((column) => (datedColumn(column) === undefined ? column : null))
    const isIt = (one: LiveIndex): boolean =>
      one.name === name || (one.name.startsWith(name) && one.columns.join() === columns.join())
    return !own.some(isIt)
  }
  const isUsed = (index: readonly string[]): boolean =>
    dialect.sql.utcDay !== undefined || index.every((column) => datedColumn(column) === undefined)
  const create = (index: readonly string[], isUnique: boolean): Change => ({
    table: table.name,
    what: `create ${isUnique ? 'unique ' : ''}index on ${index.join(', ')}`,
    kind: 'index',
    statements: [
      createIndex(dialect, table, index, { isUnique, name: freeName(indexName(table.name, index), live) }),
    ],
  })
  return [
    ...table.indexes
      .filter(isUsed)
      .filter(lacking)
      .map((index) => create(index, false)),
    ...(table.unique ?? []).filter((name) => lacking([name])).map((name) => create([name], true)),
  ]
}

/** The key that a table has, if it isn't the declared one: without any, `columns` is empty. */
function otherKey(table: Table, indexes: readonly LiveIndex[]) {
  const live = indexes.find((index) => index.table === table.name && index.isPrimary)
  const columns = live?.columns ?? []
  return columns.join() === table.key.join() ? undefined : { table, live, columns }
}

/** Migrations only add, and every statement that stores a row relies on the key. */
function refuseOtherKeys(dialect: Dialect, tables: readonly Table[], indexes: readonly LiveIndex[]): void {
  const others = tables.flatMap((table) => otherKey(table, indexes) ?? [])
  if (others.length === 0) return
  const found = others.map(
    ({ table, columns }) =>
      `${table.name} has ${columns.length === 0 ? 'no key' : `the key (${columns.join(', ')})`}; expected (${table.key.join(', ')})`,
  )
  const statements = others.map(({ table, live }) => dialect.catalog.keyStatement(table, live))
  throw new Stop(`Tables in ${dialect.where} have other keys than shopsync gave them: ${found.join('. ')}`, {
    exitCode: 2,
    hint: `In the database, type: ${statements.join('; ')}. Then type shopsync migrate: it creates a table that is missing, and the next sync fills it. Nothing was changed`,
  })
}

/**
 * The changes that the warehouse needs, in the order in which they must be made. Never drops rows, or anything made by
 * others.
 */
export async function missing(
  dialect: Dialect,
  columnsThere: readonly LiveColumn[],
  tables: readonly Table[],
): Promise<Change[]> {
  const live = new Map<string, LiveColumn[]>()
  for (const column of columnsThere) {
    const columns = live.get(column.table)
    if (columns) columns.push(column)
    else live.set(column.table, [column])
  }
  const indexes = await dialect.catalog.liveIndexes()
  const changes: Change[] = []
  const absent = tables.filter(({ name }) => !live.has(name)).map(({ name }) => name)
  // A view in the place of a table is the trouble of that table: the others are still made.
  const found = live.size > 0 && absent.length > 0 ? await dialect.catalog.interferences(absent) : []
  const taken = new Set(found.map(({ table }) => table))
  refuseOtherKeys(
    dialect,
    tables.filter(({ name }) => live.has(name)),
    indexes,
  )
  for (const table of tables.filter(({ name }) => !taken.has(name))) {
    const columns = live.get(table.name)
    if (columns) changes.push(...missingColumns(dialect, table, columns))
    else
      changes.push({
        table: table.name,
        what: 'create table',
        kind: 'table',
        statements: [createTable(dialect, table, freeName(`${table.name}_key`, indexes))],
      })
    changes.push(...missingIndexes(dialect, table, indexes))
  }
  return changes
}

/** Makes what the tables lack. It is looked for in the transaction that makes it, which keeps other migrations out. */
export async function makeMissing(
  dialect: Dialect,
  session: Session,
  tables: readonly Table[],
): Promise<void> {
  await dialect.catalog.prepare(session)
  const live = await dialect.catalog.liveColumns()
  for (const { statements, refusal } of await missing(dialect, live, tables)) {
    if (refusal) throw refusal
    for (const statement of statements) await session.run(statement)
  }
}

/**
 * Copies the rows of a table whose key has more columns than an earlier version gave it into a new one. In the caller's
 * transaction: if it is killed at any statement, the former table is as it was. Rows are unique by more columns than
 * before, so none is refused.
 */
export async function growKey(dialect: Dialect, session: Session, table: Table): Promise<void> {
  await dialect.catalog.prepare(session)
  const indexes = await dialect.catalog.liveIndexes()
  const other = otherKey(table, indexes)
  if (!other?.live || !other.columns.every((name) => name !== null && table.key.includes(name))) return
  const live = await dialect.catalog.liveColumns()
  const names = new Set(live.filter((column) => column.table === table.name).map(({ name }) => name))
  const columns = table.columns.map(({ name }) => name).filter((name) => names.has(name)) as 'tenant_id'[]
  const before = `${table.name}_before` as 'tenants'
  const { db } = dialect
  // Renamed first: until the end, nobody stores a row in the table that goes.
  await session.run(db.schema.alterTable(table.name).renameTo(before).compile())
  await session.run(createTable(dialect, table, freeName(`${table.name}_key`, indexes)))
  const rows = db.selectFrom(before).select(columns)
  await session.run(db.insertInto(rootTable(table)).columns(columns).expression(rows).compile())
  await session.run(db.schema.dropTable(before).compile())
}
