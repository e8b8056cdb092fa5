/**
 * The two passes of a copy. The first writes each table's rows to the target; the second reads both sides again and
 * compares them. Only the second decides. Used by src/features/copy/work.ts.
 */

import { createHash } from 'node:crypto'
import { sql } from 'kysely'
import type { Int64, Kind } from '../../../schema/resource.js'
import { allSettled } from '../../engine/base/allsettled.js'
import type { Tuple, Value } from '../../engine/model/flatten/batch.js'
import type { Column, Table } from '../../engine/model/table.js'
import { type Db, rootTable } from '../../engine/warehouse/database.js'
import type { Dialect } from '../../engine/warehouse/dialect.js'
import type { Session } from '../../engine/warehouse/transaction.js'
import type { Warehouse, Writer } from '../../engine/warehouse/warehouse.js'
import { type CopiedPart, isNotCopied } from './copiedtables.js'
import { carrierOf, jsonValueText, numberText, type Passage, Unfit } from './copyvalues.js'
import { changesOf, mapRows, type RowChange, type Rowlists } from './stream.js'

/** How many rows are read and written together. Twice as many take 60 MB more and no less time. */
const rowsAtOnce = 1000

/** A warehouse as of one instant. */
export interface Held {
  readonly dialect: Dialect
  readonly db: Db
}

const passageOf = (from: Dialect, to: Dialect): Passage => ({ from: from.sql.numbers, to: to.sql.numbers })

/** Called for each value that the target can't hold. */
type OnUnfit = (tuple: Tuple, column: Column, value: Value, reason: string) => void

/** Of which rows, and which of their columns, a copy consists. */
export interface Copied {
  readonly part?: CopiedPart | undefined
  /** Columns that stay empty in the copy. */
  emptied(table: Table): ReadonlySet<string>
}

/** Rows in the form that the target holds. */
function carryRows(
  table: Table,
  { emptied }: Copied,
  passage: Passage,
  onUnfit: OnUnfit,
): (tuple: Tuple) => Tuple {
  const { columns } = table
  const empty = emptied(table)
  const carriers = columns.map(({ name, kind }) => (empty.has(name) ? () => null : carrierOf(kind, passage)))
  return (tuple) =>
    tuple.map((value, i) => {
      const carried = carriers[i]?.(value) ?? null
      if (!(carried instanceof Unfit)) return carried
      const column = columns[i]
      if (column) onUnfit(tuple, column, value, carried.reason)
      return null
    })
}

/** A row as one text. No text contains U+0000. */
function printRow({ columns }: Table, passage: Passage): (tuple: Tuple) => string {
  const printers = columns.map(({ kind }) => printerOf(kind, passage))
  return (tuple) => {
    let text = ''
    for (let i = 0; i < printers.length; i++) {
      const value = tuple[i] ?? null
      text += value === null ? '\u0000' : `=${printers[i]?.(value)}\u0000`
    }
    return text
  }
}

const countOf = async (db: Db, { name }: Table): Promise<number> => {
  const query = db.selectFrom(rootTable({ name })).select((eb) => eb.fn.countAll<Int64>().as('n'))
  return Number((await query.executeTakeFirst())?.n ?? 0)
}

/** How many rows each table has. */
export async function rowCounts(db: Db, tables: readonly Table[]): Promise<Map<string, number>> {
  const counts = new Map<string, number>()
  for (const table of tables) counts.set(table.name, await countOf(db, table))
  return counts
}

async function remove({ db }: Dialect, session: Session, table: Table, tuple: Tuple): Promise<void> {
  const key = table.key.map((name) => {
    const value = tuple[table.columns.findIndex((column) => column.name === name)] ?? null
    return sql<boolean>`${sql.ref(name)} = ${value}`
  })
  const named = sql<boolean>`${sql.join(key, sql` and `)}`
  await session.run(
    db
      .deleteFrom(rootTable(table) as 'tenants')
      .where(named)
      .compile(),
  )
}

interface TableCopy extends Copied {
  readonly source: Held
  readonly target: Writer
  /** A connection to the target that sees what it held before. */
  readonly before: Warehouse
  /** Called with the number of finished rows of the table. */
  readonly onRows: (rows: number) => void
  readonly signal: AbortSignal
}

/**
 * Makes the target's rows of a table equal to the source's `rows`. Existing rows are compared and stay if they are
 * equal.
 */
export async function copyTable(table: Table, rows: number, tableCopy: TableCopy): Promise<void> {
  const { before, part } = tableCopy
  const isEmpty = (await before.read((db) => countOf(db, table))) === 0
  if (isEmpty && rows === 0) return
  if (isEmpty) return copyRows(table, tableCopy, noRows())
  // As of the instant when this table starts: rows written from then on aren't seen again.
  await before.dialect.atOneInstant(({ db }) =>
    copyRows(
      table,
      tableCopy,
      mapRows(before.dialect.bulk.scan(db, table, rowsAtOnce), isNotCopied(table, part), (row) => row),
    ),
  )
}

async function copyRows(
  table: Table,
  { source, target, onRows, signal, ...copied }: TableCopy,
  had: Rowlists,
): Promise<void> {
  const passage = passageOf(source.dialect, target.dialect)
  const print = printRow(table, passage)
  const rows = source.dialect.bulk.scan(source.db, table, rowsAtOnce)
  const wanted = mapRows(
    rows,
    isNotCopied(table, copied.part),
    carryRows(table, copied, passage, () => {}),
  )
  const isSame = (a: Tuple, b: Tuple): boolean => print(a) === print(b)
  const write = ({ gone, added }: RowChange): Promise<void> =>
    target.transaction(async (session) => {
      for (const tuple of gone) await remove(target.dialect, session, table, tuple)
      if (added.length > 0) await session.load(table, added)
    })
  // One list is written while the next one is read and encoded.
  let writing = Promise.resolve()
  try {
    for await (const change of changesOf({ table, source: wanted, target: had, isSame, rowsAtOnce })) {
      signal.throwIfAborted()
      await writing
      onRows(change.read)
      if (change.gone.length + change.added.length === 0) continue
      writing = write(change)
      // If it fails, the error is thrown where it is awaited.
      writing.catch(() => {})
    }
  } finally {
    await writing
  }
}

/** The result for one side of a table. */
export interface Sum {
  readonly rows: number
  /** SHA-256 of all values in key order, in the form that the target holds. */
  readonly digest: string
}

async function sumOf(
  lists: Rowlists,
  print: (tuple: Tuple) => string,
  each: (rows: number) => Promise<void>,
): Promise<Sum> {
  const hash = createHash('sha256')
  let rows = 0
  for await (const list of lists) {
    hash.update(list.map(print).join(''))
    rows += list.length
    await each(rows)
  }
  return { rows, digest: hash.digest('hex') }
}

/** Reads a table completely, on both sides. */
export async function compareTable(
  table: Table,
  {
    source,
    target,
    onUnfit,
    onRows,
    signal,
    ...copied
  }: Copied & {
    readonly source: Held
    readonly target: Held
    readonly onUnfit: OnUnfit
    /** Awaited: meanwhile, values that the target can't hold are written. */
    readonly onRows: (rows: number) => Promise<void>
    readonly signal: AbortSignal
  },
): Promise<{ readonly source: Sum; readonly target: Sum }> {
  const passage = passageOf(source.dialect, target.dialect)
  const print = printRow(table, passage)
  const isOut = isNotCopied(table, copied.part)
  const rowsOf = ({ dialect, db }: Held): Rowlists => dialect.bulk.scan(db, table, rowsAtOnce)
  const wanted = mapRows(rowsOf(source), isOut, carryRows(table, copied, passage, onUnfit))
  const there = mapRows(rowsOf(target), isOut, (row) => row)
  const each = (rows: number): Promise<void> => {
    signal.throwIfAborted()
    return onRows(rows)
  }
  const [mine, theirs] = await allSettled([sumOf(wanted, print, each), sumOf(there, print, async () => {})])
  return { source: mine, target: theirs }
}

async function* noRows(): AsyncGenerator<readonly Tuple[]> {}

/** Prints a value as the other side holds it: the same value gives the same text, whichever side it is read from. */
function printerOf(kind: Kind, { from, to }: Passage): (value: Value) => string {
  if (kind === 'number')
    return (value) => (typeof value === 'number' || typeof value === 'string' ? numberText(value) : '')
  if (kind === 'json' && from !== to) return (value) => jsonValueText(String(value))
  return String
}
