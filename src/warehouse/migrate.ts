import { createHash } from 'node:crypto'
import { Stop } from '../errors.js'
import type { Table } from '../model/tables.js'
import { type Change, missing } from './ddl.js'
import type { Dialect, Session } from './dialect.js'

/** Raised when a warehouse can no longer be read by older programs; additions do not count. */
const schemaVersion = 1

const digest = (tables: readonly Table[]): string =>
  createHash('sha256').update(JSON.stringify(tables)).digest('hex')

async function readMeta(dialect: Dialect): Promise<Map<string, string | null>> {
  const live = await dialect.liveColumns()
  if (!live.some(({ table }) => table === 'sync_meta')) return new Map()
  const rows = await dialect.db.selectFrom('sync_meta').selectAll().execute()
  return new Map(rows.map((row) => [row.name, row.value]))
}

function refuseNewer(meta: Map<string, string | null>, where: string): void {
  const found = Number(meta.get('schema_version') ?? schemaVersion)
  if (found <= schemaVersion) return
  throw new Stop(
    `The warehouse ${where} has tables of version ${found}; this program knows versions up to ${schemaVersion}`,
    { exitCode: 2, hint: 'Expected a newer shopsync: upgrade the program, or name another warehouse.url' },
  )
}

async function writeMeta(dialect: Dialect, session: Session, values: Record<string, string>): Promise<void> {
  for (const [name, value] of Object.entries(values))
    await session.run(
      dialect.db
        .insertInto('sync_meta')
        .values({ name, value })
        .onConflict((c) => c.column('name').doUpdateSet({ value }))
        .compile(),
    )
}

/** The changes that `migrate` would make now. Writes nothing. */
export async function planMigration(dialect: Dialect, tables: readonly Table[]): Promise<Change[]> {
  refuseNewer(await readMeta(dialect), dialect.where)
  return missing(dialect, tables)
}

/** Brings the warehouse's tables up to date, in one transaction. Several migrations at once wait for each other. */
export async function migrateTables(dialect: Dialect, tables: readonly Table[]): Promise<Change[]> {
  const meta = await readMeta(dialect)
  refuseNewer(meta, dialect.where)
  const wanted = digest(tables)
  const live = new Set((await dialect.liveColumns()).map(({ table }) => table))
  if (meta.get('model') === wanted && tables.every((table) => live.has(table.name))) return []
  return dialect.transaction(async (session) => {
    await dialect.prepare(session)
    // Compared again behind the lock: another process may have migrated meanwhile.
    const changes = await missing(dialect, tables)
    for (const change of changes) await session.run(change.statement)
    for (const table of tables) for (const comment of dialect.comments(table)) await session.run(comment)
    await writeMeta(dialect, session, { schema_version: String(schemaVersion), model: wanted })
    return changes
  })
}
