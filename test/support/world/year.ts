/**
 * A year in the life of one warehouse, on a simulated clock: a sync each hour, of all lists every fourth hour, a
 * reconcile each night, and each month everything that can happen to a warehouse. After every run, what the run claims
 * is true; at the end of each month, `verify --full` is equal.
 */

import { setTimeout as pause } from 'node:timers/promises'
import { resources as declared } from '../../../schema/index.js'
import { fromMicros, toMicros } from '../../../src/engine/base/timestamp.js'
import type { Model } from '../../../src/engine/model/resourcemodel.js'
import { adopt } from '../../../src/features/adopt/work.js'
import { runVerify } from '../../../src/features/reconcile/verifywork.js'
import type { Rule } from '../../../src/sandbox/script/rules.js'
import { backUp } from '../harness/backup.js'
import { model } from '../harness/model.js'
import type { Address } from '../harness/place.js'
import {
  type Dependencies,
  depsOf,
  Killed,
  type RunReport,
  type RunRequest,
  runSync,
} from '../harness/runs.js'
import { migrate, openWarehouse, type Session, Warehouse } from '../harness/warehouse.js'
import { begun } from './begins.js'
import { HandClock } from './clocks.js'
import { randomFrom } from './random.js'
import { busy, type List, lists, tenants, YearSource } from './yearsource.js'

const begin = '2026-01-01T00:00:00.000000Z'
const hour = 3_600_000_000n
const retryWaits = [0, 0, 0, 0]

/** What happened, for the line that the suite prints. */
export interface YearTally {
  runs: number
  whole: number
  /** Incomplete runs that reported it. */
  less: number
  kills: number
  requests: number
  months: number
}

type Connected = { readonly deps: Dependencies; readonly close: () => Promise<void> }

const first = { nth: 1 } as const
/** Faults and motions of the source, and from which moment on. */
const scripts: Readonly<Record<string, readonly Rule[]>> = {
  '8.6': [{ when: { probability: 0.08, seed: 8 }, fault: { kind: 'status', status: 500 } }],
  '8.18': [],
  // Two records turn each response that would show them into a 500.
  '17.6': [{ when: first, before: { kind: 'poison', tenant: 4, resource: 'notes', ranks: [0, 1] } }],
  '17.18': [{ when: first, before: { kind: 'heal', tenant: 4, resource: 'notes' } }],
  // A record is in its list twice.
  '18.6': [{ when: first, before: { kind: 'twice', tenant: 5, resource: 'customers', ranks: [3] } }],
  '18.18': [{ when: first, before: { kind: 'heal', tenant: 5, resource: 'customers' } }],
  // Totals disappear and come back.
  '20.6': [
    { when: { tenant: 3, resource: 'customers', kind: 'list' }, fault: { kind: 'total', remove: true } },
  ],
  '20.18': [],
  // The server's own clock is wrong for a few hours, in both directions.
  '24.6': [{ when: { probability: 0.3, seed: 24 }, fault: { kind: 'skew', seconds: 3600 } }],
  '24.12': [{ when: { probability: 0.3, seed: 25 }, fault: { kind: 'skew', seconds: -3600 } }],
  '24.18': [],
}

const plain = model(declared)
const promoted = model(declared, { notes: { columns: { colour: 'text' } } })

export class Year {
  readonly tally: YearTally = { runs: 0, whole: 0, less: 0, kills: 0, requests: 0, months: 0 }
  readonly #clock = new HandClock(begin, 1n)
  readonly #random: () => number
  #source!: YearSource
  #warehouse!: Warehouse
  #model: Model = plain
  /** The host by which the source is reached: another one is another address of the same data. */
  #host = '127.0.0.1'
  #connected: Connected | undefined
  #isKilled = false
  /** The source is reached by another address, and nobody has told the program that it is the same. */
  #isForeign = false
  /** Restores the warehouse from its backup. */
  #restored: (() => Promise<void>) | undefined

  constructor(
    private readonly address: Address,
    seed: number,
  ) {
    this.#random = randomFrom(seed)
  }

  /** Starts at day `from` of the year. */
  async run(days: number, from = 0): Promise<YearTally> {
    this.#clock.micros += BigInt(from) * 24n * hour
    this.#source = await YearSource.open(this.#clock, this.#random)
    await this.#open()
    for (let day = from; day < from + days; day++) await this.#day(day)
    await this.#disconnect()
    await this.#warehouse.close()
    await this.#source.sandbox.close()
    return this.tally
  }

  async #open(): Promise<void> {
    const clock = this.#clock.skewed
    this.#warehouse = await openWarehouse({ ...this.address, model: this.#model, clock, retryWaits })
    await migrate(this.#warehouse)
  }

  async #reopen(between: () => Promise<void> = async () => {}): Promise<void> {
    await this.#disconnect()
    await this.#warehouse.close()
    await between()
    await this.#open()
  }

  /** Connections stay open from run to run: 8,760 new ones would take longer than the runs. */
  async #connect(): Promise<Dependencies> {
    if (!this.#connected) {
      const { url, partnerId, secret } = this.#source.sandbox
      const target = { url: url.replace('127.0.0.1', this.#host), partnerId, secret }
      this.#connected = await depsOf(target, this.#warehouse, {
        clock: this.#clock.skewed,
        known: this.#model,
        concurrency: 8,
        random: this.#random,
      })
    }
    const { deps } = this.#connected
    return { ...deps, source: deps.source.tagged() }
  }

  async #disconnect(): Promise<void> {
    await this.#connected?.close()
    this.#connected = undefined
  }

  async #day(day: number): Promise<void> {
    const start = toMicros(begin) + BigInt(day) * 24n * hour
    const date = new Date(Number(start / 1000n))
    const isLast = new Date(Number((start + 24n * hour) / 1000n)).getUTCDate() === 1
    for (let at = 0; at < 24; at++) {
      this.#isKilled = [10, 27].includes(date.getUTCDate()) && at % 2 === 1
      // So that walks are killed between their pages.
      if (this.#isKilled) this.#source.rewrite()
      this.#source.work(start + BigInt(at + 1) * hour)
      await this.#befall(date.getUTCDate(), at, date.getUTCMonth())
      await this.#one('sync', at % 4 === 0 ? lists : busy)
      if (at === 2) await this.#one('reconcile')
    }
    if (isLast) await this.#endOfMonth()
  }

  /** What happens on which day and hour of each month, before that hour's run. */
  async #befall(day: number, at: number, month: number): Promise<void> {
    this.#source.motion = day % 2 === 0 && day < 28 ? 0.01 : 0
    await this.#atSource(`${day}.${at}`, (month % tenants.length) + 1)
    await this.#here(`${day}.${at}`)
  }

  async #atSource(moment: string, revoked: number): Promise<void> {
    const { sandbox } = this.#source
    const rules = scripts[moment]
    if (rules) sandbox.script(rules)
    if (moment === '2.5') this.#source.hasColour = true
    if (moment === '3.9') await sandbox.down()
    if (moment === '3.14') await sandbox.up()
    if (moment === '5.3') sandbox.store.revoke(revoked)
    if (moment === '7.3') sandbox.store.grant(revoked)
    if (moment === '14.12') this.#source.touch(2, 'notes')
    if (moment === '15.12') for (let i = 0; i < 12; i++) this.#source.restore()
    if (moment === '22.6') this.#source.stampAhead(4, 'notes', 2)
    if (moment === '22.9') this.#source.stampAhead(4, 'customers', 50_000)
  }

  async #here(moment: string): Promise<void> {
    if (moment === '12.4') this.#clock.skew = 3n * hour
    if (moment === '13.4') this.#clock.skew = -3n * hour
    if (moment === '14.4') this.#clock.skew = 0n
    if (moment === '16.1') await this.#backUp()
    if (moment === '19.1') await this.#restore()
    if (moment === '21.4') await this.#move()
    if (moment === '21.8') await this.#adopt()
    if (moment === '23.7') await this.#grow()
  }

  async #backUp(): Promise<void> {
    await this.#reopen(async () => {
      this.#restored = await backUp(this.address)
    })
  }

  /** Everything since the backup is owed again. */
  async #restore(): Promise<void> {
    const restored = this.#restored
    if (!restored) return
    await this.#reopen(restored)
    this.#source.debts.everything(
      tenants.flatMap((tenant) => lists.map((resource) => ({ tenant, resource }))),
    )
  }

  /** The API answers at another address; runs are refused until the program is told that it is the same. */
  async #move(): Promise<void> {
    await this.#disconnect()
    this.#host = this.#host === 'localhost' ? '127.0.0.1' : 'localhost'
    this.#isForeign = true
  }

  async #adopt(): Promise<void> {
    const deps = await this.#connect()
    await adopt(deps, deps.source.address, true)
    this.#isForeign = false
  }

  /** The configuration gives a field its own column, or takes the column away. */
  async #grow(): Promise<void> {
    this.#model = this.#model === plain ? promoted : plain
    await this.#reopen()
  }

  async #one(mode: 'sync' | 'reconcile', resources: readonly List[] = lists): Promise<void> {
    this.tally.runs++
    const began = this.#source.debts.serial
    const deps = await this.#connect()
    const request: RunRequest = { mode, job: null, tenants: null, resources }
    const report = this.#isKilled
      ? await this.#killed(deps, request)
      : await said(runSync(deps, begun(request)))
    if (report) this.tally.requests += report.requests
    if (report && this.#isForeign)
      throw new Error(`${this.#at}: a run from an address that nobody has adopted`)
    if (await this.#judge(report, request, began)) this.tally.whole++
    else this.tally.less++
  }

  /** Ends the run at some commit, like a crash: nothing happens after it. */
  async #killed(deps: Dependencies, request: RunRequest): Promise<RunReport | undefined> {
    // A run of ten cursors has about 20 transactions with two moments each; the long walks come last.
    let left = 1 + Math.floor(this.#random() * 60)
    const moment = (): void => {
      if (--left <= 0) throw new Killed()
    }
    const { dialect } = this.#warehouse
    const { transaction } = dialect
    const { offload: _, ...bulk } = dialect.bulk
    const dying = new Warehouse({
      dialect: {
        ...dialect,
        bulk,
        transaction: async <T>(work: (session: Session) => Promise<T>): Promise<T> => {
          moment()
          const result = await transaction(work)
          moment()
          return result
        },
      },
      model: this.#model,
      clock: this.#clock.skewed,
      retryWaits,
    })
    try {
      return await runSync({ ...deps, warehouse: dying }, begun(request))
    } catch (error) {
      if (!(error instanceof Killed)) throw error
      this.tally.kills++
      // Connections end with the process. Its lease expires: by the next hour on this clock, at once on a server's own.
      await this.#disconnect()
      await pause(5)
      if (!this.address.url.startsWith('sqlite:')) await this.#expire()
      return undefined
    }
  }

  async #expire(): Promise<void> {
    const { db } = this.#warehouse
    await this.#warehouse.write([db.updateTable('sync_lease').set({ expires_at: begin }).compile()])
  }

  /** Every cursor that a run calls complete has everything that was owed when the run started. */
  async #judge(
    report: RunReport | undefined,
    { mode, resources }: RunRequest,
    began: number,
  ): Promise<boolean> {
    if (!report) return false
    let isWhole = true
    for (const tenant of tenants)
      for (const list of (resources ?? []) as readonly List[]) {
        const cursor = report.cursors.find((one) => one.tenant_id === tenant && one.resource === list)
        if (cursor?.status === 'ok' && cursor.completeness !== 'unproven')
          await this.#source.debts.settle(this.#warehouse, {
            tenant,
            resource: list,
            covers: ({ serial, updatedAt }) =>
              serial <= began && (updatedAt !== null || mode === 'reconcile'),
            says: `${this.#at}: a whole ${mode}`,
          })
        else isWhole = false
      }
    if (!isWhole && report.status === 'ok')
      throw new Error(`${this.#at}: less than whole, and not said: ${JSON.stringify(report.cursors)}`)
    return isWhole
  }

  get #at(): string {
    return fromMicros(this.#clock.micros)
  }

  async #endOfMonth(): Promise<void> {
    await this.#one('reconcile')
    const deps = await this.#connect()
    const found = await runVerify(deps, { tenants: null, resources: lists }, { full: true, sample: 3 })
    if (found.status !== 'equal')
      throw new Error(
        `${this.#at}: verify --full: ${JSON.stringify(found.cursors.filter(({ status }) => status !== 'equal'))}`,
      )
    this.tally.months++
  }
}

/** A run that throws has reported that it is incomplete; the program's own bugs are rethrown. */
async function said(run: Promise<RunReport>): Promise<RunReport | undefined> {
  try {
    return await run
  } catch (error) {
    if (error instanceof Error && ['Stop', 'Skip', 'Retry'].includes(error.name)) return undefined
    throw error
  }
}
