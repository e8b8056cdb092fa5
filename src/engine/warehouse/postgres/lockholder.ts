/*
 * Who keeps a statement from its table's lock: found when it has waited for too long, so that a person knows which session
 * to end. Never what that session runs: its text may contain anybody's data. Used by postgres/dialect.ts.
 */
import { atSecond } from '../../base/format.js'
import { canonical } from '../../base/timestamp.js'

/** A statement waited longer for a lock than lock_timeout allows. */
export const lockTimeout = '55P03'

/** By errors, which are classified later. */
const holders = new WeakMap<object, string>()

/** The table or view that a statement is about: the first that it names. */
const firstRelation = /"(?:[^"]|"")+"\."(?:[^"]|"")+"/

/** Locks that let a statement's own lock wait. Any other holder would be a guess. */
function blocking(statement: string): string {
  const writes = `('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')`
  if (/^\s*select\b.*\bfor (no key )?update\s*$/is.test(statement))
    return `l.mode not in ('AccessShareLock', 'ShareLock')`
  if (/^\s*(insert|update|delete|with)\b/i.test(statement)) return `l.mode in ${writes}`
  if (/^\s*(create (unique )?index|comment)\b/i.test(statement))
    return `l.mode not in ('AccessShareLock', 'RowShareLock', 'ShareLock')`
  return 'true'
}

interface Holder {
  readonly pid: number
  readonly name: string | null
  readonly since: string | null
}

/**
 * Finds who holds the table, for an error that a statement ended with after waiting for a lock. The connection's own
 * transaction is over. Never throws: the error itself is what has to be told.
 */
export async function findHolder(
  ask: (text: string, values: readonly string[]) => Promise<{ readonly rows: readonly unknown[] }>,
  { error, statement }: { readonly error: unknown; readonly statement: string },
): Promise<void> {
  const relation = firstRelation.exec(statement)?.[0]
  if (!(error instanceof Error && 'code' in error && error.code === lockTimeout) || !relation) return
  try {
    const asked = `select l.pid, max(a.application_name) as name, max(a.xact_start)::text as since
      from pg_locks l join pg_stat_activity a on a.pid = l.pid
      where l.granted and l.locktype = 'relation' and l.relation = to_regclass($1) and l.pid <> pg_backend_pid()
        and l.database = (select oid from pg_database where datname = current_database()) and ${blocking(statement)}
      group by l.pid order by min(a.xact_start) limit 1`
    const [found] = (await ask(asked, [relation])).rows as Holder[]
    if (found) holders.set(error, holderText(found))
  } catch {
    // The server may have gone meanwhile, or tell this role nothing about others.
  }
}

function holderText({ pid, name, since }: Holder): string {
  const who = name ? `${name} (pid ${pid})` : `The session with pid ${pid}`
  const begun = since === null ? null : canonical(since.replace(' ', 'T'))
  return `${who} holds a lock on it${begun ? `, in a transaction since ${atSecond(begun)}` : ''}`
}

/** Who held the table of a statement that waited in vain, for people. */
export const holderOf = (error: object): string =>
  holders.get(error) ?? 'Another session holds a lock on the table'
