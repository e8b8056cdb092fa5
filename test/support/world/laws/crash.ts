/**
 * Law 3: stop after any statement, run again, and the warehouse is the same as after an undisturbed run. Once as a
 * crash, after which nothing more happens; once as a lost connection, after which the same run continues, not knowing
 * whether its last commit succeeded.
 */
import { deepStrictEqual } from 'node:assert/strict'
import fc from 'fast-check'
import { Retry } from '../../../../src/engine/base/errors.js'
import { createSandbox, type Sandbox, serviceTemplate, template } from '../../../../src/sandbox/index.js'
import { keepRows } from '../../harness/backup.js'
import type { Address } from '../../harness/place.js'
import { Killed, known, type RunOptions, type RunReport, syncInOrder } from '../../harness/runs.js'
import type { Warehouse } from '../../harness/warehouse.js'
import { registersAgree } from '../../oracle/registers.js'
import { contents, rowsOf } from '../../oracle/rows.js'
import { atEachMoment, bury, through, wipe } from '../through.js'
import { type Law, warehouseAt } from './law.js'

export interface CrashCase {
  /** A first load, or a run that finds changes. */
  readonly run: 'first load' | 'changes'
  readonly how: 'crash' | 'lost'
  /** Counted from 1: before and after each statement, and after each commit; or only the commits. */
  readonly moment: number | { readonly commit: number }
}

export const cases = {
  /** After a commit: commits are the same in every warehouse, but the statements between them are not. */
  commits: fc.record({
    run: fc.constantFrom('first load' as const, 'changes' as const),
    how: fc.constantFrom('crash' as const, 'lost' as const),
    moment: fc.record({ commit: fc.integer({ min: 1, max: 25 }) }),
  }),
} satisfies Readonly<Record<string, fc.Arbitrary<CrashCase>>>

const options: RunOptions = {
  resources: ['repair_orders', 'notes'],
  pageSizes: [4, 3],
  readAhead: 0,
  overlapMs: 0,
}
const time = (n: number): string => `2026-03-01T00:00:${String(n).padStart(2, '0')}.000000Z`

function fill({ store }: Sandbox): void {
  store.addTenant({ id: 1 })
  for (let id = 1; id <= 10; id++) store.put(1, 'notes', template('notes', id, time(id)))
  for (let id = 1; id <= 3; id++) store.put(1, 'repair_orders', template('repair_orders', id, time(id)))
}

/** New versions with different children, and one that partly goes to quarantine. */
function change({ store }: Sandbox): void {
  for (const id of [2, 3]) {
    const order = template('repair_orders', id, time(20 + id))
    store.put(1, 'repair_orders', { ...order, services: [serviceTemplate(1000 + id, time(20 + id))] })
  }
  for (const id of [1, 2, 4, 5, 6])
    store.put(1, 'notes', { ...template('notes', id, time(30 + id)), description: `new ${id}` })
  store.put(1, 'notes', { ...template('notes', 7, time(40)), repair_order_id: 1.5 })
}

const tables = (options.resources ?? []).flatMap((name) => {
  const { tables, derived } = known.byName.get(name)!
  return [...tables, ...derived.map(({ table }) => table)]
})

/** Everything that must be the same: all rows, and every cursor's progress. */
async function state(warehouse: Warehouse): Promise<unknown> {
  await registersAgree(warehouse, 2)
  const cursors = await rowsOf(warehouse, 'sync_cursors')
  const quarantine = await rowsOf(warehouse, 'sync_quarantine')
  return {
    rows: await contents(warehouse, known, tables),
    cursors: cursors.map(({ tenant_id, resource, watermark, status, walk, last_error }) => [
      tenant_id,
      resource,
      watermark,
      status,
      walk,
      last_error,
    ]),
    parts: await rowsOf(warehouse, 'sync_walk_parts'),
    registers: await rowsOf(warehouse, 'sync_registers'),
    quarantine: quarantine.map(({ record_id, path, value }) => [record_id, path, value]),
    revoked: (await rowsOf(warehouse, 'tenants')).map((row) => [row.tenant_id, row.revoked_at]),
  }
}

type Fault = (isCommit: boolean) => void

type Moment = CrashCase['moment']

/** Calls `now` at each moment of the kind, with how many there have been. */
const counting = (moment: Moment, now: (n: number) => void): Fault => {
  let n = 0
  return (isCommit) => {
    if (typeof moment === 'number' || isCommit) n++
    now(n)
  }
}

const numberOf = (moment: Moment): number => (typeof moment === 'number' ? moment : moment.commit)
const wordsOf = (moment: Moment): string =>
  typeof moment === 'number' ? `moment ${moment}` : `commit ${moment.commit}`

/** From that moment on, nothing works any more. */
const crashAt = (moment: Moment): Fault =>
  counting(moment, (n) => {
    if (n >= numberOf(moment)) throw new Killed(`crash at ${wordsOf(moment)}`)
  })

/** At that moment the connection breaks; it works again at once. */
const lostAt = (moment: Moment): Fault => {
  let isOver = false
  return counting(moment, (n) => {
    if (isOver || n < numberOf(moment)) return
    isOver = true
    throw new Retry(`connection lost at ${wordsOf(moment)}`)
  })
}

/** An undisturbed run. */
interface Undisturbed {
  /** Restores the warehouse to its state before the run. */
  readonly restore: () => Promise<void>
  readonly wanted: unknown
  /** For each moment, whether it came after a commit. */
  readonly moments: readonly boolean[]
}

export interface CrashLaw extends Law<CrashCase> {
  /** The moments of a run: one inside each transaction and one after each commit, or all. */
  momentsOf(run: CrashCase['run'], isWhole: boolean): number[]
}

export async function open([address]: readonly Address[]): Promise<CrashLaw> {
  if (!address) throw new Error('The law of crashes needs a warehouse')
  const sandbox = await createSandbox({ data: 'none' })
  const warehouse = await warehouseAt([address])
  const sync = (on: Warehouse): Promise<RunReport> => syncInOrder(sandbox, on, options)
  const at = (moment: Fault): Warehouse => through(warehouse, atEachMoment(warehouse.dialect, moment))
  const prepare = (run: CrashCase['run']): void => {
    sandbox.reset()
    fill(sandbox)
    if (run === 'changes') change(sandbox)
  }
  const undisturbed = async (run: CrashCase['run']): Promise<Undisturbed> => {
    const restore = await keepRows(address, run.replace(' ', '_'))
    prepare(run)
    const moments: boolean[] = []
    expectOk(await sync(at((isCommit) => moments.push(isCommit))))
    return { restore, moments, wanted: await state(warehouse) }
  }
  await wipe(warehouse)
  const known = { 'first load': await undisturbed('first load'), changes: await undisturbed('changes') }
  return {
    momentsOf: (run, isWhole) => {
      const { moments } = known[run]
      const all = moments.map((_, i) => i + 1)
      if (isWhole) return all
      const commits = all.filter((moment) => moments[moment - 1])
      const inside = commits.map((commit, i) => Math.ceil(((commits[i - 1] ?? 0) + 1 + commit) / 2))
      return [...new Set([...commits, ...inside])].sort((a, b) => a - b)
    },
    play: async ({ run, how, moment }) => {
      const { restore, wanted, moments } = known[run]
      await restore()
      prepare(run)
      if (how === 'lost') expectOk(await sync(at(lostAt(moment))))
      else {
        await sync(at(crashAt(moment))).catch((error: unknown) => {
          if (!(error instanceof Killed)) throw error
        })
        await bury(warehouse)
        expectOk(await sync(warehouse))
      }
      const words = `Law 3: ${run}, ${how} at ${wordsOf(moment)} of ${moments.length} moments: the warehouse is another one`
      deepStrictEqual(await state(warehouse), wanted, words)
    },
    close: async () => {
      await warehouse.close()
      await sandbox.close()
    },
  }
}

function expectOk(report: RunReport): void {
  if (report.status !== 'ok') throw new Error(`Law 3: a run says ${JSON.stringify(report.cursors)}`)
}
