/* What runs after a run: `then` of the configuration, or of the job. feature.ts calls it. */
import { fromMicros } from '../../engine/base/timestamp.js'
import { thenSettings } from '../../engine/config/thensection.js'
import { readLastRun } from '../../engine/run/lastrun.js'
import type { Mode, RunReport } from '../../engine/run/runreport.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import type { CommandContext, FinishedWork } from '../../shell/command.js'
import { isNested, type Occasion, tellEntries, tellTrouble } from './tellentries.js'

/** Work that only reads, or makes something of rows: the configuration's entries are for runs that write rows. */
const writesNoRows: ReadonlySet<Mode> = new Set<Mode>(['verify', 'snapshot', 'report'])

/**
 * Resolves to 1 if an entry failed: rows and verdicts stay as they are. Not after work that did nothing (exit code 2),
 * couldn't start (3), met another run (4) or ended by an error of ours (70), in a shard either: the next run tells what it
 * changed, if anything. Of shards, the run after all of them tells.
 */
export async function followWork(context: CommandContext, ended: FinishedWork): Promise<number> {
  const { onRecord, shard, exitCode, reports, following, isWhole } = ended
  if (isNested(context)) return 0
  // The code of all shards: null while some of them haven't ended.
  const code = ended.beats ? (ended.beats(exitCode) ?? 1) : exitCode
  if (!onRecord || shard || exitCode > 1 || code > 1) return 0
  const writes = isWhole || reports.length === 0 || reports.some(({ mode }) => !writesNoRows.has(mode))
  const entries = following ?? (writes ? thenSettings(context.config) : [])
  try {
    const warehouse = await context.open('there')
    if (!warehouse) return 0
    const occasion: Occasion = {
      entries,
      scope: following ? ended.job : null,
      run: await toldRun(context, warehouse, ended, code),
      isFor: (on, { lists }) => on === 'finished' || (on === 'ok' ? code === 0 : lists.length > 0),
    }
    return await tellEntries(context, warehouse, occasion)
  } catch (error) {
    return tellTrouble(context, error)
  }
}

/** A run of no steps, or one that an error ended, gives no report, but it is on record. */
async function runId(warehouse: Warehouse, { job, startedAt }: FinishedWork): Promise<string | null> {
  const last = await warehouse.read((db) => readLastRun(db, [], undefined))
  const isIts = last !== null && last.job === job && (last.started_at ?? '') >= startedAt
  return isIts ? last.run_id : null
}

async function toldRun(
  { clock }: Pick<CommandContext, 'clock'>,
  warehouse: Warehouse,
  ended: FinishedWork,
  code: number,
): Promise<Occasion['run']> {
  const { job, startedAt, reports } = ended
  const last = reports.at(-1)
  const isAnyDone = reports.some(({ status }) => status !== 'failed')
  const status: RunReport['status'] = code === 0 ? 'ok' : isAnyDone ? 'partial' : 'failed'
  return {
    run_id: last?.run_id ?? (await runId(warehouse, ended)),
    job,
    started_at: startedAt,
    finished_at: last?.finished_at ?? fromMicros(clock.nowMicros()),
    status,
  }
}
