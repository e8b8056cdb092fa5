/*
 * Copies a whole warehouse into an empty one, of the same or the other kind: `shopsync copy`. Both leases are held
 * while the original is read as of one instant; the original is never changed.
 */
import type { Clock } from '../../engine/base/clock.js'
import { Stop } from '../../engine/base/errors.js'
import type { Model } from '../../engine/model/resourcemodel.js'
import type { Table } from '../../engine/model/table.js'
import { now } from '../../engine/run/tenant.js'
import { isNewWarehouse } from '../../engine/warehouse/layout/ddl.js'
import { absenceStop, plannedChanges } from '../../engine/warehouse/layout/migrate.js'
import { openLease } from '../../engine/warehouse/lease/openlease.js'
import type { Warehouse, Writer } from '../../engine/warehouse/warehouse.js'
import type { Besides, BesideWarehouse } from '../../shell/command.js'
import { eachBeside } from '../../shell/features.js'
import { type CopiedPart, copiedTables, impersonalColumns, tablesOfPart } from './copiedtables.js'
import { rowCounts } from './copyrows.js'
import {
  checkTarget,
  firstTables,
  makeTables,
  markPart,
  markUnfinished,
  type TargetState,
  unmark,
} from './copytarget.js'
import {
  type ComparedTable,
  type Copying,
  type CopyProgress,
  compare,
  copyEach,
  copyTables,
} from './passes.js'

export interface CopyDependencies {
  readonly model: Model
  readonly clock: Clock
  /** Opens the original, and opens it again for its rows: a lease and a long read each need a connection. */
  readonly openSource: () => Promise<Writer>
  /** The same for the copy. `existing`: if it is missing, it isn't created. */
  readonly openTarget: (how: { readonly existing: boolean }) => Promise<Writer>
  /** Warehouses that features keep beside the original. */
  readonly besides?: readonly Besides[]
  /** Only these tenants, for people who query them: the copy is marked, and no command writes to it. */
  readonly part?: CopiedPart | undefined
  /** Makes what the copy's views need. */
  readonly makeViews?: (target: Writer) => Promise<void>
  readonly onProgress?: (progress: CopyProgress) => void
  readonly signal: AbortSignal
  readonly leaseMs?: number
}

/** The JSON document of `copy`. */
export interface CopyReport {
  readonly from: string
  readonly to: string
  /** `differs`: the copy doesn't match the original and isn't finished. */
  readonly status: 'ok' | 'differs'
  /** An interrupted copy was continued. */
  readonly resumed: boolean
  readonly rows: number
  /** Values that the copy can't hold: null in their columns, and in its quarantine. */
  readonly quarantined: number
  /** Tables and columns that aren't shopsync's. */
  readonly left_out: readonly string[]
  readonly tables: readonly ComparedTable[]
}

type Closing = <T extends Pick<Warehouse, 'close'>>(opened: T) => T

/** Closes everything the work opened, in reverse order. */
async function opening<T>(work: (closing: Closing) => Promise<T>): Promise<T> {
  const opened: Pick<Warehouse, 'close'>[] = []
  try {
    return await work((one) => {
      opened.push(one)
      return one
    })
  } finally {
    for (const one of opened.reverse()) await one.close().catch(() => {})
  }
}

export const copyWarehouse = (deps: CopyDependencies): Promise<CopyReport> =>
  opening(async (closing) => {
    const source = closing(await deps.openSource())
    const plan = await plannedChanges(source)
    if (isNewWarehouse(plan)) throw await absenceStop(source, 2)
    const state = await opening(async (looking) => {
      const there = looking(await deps.openTarget({ existing: true }))
      if (there.where === source.where)
        throw new Stop(`Both sides are ${source.where}, expected a different place for the copy`, {
          exitCode: 2,
          hint: 'Type shopsync copy --to with another address, or another --to-schema',
        })
      const found = await checkTarget(there, source.where)
      refuseNewerTables(found, plan.length, source.where, there.where)
      return found
    })
    await using ofSource = await openLease({ ...deps, warehouse: source, isBare: true }, 'copy')
    const target = closing(await deps.openTarget({ existing: false }))
    await makeTables(target, firstTables(target))
    await using ofTarget = await openLease(
      { ...deps, signal: ofSource.signal, warehouse: target, isBare: true },
      'copy',
    )
    const { warehouse, signal } = ofTarget
    const report = await copyHeld({ ...deps, source, target: warehouse, signal, state, closing })
    ofTarget.throwIfLost()
    ofSource.throwIfLost()
    return report
  })

/** Tables already made by `migrate` would hide from the next run what an older program's warehouse lacks. */
function refuseNewerTables(found: TargetState, changes: number, from: string, to: string): void {
  if (found.isBegun || !found.hasTables || changes === 0) return
  throw new Stop(`${to} has newer tables than ${from}, which is missing ${changes} changes`, {
    exitCode: 2,
    hint: 'Type shopsync migrate with the configuration of the original first, or drop the empty tables of the copy',
  })
}

async function copyHeld(
  held: CopyDependencies & {
    readonly source: Writer
    readonly target: Writer
    readonly state: TargetState
    readonly closing: Closing
  },
): Promise<CopyReport> {
  const { source, target, closing, state, ...deps } = held
  const from = source.where
  // Checked again while holding the lease: another program may have started to fill it meanwhile.
  await checkTarget(target, from)
  await target.write([markUnfinished(target, { from, since: now(deps) })])
  const { besides = [], part } = deps
  const apart = new Set<string>()
  await eachBeside(besides, source, async ({ tables }) => {
    for (const { name } of tables) apart.add(name)
  })
  const all = await copiedTables(source.dialect, source.model, apart)
  const known = part ? tablesOfPart(all) : all
  const isWhole = !part || part.isPersonal
  const emptied = (table: Table) => (isWhole ? new Set<string>() : impersonalColumns(source.model, table))
  // Rows that can't be seen aren't copied either, and both sides would count as equal.
  await source.interfered.refuseHidden(known.tables.map(({ name }) => name))
  const eyes = closing(await deps.openSource())
  const found = closing(await deps.openTarget({ existing: true }))
  return eyes.read(() =>
    eyes.dialect.atOneInstant(async ({ db }) => {
      const held = { dialect: eyes.dialect, db }
      const counts = await rowCounts(db, known.tables)
      const copying: Copying = { ...deps, ...known, emptied, target, source: held, counts }
      const tables = await copyTables(copying, found)
      const compared = await compare(copying, found)
      await eachBeside(part ? [] : besides, source, async (beside, how) => {
        compared.tables.push(...(await copyBeside(copying, beside, () => how.open(target))))
      })
      const isEqual = compared.tables.every(({ equal }) => equal)
      if (isEqual) {
        if (part) await finishPart({ ...deps, target }, from)
        await target.trying(() => target.dialect.bulk.optimize(tables))
        await target.write([unmark(target)])
      }
      const rows = compared.tables.reduce((sum, table) => sum + table.rows, 0)
      const status = isEqual ? 'ok' : 'differs'
      const { leftOut: left_out } = known
      return { from, to: target.where, status, resumed: state.isBegun, rows, left_out, ...compared }
    }),
  )
}

/** Its views, and the mark: it is never synced, so its rows must not pass for what a source has. */
async function finishPart(
  { target, part, makeViews, ...deps }: CopyDependencies & Pick<Copying, 'target'>,
  from: string,
): Promise<void> {
  await makeViews?.(target)
  const tenants = [...(part?.tenants ?? [])]
  await target.write([markPart(target, { from, at: now(deps), tenants })])
}

/** Copies a warehouse beside the original, as of one instant: what it gets meanwhile is in neither count. */
const copyBeside = (
  { onProgress: _, ...copying }: Copying,
  from: BesideWarehouse,
  open: () => Promise<BesideWarehouse>,
): Promise<readonly ComparedTable[]> =>
  opening(async (closing) => {
    const [target, found] = [closing(await open()), closing(await open())]
    const { tables } = await copiedTables(from.dialect, from.model, new Set())
    await from.interfered.refuseHidden(tables.map(({ name }) => name))
    return from.read(() =>
      from.dialect.atOneInstant(async ({ db }) => {
        const source = { dialect: from.dialect, db }
        const beside = { ...copying, tables, source, counts: await rowCounts(db, tables) }
        await copyEach({ ...beside, target }, found)
        return (await compare(beside, found)).tables
      }),
    )
  })
