/*
 * What a person has to know of a table that refused a statement, found when the transaction is over: who holds its lock,
 * and whether it is there at all. Never what another session runs: its text may contain anybody's data. Used by
 * postgres/dialect.ts.
 */
import { atSecond } from '../../base/format.js'
import { canonical } from '../../base/timestamp.js'

/** A statement waited longer for a lock than lock_timeout allows. */
export const lockTimeout = '55P03'

/** By errors, which are classified later. */
const holders = new WeakMap<object, string>()

/** The table was made in the transaction that the error ended: no hint may name what isn't there any more. */
const undone = new WeakSet<object>()

export const isUndone = (error: object): boolean => undone.has(error)

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
 * Finds who holds the table, for an error that a statement ended with after waiting for a lock, and whether the table was
 * only there until the transaction was undone. Never throws: the error itself is what has to be told.
 */
export async function lookAtTable(
  ask: (text: string, values: readonly string[]) => Promise<{ readonly rows: readonly unknown[] }>,
  { error, statement }: { readonly error: unknown; readonly statement: string },
): Promise<void> {
  const relation = firstRelation.exec(statement)?.[0]
  if (!(error instanceof Error && 'code' in error) || !relation) return
  try {
    const isMade = !/^\s*create (schema|table)\b/i.test(statement) && error.code !== '42P01'
    const there = await ask('select to_regclass($1)::text as name', [relation])
    if (isMade && (there.rows as { name: string | null }[])[0]?.name === null) undone.add(error)
    if (error.code !== lockTimeout) return
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
