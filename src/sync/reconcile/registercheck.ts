import type { Int64 } from '../../../schema/resource.js'
import type { ResourceModel } from '../../model/registry.js'
import type { Table } from '../../model/tables.js'
import {
  changeRegister,
  countLive,
  keepsRegister,
  type Register,
  readRegister,
  registerOf,
  vanished,
} from '../../warehouse/register/register.js'
import type { SetDifference } from '../../warehouse/register/sketch.js'
import type { Dependencies } from '../run/context.js'
import { rootOf } from './liverows.js'

/** What a look at a cursor's register says of its rows. */
export type RegisterFinding =
  /** Those there should be. */
  | 'sound'
  /** Nobody has kept account of them yet. */
  | 'unknown'
  /** More differ than can be named. */
  | 'many'
  /** `more`: rows that should be there, and are not; `less`: rows that nobody here has written so. */
  | SetDifference

type Needs = Pick<Dependencies, 'warehouse' | 'model'>

/** Holds the live rows of one cursor against the register that every write of them has kept. */
export class RegisterCheck {
  readonly #warehouse: Needs['warehouse']
  readonly #key: { readonly tenantId: Int64; readonly resource: string }
  readonly #root: Table
  readonly #isKept: boolean
  #finding: RegisterFinding | undefined

  /** Without a fence nothing is locked or written. */
  constructor(
    { warehouse, model }: Needs,
    cursor: { readonly tenantId: Int64; readonly resource: ResourceModel },
    private readonly fence?: Int64,
  ) {
    this.#warehouse = warehouse
    this.#key = { tenantId: cursor.tenantId, resource: cursor.resource.name }
    this.#root = rootOf(cursor.resource)
    this.#isKept = keepsRegister(this.#root, model.embedded?.tables ?? [])
  }

  /** `counted`: the live rows as they were read just now. */
  async look(counted: Register | undefined): Promise<RegisterFinding> {
    this.#finding = this.#isKept && counted ? await this.#compare(counted) : 'unknown'
    return this.#finding
  }

  /** How many live rows there should be; undefined where that is not known. */
  async live(): Promise<number | undefined> {
    return this.#isKept ? (await this.#read())?.live : undefined
  }

  async #compare(counted: Register): Promise<RegisterFinding> {
    const register = await this.#read()
    if (!register) return 'unknown'
    if (register.live === counted.live && register.sketch.equals(counted.sketch)) return 'sound'
    // Somebody may have written while the rows were read: once more, and nobody can.
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

  /** Shows the register and the rows as they are at one moment; what the work returns is written. */
  async #change(
    work: (register: Register | null, found: () => Promise<Register>) => Promise<Register | undefined>,
  ): Promise<void> {
    const { db } = this.#warehouse
    const [root, { tenantId }, fence] = [this.#root, this.#key, this.fence]
    if (fence === undefined) {
      const found = () =>
        countLive(db, (query) => this.#warehouse.read(() => db.executeQuery(query)), root, tenantId)
      await work(await this.#read(), found)
      return
    }
    await this.#warehouse.transaction(async (session) => {
      const found = () => countLive(db, (query) => session.run(query), root, tenantId)
      await changeRegister(db, session, this.#key, root, (register) => work(register, found))
    }, fence)
  }

  /**
   * Warehouse and source have been found equal: puts the register right. Rows that were named have been looked after; a
   * list of everything vouches for all the rows there are.
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
