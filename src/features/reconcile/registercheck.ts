/*
 * Holds the live rows of one cursor against its register (docs/architecture.md, What else the engine rests on). `reconcile` and `verify`
 * look for rows that have vanished; a comparison that ends even, and a full sync, put the register right.
 */

import type { Table } from '../../engine/model/table.js'
import { type CursorTask, keyOf, type ReadingCursor } from '../../engine/run/tenant.js'
import { type CursorKey, cursorColumns } from '../../engine/warehouse/cursors.js'
import {
  changeRegister,
  countLive,
  keepsRegister,
  type Register,
  readRegister,
  registerOf,
  vanished,
} from '../../engine/warehouse/register/register.js'
import type { SetDifference } from '../../engine/warehouse/register/sketch.js'
import type { ReadingWarehouse, Writer } from '../../engine/warehouse/writer.js'

/** Bytes of recorded requests that a row may cost on average, and the bytes of one recorded request. */
const bytesARow = 16
const bytesARequest = 250
/** As many requests are always kept. */
const least = 16

/**
 * Forgets requests of a cursor that brought few rows, the oldest first, so that the records for `why` stay small however
 * often single records change. Of the rows that such a request brought, `why` can then tell the run only.
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
 * What a look at a cursor's register says of its rows. `sound`: they are the rows that there should be. `unknown`: no
 * register was kept so far. `many`: more rows differ than can be named. Otherwise the rows that differ, `more`: rows that
 * should be there and are not; `less`: rows that shopsync has not written so.
 */
export type RegisterFinding = 'sound' | 'unknown' | 'many' | SetDifference

/** One cursor's register, and the live rows that it should list. */
export class RegisterCheck {
  readonly #warehouse: ReadingWarehouse
  readonly #key: CursorKey
  readonly #root: Table
  readonly #isKept: boolean
  #finding: RegisterFinding | undefined

  /** Without a writer the check only reads: nothing is locked or written. */
  constructor(
    { key, root, run, warehouse }: ReadingCursor,
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

  /** How many live rows there should be; undefined where no register was kept. */
  async live(): Promise<number | undefined> {
    return this.#isKept ? (await this.#read())?.live : undefined
  }

  async #compare(counted: Register): Promise<RegisterFinding> {
    const register = await this.#read()
    if (!register) return 'unknown'
    if (register.live === counted.live && register.sketch.equals(counted.sketch)) return 'sound'
    // Another process may have written while the rows were read: compared again under a lock, no write comes between.
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

  /** Gives the work the register and the rows as they are at one moment, and writes the register that it returns. */
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
   * Puts the register right after warehouse and source were found equal. A comparison by counts has dealt with the rows
   * that the look named, so that these alone are entered; after a list of everything, the register is counted anew.
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
