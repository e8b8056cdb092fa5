/**
 * better-sqlite3 in the version that this Node can load. Version 13 has its binaries in the package, for Node-API 10, which
 * Node has since 22.14; Node 20 crashes when it loads one. So there is version 12, too. Where that was compiled on Node
 * 24.19 or newer, it aborts the process when an unused statement is collected: a last resort there.
 */
import type BetterSqlite3 from 'better-sqlite3'
import { Stop } from '../../base/errors.js'

const isNewer = Number(process.versions.napi) >= 10

async function installed(name: string): Promise<typeof BetterSqlite3 | undefined> {
  try {
    return ((await import(name)) as { default: typeof BetterSqlite3 }).default
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND') return undefined
    throw error
  }
}

/** Version 13 looks for its binary when it opens a database, and has none for some kinds of machines. */
function opens(Sqlite: typeof BetterSqlite3): boolean {
  try {
    new Sqlite(':memory:').close()
    return true
  } catch {
    return false
  }
}

/** npm leaves version 13 out on Node 20, and version 12 where it can neither download nor build its binary. */
async function load(): Promise<typeof BetterSqlite3> {
  const newer = isNewer ? await installed('better-sqlite3-napi') : undefined
  if (newer && opens(newer)) return newer
  const older = await installed('better-sqlite3')
  if (older) return older
  throw new Stop('Found no SQLite driver: expected the package better-sqlite3', {
    exitCode: 3,
    hint: `Type npm install better-sqlite3@${isNewer ? 13 : 12} in the folder where shopsync is installed; docs/production.md has more`,
  })
}

export const Sqlite = await load()
