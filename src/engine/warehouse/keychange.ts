/**
 * Changes a table's key, based on the existing keys. Rows, and anything that others have added to the table, stay. Used
 * by ddl.ts and migrate.ts; sqlite/changekey.ts and postgres/changekey.ts do it.
 */
import { type CompiledQuery, sql } from 'kysely'
import { Stop } from '../base/errors.js'
import { bytesText, plural } from '../base/format.js'
import type { Table } from '../model/table.js'
import type { Change } from './change.js'
import { rootTable } from './database.js'
import type { Dialect, LiveIndex, Obstacle, TableSize } from './dialect.js'

/**
 * Runs a query in the current transaction, or outside of any. SQLite has one connection: during a transaction a query
 * that asks for another waits forever.
 */
export type Ask = <T>(query: CompiledQuery<T>) => Promise<{ readonly rows: T[] }>

/** The change of a key that differs from the declared one. undefined if it doesn't differ. */
export async function keyChange(
  dialect: Dialect,
  table: Table,
  indexes: readonly LiveIndex[],
  ask: Ask,
): Promise<Change | undefined> {
  const live = indexes.find((index) => index.table === table.name && index.isPrimary)
  if (live?.columns.join() === table.key.join()) return undefined
  const { statements, obstacles } = await dialect.catalog.changeKey(table, live)
  const shared = (await isUnique(dialect, table, live, ask)) ? [] : [sharing(table)]
  return {
    table: table.name,
    what: `change key to ${table.key.join(', ')}`,
    kind: 'key',
    statements,
    obstacles: [...obstacles, ...shared],
  }
}

const sharing = ({ name, key }: Table): Obstacle => ({
  problem: `rows have the same ${key.join(', ')}, or none`,
  hint: `Rename or drop ${name}: migrate creates it again, and the next sync fills it`,
})

/** If rows are unique by some of these columns, they are unique by all of them. */
async function isUnique(
  { db }: Dialect,
  table: Table,
  live: LiveIndex | undefined,
  ask: Ask,
): Promise<boolean> {
  if (live?.columns.every((name) => name !== null && table.key.includes(name))) return true
  const columns = table.key.map((name) => sql.ref(name))
  const bad = db
    .selectFrom(rootTable(table))
    .select(sql`1`.as('one'))
    .groupBy(columns)
    .having(
      sql<boolean>`count(*) > 1 or ${sql.join(
        columns.map((c) => sql`${c} is null`),
        sql` or `,
      )}`,
    )
    .limit(1)
  return (await ask(bad.compile())).rows.length === 0
}

/** Adds the sizes of the tables whose keys change: the larger, the longer it takes. */
export async function measured<C extends Change>(dialect: Dialect, changes: readonly C[]): Promise<C[]> {
  const found: C[] = []
  for (const change of changes)
    found.push(
      change.kind === 'key' ? { ...change, size: await dialect.catalog.sizeOf(change.table) } : change,
    )
  return found
}

const sizeOfAll = (changes: readonly Change[]): TableSize => ({
  rows: changes.reduce((sum, { size }) => sum + (size?.rows ?? 0), 0),
  bytes: changes.reduce((sum, { size }) => sum + (size?.bytes ?? 0), 0),
})

/** Stops if there are obstacles to a change, and names all of them. */
export function refuseObstacles(changes: readonly Change[], where: string): void {
  const blocked = changes.filter(({ obstacles = [] }) => obstacles.length > 0)
  if (blocked.length === 0) return
  const found = blocked.map(
    ({ table, obstacles = [] }) => `${table} (${obstacles.map(({ problem }) => problem).join(', ')})`,
  )
  const hints = new Set(blocked.flatMap(({ obstacles = [] }) => obstacles.map(({ hint }) => hint)))
  throw new Stop(`The keys of these tables cannot be changed in ${where}: ${found.join('; ')}`, {
    exitCode: 2,
    hint: `${[...hints].join('. ')}. Then type shopsync migrate. Nothing was changed`,
  })
}

/** A failure in the middle of changing keys. If room ran out, it reports how much is needed. */
export function roomFailure(dialect: Dialect, changes: readonly Change[], error: unknown): unknown {
  const known = dialect.classify(error)
  const keys = changes.filter(({ kind }) => kind === 'key')
  if (!(known instanceof Stop && known.exitCode === 1) || keys.length === 0) return error
  return new Stop(known.message, {
    ...known.details,
    exitCode: 1,
    hint: `Free at least ${bytesText(2 * sizeOfAll(keys).bytes)} and run the same command again: the keys of ${plural(keys.length, 'table')} change, and until all of them have, the warehouse stays as it was`,
  })
}
