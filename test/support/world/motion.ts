import type { Verdict } from '../../../src/engine/list/verdict.js'
import type { BesideWork } from '../../../src/engine/run/runcontext.js'
import type { CursorReport, RunReport } from '../../../src/engine/run/runreport.js'
import type { Source } from '../../../src/engine/source/source.js'
import type { Warehouse } from '../../../src/engine/warehouse/warehouse.js'
import { Killed, syncInOrder } from '../harness/runs.js'
import { Between } from './between.js'
import type { Death, MotionScript, ScriptRun } from './motionscript.js'
import { type MotionWorld, moving, quiet, resource } from './motionworld.js'
import { lose } from './notes.js'
import { randomFrom } from './random.js'
import { wipe } from './through.js'

/** How many syncs a scenario may need, once the source stops changing, until one of them reports that it is done. */
const retryWaits = 4

/** Adds up the outcomes of many scenarios. */
export class Tally {
  readonly verdicts: Record<Verdict, number> = { proven: 0, repaired: 0, listed: 0, unproven: 0 }
  readonly wrong: Record<Verdict, number> = { proven: 0, repaired: 0, listed: 0, unproven: 0 }
  /** Verdicts of walks during which something came late: judged up to the next walk's floor. */
  withLate = 0
  /** Wrong where no counting can know, an exception in docs/guarantees.md: by verdict. */
  readonly beyond: Record<Verdict, number> = { proven: 0, repaired: 0, listed: 0, unproven: 0 }
  /** An exchange in the late zone left no trace in any response: the next run reads the zone again. */
  traceless = 0
  scenarios = 0
  runs = 0
  deaths = 0
  /** How often several pages were requested at once. */
  windows = 0
  /** Syncs needed beyond the first, after the source stopped changing. */
  again = 0

  toString(): string {
    const { proven, repaired, unproven } = this.verdicts
    return (
      `${this.scenarios} scenarios, ${this.runs} runs, ${this.deaths} of them cut short, ${this.windows} windows; verdicts: ` +
      `${proven} proven (${this.wrong.proven} wrong), ${repaired} repaired (${this.wrong.repaired} wrong), ` +
      `${unproven} unproven; ${this.withLate} with late commits; beyond counting: ${this.beyond.proven} proven, ` +
      `${this.beyond.repaired} repaired; ${this.traceless} without a trace; ${this.again} syncs repeated on a still source`
    )
  }
}

/** The tables that a scenario writes. */
const tables = [
  resource,
  'tenants',
  'sync_cursors',
  'sync_walk_parts',
  'sync_runs',
  'sync_run_cursors',
  'sync_quarantine',
  'sync_drift',
  'sync_lateness',
  'sync_registers',
  // Each world has its own sandbox, and they share a warehouse.
  'sync_source',
]

/** Events that arrive before each run, and what the run does with them. */
export interface Hears {
  before(): Promise<BesideWork>
  /** Called once the run has ended or was interrupted. */
  after(): Promise<void>
}

/** The outcome of one run. */
export interface Told {
  readonly claim: Pick<CursorReport, 'completeness' | 'reason' | 'watermark'> | undefined
  /** Requests for the moving list since the scenario started. */
  readonly requests: number
}

/** `planned`: where the next planned walk starts, if rings have moved the watermark beyond it. */
type Claimed = Pick<CursorReport, 'completeness' | 'watermark'> & { readonly planned?: string | null }

interface Row {
  readonly serial: number
  readonly deletedAt: string | null
}

/** One scenario: plays its script against a real source and warehouse, and checks every promise on the way. */
export class Play {
  readonly #world: MotionWorld
  readonly #warehouse: Warehouse
  readonly #script: MotionScript
  readonly #tally: Tally
  /** The newest version that the warehouse ever had, by id. */
  readonly #held = new Map<number, number>()
  readonly #hears: Hears | undefined
  readonly told: Told[] = []
  /** The number of the request before which the current walk started. */
  #begun: number | undefined
  #misled = false

  constructor(
    parts: { world: MotionWorld; warehouse: Warehouse; tally: Tally; hears?: Hears | undefined },
    script: MotionScript,
  ) {
    this.#hears = parts.hears
    this.#world = parts.world
    this.#warehouse = parts.warehouse
    this.#tally = parts.tally
    this.#script = script
  }

  async run(): Promise<void> {
    this.#tally.scenarios++
    await wipe(this.#warehouse, tables)
    this.#world.begin(this.#script)
    for (const run of this.#script.runs) await this.#one(run)
    await this.#settle()
  }

  async #one({ mode, steps, death }: ScriptRun, full = false): Promise<RunReport | undefined> {
    this.#tally.runs++
    for (const step of steps) if (step.kind === 'lose') await this.#lose(this.#world.idsAt(step.where))
    this.#world.prepare(steps)
    this.#begun ??= this.#world.requests
    const beside = await this.#hears?.before()
    const stop = new AbortController()
    let isWalking = false
    this.#world.onRequest = (n) => {
      // A request that an interrupted run left on its way may arrive before this run has asked for anything.
      if (death?.how === 'signal' && n >= death.at && isWalking) stop.abort()
    }
    const walks = (): void => {
      isWalking = true
    }
    let report: RunReport | undefined
    try {
      report = await syncInOrder(this.#world.sandbox, this.#warehouse, {
        mode,
        clock: beside ? this.#world.clock.still : this.#world.clock.sleepless,
        beside,
        random: randomFrom(this.#script.seed ?? 1),
        full,
        acceptDeletes: this.#isCompared,
        resources: [resource],
        overlapMs: this.#script.overlapMs,
        pageSizes: this.#script.pageSizes,
        readAhead: this.#script.readAhead,
        signal: stop.signal,
        around: (source) =>
          new Between(this.#watched(source, walks), death ? dying(death) : (_request, ask) => ask()),
      })
    } catch (error) {
      if (!(error instanceof Killed)) throw error
      this.#tally.deaths++
    }
    const cursor = report?.cursors.find((one) => one.tenant_id === moving)
    this.told.push({ claim: cursor && claimOf(cursor), requests: this.#world.requests })
    await this.#judge(cursor)
    if (beside) await this.#hearOn()
    if (report && !stop.signal.aborted) this.#isolated(report)
    return report
  }

  /** Counts the walk's windows: from the request for a second page until all have arrived. */
  #watched(source: Source, walks: () => void): Source {
    let [under, isWindow] = [0, false]
    return new Between(source, async ({ tenantId, perPage }, ask) => {
      if (tenantId !== moving) return ask()
      walks()
      if (perPage === 1) return ask()
      if (++under > 1 && !isWindow) {
        isWindow = true
        this.#tally.windows++
      }
      try {
        return await ask()
      } finally {
        if (--under === 0) isWindow = false
      }
    })
  }

  /** Whatever happens to one tenant, the other's cursor is fine. */
  #isolated(report: RunReport): void {
    const other = report.cursors.find((cursor) => cursor.tenant_id === quiet)
    if (other?.status !== 'ok')
      throw new Error(`The quiet tenant suffers: ${other?.status} ${other?.error ?? ''}`)
  }

  /** Laws 5 and 9, and promise 2, after every run, even an interrupted one. */
  async #judge(cursor: CursorReport | undefined): Promise<void> {
    const rows = await rowsById(this.#warehouse)
    for (const [id, serial] of this.#held)
      if ((rows.get(id)?.serial ?? -1) < serial)
        throw new Error(`Record ${id} was rolled back from v${serial} to ${shown(rows.get(id))}`)
    for (const [id, { serial, deletedAt }] of rows) {
      this.#held.set(id, serial)
      if (deletedAt !== null && this.#world.isThereSince(id, micros(deletedAt)))
        throw new Error(`Record ${id} is there and was marked deleted at ${deletedAt}`)
    }
    // What its scripts do is later than any overlap: only a comparison can find it.
    if (!cursor || this.#isCompared) return
    const walked = cursor.status === 'ok' || cursor.error?.startsWith('The books do not close')
    if (!walked) return
    this.#tally.verdicts[cursor.completeness]++
    // What was missed without anyone being able to know stays missed: it is reported once.
    if (cursor.completeness !== 'unproven' && !this.#misled) this.#verify(cursor, rows)
    this.#begun = undefined
  }

  /** What the cursor claims by now: rings during and after the run have moved it. */
  async #hearOn(): Promise<void> {
    await this.#judgeState()
    this.#begun = this.#world.requests
    await this.#hears?.after()
    await this.#judgeState()
    this.#begun = undefined
  }

  async #judgeState(): Promise<void> {
    const state = await this.#warehouse.db
      .selectFrom('sync_cursors')
      .select(['status', 'completeness', 'watermark', 'planned_watermark'])
      .where('tenant_id', '=', moving)
      .where('resource', '=', resource)
      .executeTakeFirst()
    const completeness = state?.completeness as Verdict | null | undefined
    if (state?.status !== 'ok' || !completeness || completeness === 'unproven' || this.#misled) return
    const { watermark, planned_watermark: planned } = state
    this.#verify({ completeness, watermark, planned }, await rowsById(this.#warehouse))
  }

  /** Every record at or before the watermark at the time of the last response is there, in its version of that time. */
  #verify(cursor: Claimed, rows: ReadonlyMap<number, Row>): void {
    const { watermark: claimed, planned = claimed } = cursor
    const watermark = micros(claimed)
    const nextFloor = micros(planned) - BigInt(this.#script.overlapMs) * 1000n
    if (this.#during(this.#world.late)) this.#tally.withLate++
    for (const [id, standing] of this.#world.seen) {
      // What came late is within the overlap: the next walk starts before it.
      const until = this.#world.latecomers.has(id) ? nextFloor : watermark
      if (standing.micros > until || (rows.get(id)?.serial ?? -1) >= standing.serial) continue
      if (cursor.completeness === 'proven' && standing.micros > nextFloor && this.#isTraceless()) {
        this.#tally.traceless++
        return
      }
      if (this.#isBeyond(standing.micros)) {
        this.#tally.beyond[cursor.completeness]++
        console.log(`${cursor.completeness}, beyond counting: ${JSON.stringify(this.#script)}`)
        this.#misled = true
        return
      }
      this.#tally.wrong[cursor.completeness]++
      throw new Error(
        `Wrong ${cursor.completeness}: record ${id} stood at v${standing.serial}, the warehouse has ${shown(rows.get(id))}; watermark ${cursor.watermark}`,
      )
    }
  }

  /** Whether it happened after the walk's first response. */
  #during(requests: readonly number[]): boolean {
    return requests.some((at) => at > (this.#begun ?? 0) + 1)
  }

  /**
   * What no counting can know (docs/guarantees.md): a record was deleted without any total decreasing, another made up
   * for it by coming back, and ties may hide a third.
   */
  #isBeyond(missing: bigint): boolean {
    const { masked, returned } = this.#world
    return this.#during(masked) && this.#during(returned) && this.#world.isTied(missing)
  }

  /** A record was deleted and another came late after it, when more than a page may be late. */
  #isTraceless(): boolean {
    const { masked, late, wide } = this.#world
    return this.#during(masked) && this.#during(late) && wide.some((at) => at > (this.#begun ?? 0))
  }

  /** As a person with a database tool would: the program isn't told. */
  async #lose(ids: readonly number[]): Promise<void> {
    for (const id of ids) this.#held.delete(id)
    await lose(this.#warehouse, ids, resource)
  }

  get #isCompared(): boolean {
    return this.#script.runs.some(({ mode }) => mode === 'reconcile')
  }

  /**
   * The source stops changing: a sync and a reconcile leave the warehouse equal to it. Differences that cancel out between
   * two cut points are found by another one, since each cuts elsewhere, or by --full.
   */
  async #settleCompared(): Promise<void> {
    this.#world.standStill()
    for (let attempt = 0; ; attempt++) {
      const reports = [
        await this.#one({ mode: 'sync', steps: [], death: null }),
        await this.#one({ mode: 'reconcile', steps: [], death: null }, attempt > 2),
      ]
      const rows = await rowsById(this.#warehouse)
      const live = [...rows].filter(([, { deletedAt }]) => deletedAt === null)
      const there = this.#world.standing()
      const isEqual =
        live.length === there.size && live.every(([id, { serial }]) => there.get(id)?.serial === serial)
      if (isEqual && reports.every((report) => report?.status === 'ok')) return
      this.#tally.again++
      if (attempt === retryWaits)
        throw new Error(`Still not equal: ${JSON.stringify(reports.map((report) => report?.cursors))}`)
    }
  }

  /** The source stops changing: now a sync must report that it is done, and be right. */
  async #settle(): Promise<void> {
    if (this.#isCompared) return this.#settleCompared()
    this.#world.standStill()
    for (let attempt = 1; ; attempt++) {
      const report = await this.#one({ mode: 'sync', steps: [], death: null })
      if (report?.status === 'ok') break
      this.#tally.again++
      if (attempt === retryWaits)
        throw new Error(`Still not done after ${retryWaits} syncs: ${JSON.stringify(report?.cursors)}`)
    }
    if (this.#misled) return
    const rows = await rowsById(this.#warehouse)
    for (const [id, { serial }] of this.#world.standing())
      if (rows.get(id)?.serial !== serial)
        throw new Error(`Lost: record ${id} is v${serial} at the source, ${shown(rows.get(id))} here`)
  }
}

/** Ends the run at the nth request for the moving list, like a crash: nothing happens after it. */
function dying(death: Death): ConstructorParameters<typeof Between>[1] {
  let asked = 0
  return async (request, ask) => {
    const isLast = request.tenantId === moving && ++asked >= death.at && death.how !== 'signal'
    if (isLast && death.how === 'unsent') throw new Killed()
    const page = await ask()
    if (isLast) throw new Killed()
    return page
  }
}

const claimOf = ({ completeness, reason, watermark }: CursorReport): Told['claim'] => ({
  completeness,
  reason,
  watermark,
})

const shown = (row: Row | undefined): string => (row ? `v${row.serial}` : 'nothing')
const micros = (time: string | null): bigint =>
  time === null ? 0n : BigInt(Date.parse(`${time.slice(0, 19)}Z`)) * 1000n + BigInt(time.slice(20, 26))

async function rowsById(warehouse: Warehouse): Promise<Map<number, Row>> {
  const rows = await warehouse.db
    .selectFrom(resource)
    .select(['id', 'description', '_deleted_at'])
    .where('tenant_id', '=', moving)
    .execute()
  return new Map(
    rows.map((row) => [
      Number(row.id),
      {
        serial: Number(String(row.description).slice(1)),
        deletedAt: row._deleted_at,
      },
    ]),
  )
}
