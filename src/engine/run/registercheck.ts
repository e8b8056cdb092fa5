/*
 * Compares the live rows of one cursor with its register (docs/architecture.md, What else the engine rests on).
 * `reconcile` and `verify` look for rows that have vanished. A comparison that ends even, and a full sync, correct the
 * register.
 */

import type { Table } from '../model/table.js'
import { type CursorKey, cursorColumns } from '../warehouse/state/cursors.js'
import {
  changeRegister,
  countLive,
  keepsRegister,
  type Register,
  readRegister,
  registerOf,
  vanished,
} from '../warehouse/store/register.js'
import type { SetDifference } from '../warehouse/store/sketch.js'
import type { Warehouse, Writer } from '../warehouse/warehouse.js'
import { type CursorRun, type CursorTask, keyOf } from './tenant.js'

/** How many bytes of recorded requests a row may cost on average, and the bytes of one recorded request. */
const bytesARow = 16
const bytesARequest = 250
/** This many requests are always kept. */
const least = 16

/**
 * Deletes a cursor's recorded requests that fetched few rows, oldest first. This keeps the records for `why` small,
 * however often single records change. For rows from a deleted request, `why` can only show the run.
 */
export async function trimRequests(warehouse: Writer, task: CursorTask, rows: number): Promise<void> {
  const kept = Math.max(least, Math.floor((rows * bytesARow) / bytesARequest))
  const { db } = warehouse
  const own = db.selectFrom('sync_requests').where((eb) => eb.and(cursorColumns(keyOf(task))))
  const surplus = own.select('synced_at').orderBy('rows_written', 'desc').orderBy('synced_at', 'desc')
  const found = await warehouse.read(() => surplus.offset(kept).limit(1_000_000).execute())
  for (let i = 0; i < found.length; i += 500) {
    const stamps = found.slice(i, i + 500).map((row) => row.synced_at)
    const gone = db
      .deleteFrom('sync_requests')
      .where('tenant_id', '=', task.tenantId)
      .where('synced_at', 'in', stamps)
    await warehouse.write([gone.compile()])
  }
}

/**
 * The result of checking a cursor's register against its rows. `sound`: the rows are as expected. `unknown`: no
 * register was kept so far. `many`: too many rows differ to identify them. Otherwise the rows that differ. `more`: rows
 * that should exist but don't; `less`: rows with values that shopsync didn't write.
 */
type RegisterFinding = 'sound' | 'unknown' | 'many' | SetDifference

/** One cursor's register, and the live rows that it should list. */
export class RegisterCheck {
  readonly #warehouse: Warehouse
  readonly #key: CursorKey
  readonly #root: Table
  readonly #isKept: boolean
  #finding: RegisterFinding | undefined

  /** Without a writer, the check only reads: it locks and writes nothing. */
  constructor(
    { key, root, run, warehouse }: CursorRun<Warehouse>,
    private readonly writer?: Writer,
  ) {
    this.#warehouse = warehouse
    this.#key = key
    this.#root = root
    this.#isKept = keepsRegister(root, run.model.embedded?.tables ?? [])
  }

  /** Compares the register with the live rows as they were just read. */
  async look(counted: Register | undefined): Promise<RegisterFinding> {
    this.#finding = this.#isKept && counted ? await this.#compare(counted) : 'unknown'
    return this.#finding
  }

  /** How many live rows there should be; undefined if no register was kept. */
  async live(): Promise<number | undefined> {
    return this.#isKept ? (await this.#read())?.live : undefined
  }

  async #compare(counted: Register): Promise<RegisterFinding> {
    const register = await this.#read()
    if (!register) return 'unknown'
    if (register.live === counted.live && register.sketch.equals(counted.sketch)) return 'sound'
    // Another process may have written while the rows were read, so it compares again under a lock.
    let finding: RegisterFinding = 'unknown'
    await this.#change(async (exact, found) => {
      if (exact) finding = findingOf(exact, await found())
      return undefined
    })
    return finding
  }

  async #read(): Promise<Register | null> {
    const query = readRegister(this.#warehouse.db, this.#key)
    const { rows } = await this.#warehouse.read((db) => db.executeQuery(query))
    return registerOf(rows[0])
  }

  /** Gives the work the register and the rows at the same moment, and writes the register it returns. */
  async #change(
    work: (register: Register | null, found: () => Promise<Register>) => Promise<Register | undefined>,
  ): Promise<void> {
    const { db } = this.#warehouse
    const [root, { tenantId }, writer] = [this.#root, this.#key, this.writer]
    if (writer === undefined) {
      const found = () =>
        countLive(db, (query) => this.#warehouse.read(() => db.executeQuery(query)), root, tenantId)
      await work(await this.#read(), found)
      return
    }
    await writer.transaction(async (session) => {
      const found = () => countLive(db, (query) => session.run(query), root, tenantId)
      await changeRegister(db, session, this.#key, root, (register) => work(register, found))
    })
  }

  /**
   * Corrects the register after warehouse and source were found equal. A comparison by counts has handled the rows
   * identified by the check, so only these are entered; after a listing of everything, the register is counted again.
   */
  async close(how: 'counting' | 'listing'): Promise<void> {
    if (!this.#isKept) return
    const finding = how === 'counting' ? this.#finding : undefined
    if (finding === 'sound') return
    if (typeof finding === 'object') await this.#enter(finding)
    else await this.#change((_, found) => found())
  }

  async #enter({ more, less }: SetDifference): Promise<void> {
    await this.#change(async (register) => {
      if (!register) return undefined
      for (const row of more) register.sketch.add(row, -1)
      for (const row of less) register.sketch.add(row)
      return { ...register, live: register.live - more.length + less.length }
    })
  }
}

function findingOf(register: Register, found: Register): RegisterFinding {
  const difference = vanished(register, found)
  if (!difference) return 'many'
  return difference.more.length + difference.less.length === 0 ? 'sound' : difference
}
