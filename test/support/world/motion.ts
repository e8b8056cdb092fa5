import type { Verdict } from '../../../src/engine/list/verdict.js'
import { keepRows } from '../harness/backup.js'
import type { Address } from '../harness/place.js'
import {
  type CursorReport,
  Killed,
  type Page,
  type RunOptions,
  type RunReport,
  syncInOrder,
} from '../harness/runs.js'
import type { Warehouse } from '../harness/warehouse.js'
import { between } from './between.js'
import type { Death, MotionScript, ScriptRun, Step } from './motionscript.js'
import { type MotionWorld, moving, quiet, resource } from './motionworld.js'
import { lose } from './notes.js'
import { randomFrom } from './random.js'
import { wipe } from './through.js'

/** How many syncs a scenario may need, once the source stops changing, until one of them reports that it is done. */
const retryWaits = 4

/**
 * What happened in many scenarios, by name. `beyond`: wrong where no counting can know, an exception in
 * docs/guarantees.md; `traceless`: an exchange in the late zone left no trace in any response, and the next run reads the
 * zone again; `again`: syncs beyond the first after the source stopped changing.
 */
export type Tally = Map<string, number>

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
  before(): Promise<NonNullable<RunOptions['beside']>>
  /** Called once the run has ended or was interrupted. */
  after(): Promise<void>
}

/** `planned`: where the next planned walk starts, if rings have moved the watermark beyond it. */
type Claimed = Pick<CursorReport, 'completeness' | 'watermark'> & { readonly planned?: string | null }

interface Row {
  readonly serial: number
  readonly deletedAt: string | null
}

interface PlayParts {
  readonly world: MotionWorld
  readonly warehouse: Warehouse
  /** Where it is. */
  readonly address: Address
  readonly tally: Tally
  readonly hears?: Hears | undefined
}

/** One scenario: plays its script against a real source and warehouse, and checks every promise on the way. */
export class Play {
  /** The newest version that the warehouse ever had, by id. */
  readonly #held = new Map<number, number>()
  /** The number of the request before which the current walk started. */
  #begun: number | undefined
  #misled = false
  /** Rows that were marked as deleted when the last run had ended, and how many requests there had been. */
  #marked = new Set<number>()
  #judged = 0
  #rewind: (() => Promise<void>) | undefined

  constructor(
    private readonly parts: PlayParts,
    private readonly script: MotionScript,
  ) {}

  #tell(what: string): void {
    const { tally } = this.parts
    tally.set(what, (tally.get(what) ?? 0) + 1)
  }

  async run(): Promise<void> {
    this.#tell('scenarios')
    await wipe(this.parts.warehouse, tables)
    for (const run of this.script.runs) await this.#one(run)
    await this.#settle()
  }

  async #one({ mode, steps, death }: ScriptRun, full = false): Promise<RunReport | undefined> {
    this.#tell('runs')
    for (const step of steps) await this.#befall(step)
    this.parts.world.prepare(steps)
    this.#begun ??= this.parts.world.requests
    const beside = await this.parts.hears?.before()
    const stop = new AbortController()
    let isWalking = false
    this.parts.world.onRequest = (n) => {
      // A request that an interrupted run left on its way may arrive before this run has asked for anything.
      if (death?.how === 'signal' && n >= death.at && isWalking) stop.abort()
    }
    const ends = death ? dying(death) : (_request: unknown, ask: () => Promise<Page>) => ask()
    let report: RunReport | undefined
    try {
      report = await syncInOrder(this.parts.world.sandbox, this.parts.warehouse, {
        mode,
        clock: beside ? this.parts.world.clock.still : this.parts.world.clock.sleepless,
        beside,
        random: randomFrom(this.script.seed ?? 1),
        full,
        acceptDeletes: mode === 'reconcile',
        resources: [resource],
        overlapMs: this.script.overlapMs,
        pageSizes: this.script.pageSizes,
        readAhead: this.script.readAhead,
        signal: stop.signal,
        around: between((request, ask) => {
          isWalking ||= request.tenantId === moving
          return ends(request, ask)
        }),
      })
    } catch (error) {
      if (!(error instanceof Killed)) throw error
      this.#tell('deaths')
    }
    const cursor = report?.cursors.find((one) => one.tenant_id === moving)
    await this.#judge(cursor)
    if (beside) await this.#hearOn()
    if (report && !stop.signal.aborted) this.#isolated(report)
    return report
  }

  /** Whatever happens to one tenant, the other's cursor is fine. */
  #isolated(report: RunReport): void {
    const other = report.cursors.find((cursor) => cursor.tenant_id === quiet)
    if (other?.status !== 'ok')
      throw new Error(`The quiet tenant suffers: ${other?.status} ${other?.error ?? ''}`)
  }

  /** Laws 5 and 9, and promise 2, after every run, even one that was cut short. */
  async #judge(cursor: CursorReport | undefined): Promise<void> {
    const rows = await rowsById(this.parts.warehouse)
    for (const [id, serial] of this.#held)
      if ((rows.get(id)?.serial ?? -1) < serial)
        throw new Error(`Record ${id} was rolled back from v${serial} to ${shown(rows.get(id))}`)
    const marked = new Set([...rows].flatMap(([id, { deletedAt }]) => (deletedAt === null ? [] : [id])))
    for (const id of marked)
      if (!this.#marked.has(id) && this.parts.world.isThereSince(id, this.#judged))
        throw new Error(`Record ${id} is there and was marked deleted at ${rows.get(id)?.deletedAt}`)
    for (const [id, { serial }] of rows) this.#held.set(id, serial)
    this.#marked = marked
    this.#judged = this.parts.world.requests
    // What its scripts do is later than any overlap: only a comparison can find it.
    if (this.#isCompared || this.#misled) return
    const isWalked = cursor?.status === 'ok' || cursor?.error?.startsWith('The books do not close')
    if (!cursor || !isWalked) return this.#judgeCut(rows)
    this.#tell(cursor.completeness)
    if (cursor.completeness !== 'unproven') this.#verify(cursor, rows)
    this.#begun = undefined
  }

  /** Law 5: whenever a run was cut short, everything before the start of the next walk is there. */
  async #judgeCut(rows: ReadonlyMap<number, Row>): Promise<void> {
    const state = await this.#state()
    const floor = this.#floorOf(state?.planned_watermark ?? state?.watermark ?? null)
    for (const [id, standing] of this.parts.world.standing())
      if (standing.micros <= floor && (rows.get(id)?.serial ?? -1) < standing.serial)
        throw new Error(
          `Law 5: record ${id} is v${standing.serial} at the source, ${shown(rows.get(id))} here`,
        )
  }

  /** What the cursor claims by now: rings during and after the run have moved it. */
  async #hearOn(): Promise<void> {
    await this.#judgeState()
    this.#begun = this.parts.world.requests
    await this.parts.hears?.after()
    await this.#judgeState()
    this.#begun = undefined
  }

  #state() {
    return this.parts.warehouse.db
      .selectFrom('sync_cursors')
      .select(['status', 'completeness', 'watermark', 'planned_watermark'])
      .where('tenant_id', '=', moving)
      .where('resource', '=', resource)
      .executeTakeFirst()
  }

  async #judgeState(): Promise<void> {
    const state = await this.#state()
    const completeness = state?.completeness as Verdict | null | undefined
    if (state?.status !== 'ok' || !completeness || completeness === 'unproven' || this.#misled) return
    const { watermark, planned_watermark: planned } = state
    this.#verify({ completeness, watermark, planned }, await rowsById(this.parts.warehouse))
  }

  /** Where the walk after that watermark starts. */
  #floorOf(watermark: string | null): bigint {
    return micros(watermark) - BigInt(this.script.overlapMs) * 1000n
  }

  /** Every record at or before the watermark at the time of the last response is there, in its version of that time. */
  #verify(cursor: Claimed, rows: ReadonlyMap<number, Row>): void {
    const { watermark: claimed, planned = claimed } = cursor
    const watermark = micros(claimed)
    const nextFloor = this.#floorOf(planned)
    if (this.#during(this.parts.world.late)) this.#tell('with late')
    for (const [id, standing] of this.parts.world.seen) {
      // What came late is within the overlap: the next walk starts before it.
      const until = this.parts.world.latecomers.has(id) ? nextFloor : watermark
      if (standing.micros > until || (rows.get(id)?.serial ?? -1) >= standing.serial) continue
      if (cursor.completeness === 'proven' && standing.micros > nextFloor && this.#isTraceless()) {
        this.#tell('traceless')
        return
      }
      if (this.#isBeyond(standing.micros)) {
        this.#tell(`beyond ${cursor.completeness}`)
        console.log(`${cursor.completeness}, beyond counting: ${JSON.stringify(this.script)}`)
        this.#misled = true
        return
      }
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
    const { masked, returned } = this.parts.world
    return this.#during(masked) && this.#during(returned) && this.parts.world.isTied(missing)
  }

  /** A record was deleted and another came late after it, when more than a page may be late. */
  #isTraceless(): boolean {
    const { masked, late, wide } = this.parts.world
    return this.#during(masked) && this.#during(late) && wide.some((at) => at > (this.#begun ?? 0))
  }

  /** What happens to the warehouse. The program isn't told. */
  async #befall(step: Step): Promise<void> {
    if (step.kind === 'lose') {
      const ids = this.parts.world.idsAt(step.where)
      for (const id of ids) this.#held.delete(id)
      await lose(this.parts.warehouse, ids, resource)
    } else if (step.kind === 'backup') this.#rewind = await keepRows(this.parts.address, 'kept')
    else if (step.kind === 'rewind' && this.#rewind) {
      await this.#rewind()
      this.#held.clear()
      this.#marked = new Set([...(await rowsById(this.parts.warehouse)).keys()])
      this.#begun = undefined
    }
  }

  get #isCompared(): boolean {
    return this.script.seed !== undefined
  }

  /** Once the source stops changing, a sync must report that it is done, and be right; a reconcile finds the rest. */
  async #settle(): Promise<void> {
    this.parts.world.standStill()
    for (let attempt = 1; !this.#isCompared; attempt++) {
      const report = await this.#one({ mode: 'sync', steps: [], death: null })
      if (report?.status === 'ok') break
      this.#tell('again')
      if (attempt === retryWaits)
        throw new Error(`Still not done after ${retryWaits} syncs: ${JSON.stringify(report?.cursors)}`)
    }
    if (this.script.runs.some(({ mode }) => mode === 'reconcile')) return this.#settleCompared()
    if (this.#misled) return
    const rows = await rowsById(this.parts.warehouse)
    for (const [id, { serial }] of this.parts.world.standing())
      if (rows.get(id)?.serial !== serial)
        throw new Error(`Lost: record ${id} is v${serial} at the source, ${shown(rows.get(id))} here`)
  }

  /**
   * A sync and a reconcile leave the warehouse equal to the source. Differences that cancel out between two cut points are
   * found by another one, since each cuts elsewhere, or by --full.
   */
  async #settleCompared(): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      const reports = [
        await this.#one({ mode: 'sync', steps: [], death: null }),
        await this.#one({ mode: 'reconcile', steps: [], death: null }, attempt > 2),
      ]
      const rows = await rowsById(this.parts.warehouse)
      const live = [...rows].filter(([, { deletedAt }]) => deletedAt === null)
      const there = this.parts.world.standing()
      const isEqual =
        live.length === there.size && live.every(([id, { serial }]) => there.get(id)?.serial === serial)
      if (isEqual && reports.every((report) => report?.status === 'ok')) return
      this.#tell('again')
      if (attempt === retryWaits)
        throw new Error(`Still not equal: ${JSON.stringify(reports.map((report) => report?.cursors))}`)
    }
  }
}

/** Ends the run at the nth request for the moving list, like a crash: nothing happens after it. */
function dying(death: Death): Parameters<typeof between>[0] {
  let asked = 0
  return async (request, ask) => {
    const isLast = request.tenantId === moving && ++asked >= death.at && death.how !== 'signal'
    if (isLast && death.how === 'unsent') throw new Killed()
    const page = await ask()
    if (isLast) throw new Killed()
    return page
  }
}

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
