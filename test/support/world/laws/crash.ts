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
import { atEachMoment, wipe } from '../through.js'
import { type Law, warehouseAt } from './law.js'

export interface CrashCase {
  /** A first load, or a run that finds changes. */
  readonly run: 'first load' | 'changes'
  readonly how: 'crash' | 'lost'
  /** Counted from 1: before and after each statement, and after each commit; or only the commits. */
  readonly moment: number | { readonly commit: number }
}

const runs = ['first load', 'changes'] as const

export const cases = {
  /** After a commit: commits are the same in every warehouse, but the statements between them are not. */
  commits: fc.record({
    run: fc.constantFrom(...runs),
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

/** What the operating system does for a process that died: nobody with its pid holds the lease. */
const bury = (warehouse: Warehouse): Promise<number> =>
  warehouse.write([warehouse.db.updateTable('sync_lease').set({ owner: null }).compile()])

/** An undisturbed run. */
interface Undisturbed {
  /** Restores the warehouse to its state before the run. */
  readonly restore: () => Promise<void>
  readonly wanted: unknown
  /** For each moment, whether it came after a commit. */
  readonly moments: readonly boolean[]
}

export class CrashLaw implements Law<CrashCase> {
  readonly #address: Address
  readonly #sandbox: Sandbox
  readonly #runs = new Map<CrashCase['run'], Undisturbed>()
  readonly #warehouse: Warehouse

  private constructor(address: Address, sandbox: Sandbox, warehouse: Warehouse) {
    this.#address = address
    this.#sandbox = sandbox
    this.#warehouse = warehouse
  }

  static async open([address]: readonly Address[]): Promise<CrashLaw> {
    if (!address) throw new Error('The law of crashes needs a warehouse')
    const sandbox = await createSandbox({ data: 'none' })
    const warehouse = await warehouseAt([address])
    await wipe(warehouse)
    const law = new CrashLaw(address, sandbox, warehouse)
    for (const run of runs) law.#runs.set(run, await law.#unatEachMoment(run))
    return law
  }

  /** The moments of a run: one inside each transaction and one after each commit, or all. */
  momentsOf(run: CrashCase['run'], isWhole: boolean): number[] {
    const { moments } = this.#run(run)
    const all = moments.map((_, i) => i + 1)
    if (isWhole) return all
    const commits = all.filter((moment) => moments[moment - 1])
    const inside = commits.map((commit, i) => Math.ceil(((commits[i - 1] ?? 0) + 1 + commit) / 2))
    return [...new Set([...commits, ...inside])].sort((a, b) => a - b)
  }

  #run(run: CrashCase['run']): Undisturbed {
    const undisturbed = this.#runs.get(run)
    if (!undisturbed) throw new Error(`No run ${run}`)
    return undisturbed
  }

  async #unatEachMoment(run: CrashCase['run']): Promise<Undisturbed> {
    const restore = await keepRows(this.#address, run.replace(' ', '_'))
    this.#prepare(run)
    const moments: boolean[] = []
    const watching = atEachMoment(this.#warehouse, (isCommit) => moments.push(isCommit))
    expectOk(await syncInOrder(this.#sandbox, watching, options))
    return { restore, moments, wanted: await state(this.#warehouse) }
  }

  #prepare(run: CrashCase['run']): void {
    this.#sandbox.reset()
    fill(this.#sandbox)
    if (run === 'changes') change(this.#sandbox)
  }

  async play({ run, how, moment }: CrashCase): Promise<void> {
    const { restore, wanted, moments } = this.#run(run)
    await restore()
    this.#prepare(run)
    const sync = (warehouse: Warehouse): Promise<RunReport> => syncInOrder(this.#sandbox, warehouse, options)
    if (how === 'lost') expectOk(await sync(atEachMoment(this.#warehouse, lostAt(moment))))
    else {
      await sync(atEachMoment(this.#warehouse, crashAt(moment))).catch((error: unknown) => {
        if (!(error instanceof Killed)) throw error
      })
      await bury(this.#warehouse)
      expectOk(await sync(this.#warehouse))
    }
    const words = `Law 3: ${run}, ${how} at ${wordsOf(moment)} of ${moments.length} moments: the warehouse is another one`
    deepStrictEqual(await state(this.#warehouse), wanted, words)
  }

  async close(): Promise<void> {
    await this.#warehouse.close()
    await this.#sandbox.close()
  }
}

function expectOk(report: RunReport): void {
  if (report.status !== 'ok') throw new Error(`Law 3: a run says ${JSON.stringify(report.cursors)}`)
}

export const open = CrashLaw.open
