/**
 * The statements that bring the warehouse's tables up to date. Used by migrate.ts; `plan` and `migrate` show the
 * changes.
 */
import { type CompiledQuery, sql } from 'kysely'
import { Bug, Stop } from '../base/errors.js'
import { type Column, datedColumn, type Table } from '../model/table.js'
import type { Change } from './change.js'
import { rootTable } from './database.js'
import type { Dialect, LiveColumn, LiveIndex } from './dialect.js'
import type { Session } from './transaction.js'

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
    return dated === undefined ? `"${column}"` : `(${dialect.sql.calendar.utcDay?.(`"${dated}"`)})`
  }
  const index = dialect.db.schema
    .createIndex(name)
    .on(table.name)
    .expression(sql.raw(columns.map(entry).join(', ')))
  return (isUnique ? index.unique() : index).compile()
}

function addColumn(dialect: Dialect, table: Table, column: Column): Change {
  if (!column.nullable)
    throw new Stop(
      `The table ${table.name} is missing the column ${column.name}, which cannot be added to existing rows`,
      {
        exitCode: 2,
        hint: `Expected a table made by shopsync: rename or drop ${table.name} and run shopsync migrate, then sync --full`,
      },
    )
  const type = dialect.sql.columnType(column.kind)
  return {
    table: table.name,
    what: `add column ${column.name} ${type}`,
    kind: 'column',
    column,
    statements: [dialect.db.schema.alterTable(table.name).addColumn(column.name, sql.raw(type)).compile()],
  }
}

function missingColumns(
  { dialect, isStrict }: Comparison,
  table: Table,
  live: readonly LiveColumn[],
): Change[] {
  const types = new Map(live.map((column) => [column.name, column.type.toLowerCase()]))
  return table.columns.flatMap((column) => {
    const found = types.get(column.name)
    if (found === undefined && !column.nullable && !isStrict) return []
    if (found === undefined) return [addColumn(dialect, table, column)]
    const expected = dialect.sql.columnType(column.kind).toLowerCase()
    if (found === expected || !isStrict) return []
    throw new Stop(`The column ${table.name}.${column.name} is ${found}; expected ${expected}`, {
      exitCode: 2,
      hint: 'Migrations only add. Rename that column (or change resources.NAME.columns back), then run shopsync migrate',
    })
  })
}

/** How the tables are compared with what exists. */
interface Comparison {
  readonly dialect: Dialect
  /** The columns that exist. */
  readonly live: readonly LiveColumn[]
  /**
   * Whether something that can't be fixed stops the program. Only after the declarations or the configuration have
   * changed: what a person has done to one table since then is that table's problem, and fails only its cursors.
   */
  readonly isStrict: boolean
}

/** A name for an index. A table that somebody renamed has kept the names of its own. */
function freeName(wanted: string, live: readonly LiveIndex[]): string {
  const taken = new Set(live.map(({ name }) => name))
  let name = wanted
  for (let n = 2; taken.has(name); n++) name = `${wanted}_${n}`
  return name
}

/** The indexes that a table lacks. */
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
    dialect.sql.calendar.utcDay !== undefined || index.every((column) => datedColumn(column) === undefined)
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

/** The changes to an existing table. */
const changesOf = (
  comparison: Comparison,
  table: Table,
  columns: readonly LiveColumn[],
  indexes: readonly LiveIndex[],
): Change[] => [
  ...missingColumns(comparison, table, columns),
  ...missingIndexes(comparison.dialect, table, indexes),
]

/**
 * The changes that the warehouse needs, in the order in which they must be made. Never drops rows, or anything made by
 * others.
 */
export async function missing(comparison: Comparison, tables: readonly Table[]): Promise<Change[]> {
  const { dialect } = comparison
  const live = new Map<string, LiveColumn[]>()
  for (const column of comparison.live) {
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
    if (columns) changes.push(...changesOf(comparison, table, columns, indexes))
    else
      changes.push(
        {
          table: table.name,
          what: 'create table',
          kind: 'table',
          statements: [createTable(dialect, table, freeName(`${table.name}_key`, indexes))],
        },
        ...missingIndexes(dialect, table, indexes),
      )
  }
  return changes
}

/** Makes what the tables lack. It is looked for in the transaction that makes it, which keeps other migrations out. */
export async function makeMissing(
  dialect: Dialect,
  session: Session,
  tables: readonly Table[],
  { isStrict }: Pick<Comparison, 'isStrict'>,
): Promise<void> {
  await dialect.catalog.prepare(session)
  const live = await dialect.catalog.liveColumns()
  const changes = await missing({ dialect, live, isStrict }, tables)
  for (const { statements } of changes) for (const statement of statements) await session.run(statement)
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
