/*
 * What each entry of `then` was last told, in sync_meta. It is stored after the message was accepted: if the process dies
 * in between, the same is told twice, which was judged better than never.
 */
import { type FailedWork, failedThen } from '../../engine/warehouse/state/failedworks.js'
import { lockMeta, readMeta, removeMeta, storeMeta } from '../../engine/warehouse/state/meta.js'
import type { Warehouse, Writer } from '../../engine/warehouse/warehouse.js'

/** The row of sync_runs to which rings of an hour are added, and how many rows they had changed. */
export interface Rung {
  readonly run_id: string
  readonly rows: number
  /** The same by list (`TENANT RESOURCE`): upserted and deleted. What is told later leaves them out. */
  readonly lists?: Readonly<Record<string, readonly [number, number]>> | undefined
}

interface KnownEntry {
  /** `changes_through` of the last document that it accepted; null: it has accepted none. */
  readonly through: string | null
  /** As of that document. */
  readonly rung?: Rung | undefined
  /** If the last attempt failed. `job`: whose own entry it is; null: the configuration's. */
  readonly failed?:
    | { readonly since: string; readonly job: string | null; readonly message: string }
    | undefined
}

/** By the entry's id. */
type Memory = Readonly<Record<string, KnownEntry>>

const name = 'then'

const memoryOf = (value: string | null | undefined): Memory => (value ? (JSON.parse(value) as Memory) : {})

export const readTold = async (warehouse: Warehouse): Promise<Memory> =>
  memoryOf(await readMeta(warehouse, name))

/** Two runs may end at once, so it changes what is stored by then. No lease is needed: nobody else writes this. */
const change = (warehouse: Writer, work: (memory: Memory) => Memory): Promise<void> =>
  warehouse.transaction(async (session) => {
    const { db } = warehouse
    const memory = work(memoryOf(await lockMeta(session, db, name)))
    const failed = failedWork(memory)
    await session.run(storeMeta(db, name, JSON.stringify(memory)))
    await session.run(failed ? storeMeta(db, failedThen, JSON.stringify(failed)) : removeMeta(db, failedThen))
  })

function failedWork(memory: Memory): FailedWork | undefined {
  const failed = Object.values(memory).flatMap((told) => told.failed ?? [])
  if (failed.length === 0) return undefined
  return {
    what: 'then',
    since: failed.map(({ since }) => since).sort()[0] ?? '',
    message: `What runs after a run failed: ${failed.map(({ message }) => message).join('; ')}`,
    advice: 'It runs again after the next run, and covers what it missed. The log has the end of its output',
  }
}

/** Ranges never go back, whatever the order in which two runs store theirs. */
export const storeAccepted = (
  warehouse: Writer,
  id: string,
  { through, rung }: { readonly through: string; readonly rung: Rung | undefined },
): Promise<void> =>
  change(warehouse, (memory) => {
    const before = memory[id]
    const isLater = (before?.through ?? '') < through
    return { ...memory, [id]: isLater ? { through, rung } : { through, ...before, failed: undefined } }
  })

export const storeFailed = (
  warehouse: Writer,
  id: string,
  failed: NonNullable<KnownEntry['failed']>,
): Promise<void> =>
  change(warehouse, (memory) => {
    const before = memory[id] ?? { through: null }
    return {
      ...memory,
      [id]: { ...before, failed: { ...failed, since: before.failed?.since ?? failed.since } },
    }
  })

/** Entries that the configuration, or the job, no longer has can't succeed any more. */
export async function dropFailures(
  warehouse: Writer,
  memory: Memory,
  job: string | null,
  ids: readonly string[],
): Promise<void> {
  const isGone = ([id, { failed }]: [string, KnownEntry]): boolean => failed?.job === job && !ids.includes(id)
  if (!Object.entries(memory).some(isGone)) return
  await change(warehouse, (now) =>
    Object.fromEntries(
      Object.entries(now).map((entry) =>
        isGone(entry) ? [entry[0], { ...entry[1], failed: undefined }] : entry,
      ),
    ),
  )
}
