/**
 * The warehouse that a copy is written to: whether it may be used, and the mark it carries until the copy is complete.
 * While it carries the mark, every other command refuses it (src/engine/warehouse/layout/migrate.ts): rows without their
 * watermarks, or watermarks without their rows, would pass for a warehouse.
 */

import { setImmediate as turn } from 'node:timers/promises'
import type { CompiledQuery } from 'kysely'
import type { Int64 } from '../../../schema/resource.js'
import { Stop } from '../../engine/base/errors.js'
import { count, plural } from '../../engine/base/format.js'
import type { Table } from '../../engine/model/table.js'
import { readerOf, rootTable } from '../../engine/warehouse/database.js'
import type { Dialect } from '../../engine/warehouse/dialect.js'
import { makeMissing, missing } from '../../engine/warehouse/layout/ddl.js'
import {
  copyMark,
  type PartMark,
  partMark,
  type UnfinishedCopy,
  unfinishedCopy,
} from '../../engine/warehouse/layout/migrate.js'
import { refuseNarrow } from '../../engine/warehouse/openwarehouse.js'
import { readMeta, removeMeta, storeMeta } from '../../engine/warehouse/state/meta.js'
import type { Warehouse, Writer } from '../../engine/warehouse/warehouse.js'

/** Tables that the program fills without any source: `migrate` fills them in an empty warehouse. */
const madeOfNothing = /^(sync_(meta|lease|columns)|report_.*)$/

/** The existing tables that hold rows. */
async function filled(
  { dialect, tables }: Warehouse,
  names: ReadonlySet<string>,
): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  for (const { name } of tables) {
    if (!names.has(name) || madeOfNothing.test(name)) continue
    const query = dialect.db.selectFrom(rootTable({ name })).select((eb) => eb.fn.countAll<Int64>().as('n'))
    const rows = Number((await query.executeTakeFirst())?.n ?? 0)
    if (rows > 0) found.set(name, rows)
  }
  return found
}

const elsewhere = 'Name another address or --to-schema, or drop the tables in it'

/** The state of a target before the copy touches it. */
export interface TargetState {
  /** A copy of this source was started here. */
  readonly isBegun: boolean
  /** The product's tables exist, and are empty. */
  readonly hasTables: boolean
}

/** Stops if the target holds anything but an unfinished copy of this source. */
export async function checkTarget(target: Warehouse, from: string): Promise<TargetState> {
  try {
    const state = await target.read(() => stateOf(target, from))
    await refuseNarrow(target)
    return state
  } catch (error) {
    throw ofFlag(error)
  }
}

/** Hints about a warehouse name `warehouse.url`; this one's address was typed after `--to`. */
function ofFlag(error: unknown): unknown {
  if (!(error instanceof Stop) || !error.hint?.includes('warehouse.url')) return error
  return new Stop(error.message, {
    ...error.details,
    exitCode: error.exitCode,
    hint: error.hint.replaceAll('warehouse.url', '--to'),
  })
}

async function stateOf(target: Warehouse, from: string): Promise<TargetState> {
  const { dialect, where } = target
  const live = new Set((await dialect.catalog.liveColumns()).map(({ table }) => table))
  const begun = live.has('sync_meta') ? await readMark(dialect) : undefined
  if (begun) {
    if (begun.from === from) return { isBegun: true, hasTables: true }
    throw new Stop(
      `${where} is an unfinished copy of ${begun.from}, expected a copy of ${from}, or an empty warehouse`,
      {
        exitCode: 2,
        hint: elsewhere,
      },
    )
  }
  const rows = await filled(target, live)
  if (rows.size === 0) return { isBegun: false, hasTables: live.has('sync_cursors') }
  const all = [...rows.values()].reduce((sum, n) => sum + n, 0)
  const most = [...rows].sort(([, a], [, b]) => b - a).slice(0, 3)
  const named = most.map(([name, n]) => `${name} ${count(n)}`).join(', ')
  throw new Stop(
    `${where} has ${plural(all, 'row')} in ${plural(rows.size, 'table')} (${named}), expected an empty warehouse or an unfinished copy of ${from}`,
    { exitCode: 2, hint: elsewhere },
  )
}

async function readMark({ db }: Dialect): Promise<UnfinishedCopy | undefined> {
  return unfinishedCopy(await readMeta(readerOf(db), copyMark))
}

const bare = ({ indexes: _, unique: __, ...table }: Table): Table => ({ ...table, indexes: [] })

/**
 * Makes the indexes of full tables, and their comments. Each has its own transaction: SQLite does nothing else
 * meanwhile, and the lease has to be extended between two of them.
 */
export async function makeIndexes(
  target: Writer,
  tables: readonly Table[],
  { signal }: { readonly signal: AbortSignal },
): Promise<void> {
  const { dialect } = target
  const live = await target.read(() => dialect.catalog.liveColumns())
  const changes = await target.read(() => missing(dialect, live, tables))
  const lacking = new Set(changes.map(({ table }) => table))
  for (const table of tables.filter(({ name }) => lacking.has(name))) {
    await make(target, [table])
    await turn()
    signal.throwIfAborted()
  }
  const comments = target.dialect.catalog.comments(tables)
  if (comments.length > 0) await target.write(comments)
}

/** Makes missing tables without indexes: rows in key order load faster that way. */
export const makeTables = (target: Writer, tables: readonly Table[]): Promise<void> =>
  make(target, tables.map(bare))

const make = (target: Writer, tables: readonly Table[]): Promise<void> =>
  target.transaction((session) => makeMissing(target.dialect, session, tables))

/** The tables needed for the lease and the mark. */
export const firstTables = ({ tables }: Warehouse): Table[] =>
  tables.filter(({ name }) => ['sync_meta', 'sync_lease'].includes(name))

/** Marks the target as an unfinished copy. */
export const markUnfinished = ({ db }: Warehouse, mark: UnfinishedCopy): CompiledQuery =>
  storeMeta(db, copyMark, JSON.stringify(mark))

/** Marks the target as a finished copy of some tenants, to which no command writes. */
export const markPart = ({ db }: Warehouse, mark: PartMark): CompiledQuery =>
  storeMeta(db, partMark, JSON.stringify(mark))

export const unmark = ({ db }: Warehouse): CompiledQuery => removeMeta(db, copyMark)
