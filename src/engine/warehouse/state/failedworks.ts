/*
 * What is made from the rows of a warehouse: the snapshot of a day, the report, and what runs after a run. A failure is
 * remembered in sync_meta until it succeeds, since successful runs in between would cover it up. Used where these are
 * made, and by status, check and alerts.
 */
import type { CompiledQuery } from 'kysely'
import { Bug, isExpected, Stop, wordsOf } from '../../base/errors.js'
import type { Db } from '../database.js'
import type { Warehouse, Writer } from '../warehouse.js'
import { allMeta, removeMeta, storeMeta } from './meta.js'

export interface FailedWork {
  /** `snapshot`, `report` or `then`. */
  readonly what: string
  readonly since: string
  readonly message: string
  readonly advice: string
}

const titles = {
  snapshot: 'The snapshot could not be taken',
  report: 'The report could not be made',
} as const
type WorkName = keyof typeof titles

const nameOf = (what: string): string => `failed ${what}`
/** What runs after a run keeps its own memory (src/features/then), and stores its failures with it. */
export const failedThen = nameOf('then')
const names = [...Object.keys(titles).map(nameOf), failedThen]

export const askFailedWorks = (
  db: Db,
): CompiledQuery<{ readonly name: string; readonly value: string | null }> => allMeta(db, names).compile()

export const failedWorksOf = (rows: readonly { readonly value: string | null }[]): FailedWork[] =>
  rows.flatMap(({ value }) => (value === null ? [] : [JSON.parse(value) as FailedWork]))

/** Those whose last attempt failed. */
export async function failedWorks(warehouse: Warehouse): Promise<FailedWork[]> {
  if (!(await warehouse.has('sync_meta'))) return []
  const { rows } = await warehouse.read((db) => db.executeQuery(askFailedWorks(db)))
  return failedWorksOf(rows)
}

interface Trying {
  readonly what: WorkName
  readonly warehouse: Writer
  readonly now: string
  readonly signal?: AbortSignal | undefined
}

/** Does the work, and remembers whether it failed. Work ended by a signal hasn't failed. */
export async function remembered<T>(trying: Trying, work: () => Promise<T>): Promise<T> {
  const { what, warehouse } = trying
  const { db } = warehouse
  try {
    const done = await work()
    if ((await failedWorks(warehouse)).some((failed) => failed.what === what))
      await warehouse.write([removeMeta(db, nameOf(what))])
    return done
  } catch (error) {
    if (trying.signal?.aborted) throw error
    const failure = stopOf(what, error)
    await warehouse.write([await keep(trying, failure)]).catch(() => {})
    throw failure
  }
}

async function keep({ what, warehouse, now }: Trying, failure: Stop | Bug): Promise<CompiledQuery> {
  const before = (await failedWorks(warehouse)).find((failed) => failed.what === what)
  const failed: FailedWork = {
    what,
    since: before?.since ?? now,
    message: failure.message,
    advice: failure.hint ?? '',
  }
  return storeMeta(warehouse.db, nameOf(what), JSON.stringify(failed))
}

/** A failure of this work is no reason to end the steps after it. */
function stopOf(what: WorkName, error: unknown): Stop | Bug {
  const { message, hint } = wordsOf(error)
  if (!isExpected(error)) return new Bug(`${titles[what]}: ${message}`, { cause: error })
  // 2 would mean that nothing was done, but the run did what came before.
  const exitCode = error instanceof Stop && error.exitCode === 3 ? 3 : 1
  return new Stop(message.startsWith(titles[what]) ? message : `${titles[what]}: ${message}`, {
    exitCode,
    hint: hint ?? `Type shopsync ${what} to try again, and shopsync check to find out what is wrong`,
    cause: error,
  })
}
