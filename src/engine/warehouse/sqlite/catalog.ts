/**
 * What exists in a SQLite file, what others made of it, and what it takes to change it. sqlite/dialect.ts makes one for
 * each warehouse.
 */
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type BetterSqlite3 from 'better-sqlite3'
import type { Catalog, Interference, LiveColumn, LiveIndex } from '../dialect.js'
import { classifyOpening } from './drivererrors.js'
import { type Opened, openRaw, transact, uncached } from './file.js'

export const sqliteCatalog = ({ raw, named }: Opened, path: string, where: string): Catalog => ({
  liveColumns: askedOnce(raw, liveColumns),
  liveIndexes: askedOnce(raw, liveIndexes),
  interferences: async (tables) => interferences(raw, tables),
  absence: async () => ({
    problem: existsSync(path) ? `the file ${path} has none of its tables` : `there is no file ${path}`,
    hint: 'Type shopsync sync, which makes one there, or correct "warehouse" in the configuration',
  }),
  narrowEncoding: async () => undefined,
  waitBriefly: async () => {},
  prepare: async () => (named ? undefined : tryBeside(path, where, async () => {})),
  tryRoom: async (_, { bytes }) => (named ? tryRoom(raw, bytes) : tryRoomBeside(path, where, bytes)),
  comments: () => [],
  // SQLite can't change a key, so another table takes its place.
  keyStatement: ({ name }) => setAside(name),
  setAside,
})

/** Without the setting, SQLite would write the new name into our views. */
const setAside = (name: string): string =>
  `pragma legacy_alter_table = on; alter table "${name}" rename to "${name}_before"`

function interferences(raw: BetterSqlite3.Database, tables: readonly string[]): Interference[] {
  const found = raw
    .prepare<[string], { readonly table: string; readonly name: string; readonly type: 'trigger' | 'view' }>(
      `select tbl_name as "table", name, type from sqlite_master
        where type in ('trigger', 'view') and tbl_name in (select value from json_each(?)) order by name`,
    )
    .all(JSON.stringify(tables))
  return found.map(({ table, name, type }) =>
    type === 'trigger'
      ? { table, problem: `the trigger ${name}`, hint: `Type: drop trigger ${name}`, isHarmful: false }
      : {
          table,
          problem: 'a view in place of the table',
          hint: `Rename or drop the view ${name}: the next run creates the table again and fills it`,
          isHarmful: true,
        },
  )
}

/** Tries something in a folder next to a missing file, and removes the folder. */
async function tryBeside(
  path: string,
  where: string,
  attempt: (folder: string) => Promise<void>,
): Promise<void> {
  let place = dirname(path)
  while (!existsSync(place) && place !== dirname(place)) place = dirname(place)
  let folder: string
  try {
    folder = mkdtempSync(join(place, '.shopsync-check-'))
  } catch (error) {
    throw classifyOpening(error, where)
  }
  try {
    await attempt(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** Tries whether a missing file would have room. */
const tryRoomBeside = (path: string, where: string, bytes: number): Promise<void> =>
  tryBeside(path, where, async (folder) => {
    const raw = openRaw(join(folder, 'room.db'), where)
    try {
      await transact({ raw }, async () => tryRoom(raw, bytes))
    } finally {
      raw.close()
    }
  })

/** Asks again only after a change of any table. SQLite counts those, and counts one that is rolled back no more. */
function askedOnce<T>(raw: BetterSqlite3.Database, ask: (of: typeof raw) => T): () => Promise<T> {
  let known: { readonly version: unknown; readonly answer: T } | undefined
  return async () => {
    if (raw.inTransaction) return ask(raw)
    const version = raw.pragma('schema_version', { simple: true })
    if (known === undefined || known.version !== version) known = { version, answer: ask(raw) }
    return known.answer
  }
}

const liveColumns = (raw: BetterSqlite3.Database): LiveColumn[] =>
  raw
    .prepare<[], LiveColumn>(
      `select m.name as "table", c.name as name, c.type as type from sqlite_master m, pragma_table_info(m.name) c where m.type = 'table' and m.name not like 'sqlite!_%' escape '!'`,
    )
    .all()

/**
 * The columns of an index come in order, which an aggregate preserves only from an ordered subquery. A key that is one
 * whole number has no index: it is the table's own.
 */
const indexes = `select m.name as "table", l.name as name, 0 as is_primary,
    (select json_group_array(name) from (select name from pragma_index_info(l.name) order by seqno)) as columns
  from sqlite_schema m, pragma_index_list(m.name) l
  where m.type = 'table' and l.origin <> 'pk' and m.name not like 'sqlite!_%' escape '!'
  union all
  select m.name, m.name, 1, (select json_group_array(name) from
    (select name from pragma_table_info(m.name) where pk > 0 order by pk)) as columns
  from sqlite_schema m
  where m.type = 'table' and m.name not like 'sqlite!_%' escape '!' and columns <> '[]'`

const liveIndexes = (raw: BetterSqlite3.Database): LiveIndex[] =>
  raw
    .prepare<
      [],
      {
        readonly table: string
        readonly name: string
        readonly is_primary: bigint
        /** JSON. */
        readonly columns: string
      }
    >(indexes)
    .all()
    .map(({ table, name, is_primary, columns }) => ({
      table,
      name,
      columns: JSON.parse(columns) as (string | null)[],
      isPrimary: is_primary === 1n,
    }))

/** In a warehouse's own row: after a table that is rolled back, SQLite parses the texts of all views again. */
const tryRoom = (raw: BetterSqlite3.Database, bytes: number): void =>
  uncached(raw, () => {
    const [table = 'shopsync_check'] = raw
      .prepare("select name from sqlite_master where type = 'table' and name = 'sync_meta'")
      .pluck()
      .all()
    if (table === 'shopsync_check') raw.exec('create table shopsync_check (name, value)')
    raw.prepare(`insert into ${table} (name, value) values ('room', zeroblob(?))`).run(bytes)
  })
