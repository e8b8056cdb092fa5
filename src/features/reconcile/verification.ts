/*
 * Verifies one cursor: compares it with the source and writes nothing. features/reconcile/verifywork.ts runs it on every
 * selected cursor.
 */
import type { Int64 } from '../../../schema/resource.js'
import { plural } from '../../engine/base/format.js'
import { epoch, forever, isWholeFrom } from '../../engine/list/cutpoint.js'
import { type Memory, memoryOf, recalled } from '../../engine/list/memory.js'
import type { WalkOutcome } from '../../engine/list/types.js'
import { type Evidence, judged, movesWatermark } from '../../engine/list/verdict.js'
import { type ById, readingById } from '../../engine/run/byid.js'
import { type CursorList, flatList } from '../../engine/run/cursorlist.js'
import {
  type CursorProgress,
  type CursorResult,
  type CursorWork,
  noCounts,
} from '../../engine/run/cursorwork.js'
import { LiveRows } from '../../engine/run/liverows.js'
import { floorOf } from '../../engine/run/resumecursor.js'
import { beyondHoles } from '../../engine/run/retryhole.js'
import { differingText } from '../../engine/run/sourceregression.js'
import { believedWatermark, plannedWatermark } from '../../engine/run/stampsahead.js'
import type { CursorRun } from '../../engine/run/tenant.js'
import { countQuarantined } from '../../engine/warehouse/state/quarantine.js'
import { compareRegister } from '../../engine/warehouse/store/register.js'
import type { Warehouse } from '../../engine/warehouse/warehouse.js'
import { areDeletesChecked, isNeverWalked } from './claims.js'
import { beforeAllText, type ComparedCursor, Comparing, unclearOf, unclearText } from './comparing.js'
import { type ContentDifference, compareContent } from './content.js'
import { DryRun } from './dryrun.js'
import { leftReport } from './leftthelist.js'

export interface VerifyOptions {
  readonly full: boolean
  /** How many records of each cursor are compared field by field. */
  readonly sample: number
}

/** How one cursor compares with the source. */
export interface Verified extends ReturnType<DryRun['counts']> {
  /** Live rows whose record is gone, in a cursor whose deletions were checked recently: no difference. */
  readonly gone: number
  readonly method: ComparedCursor['method'] | 'names'
  readonly source: number
  readonly warehouse: number
  /** Records that the source shows but that can't be stored. */
  readonly unstorable: number
  /** Values in quarantine, which the rows lack: known, and therefore not a difference. */
  readonly quarantined: number
  /** How often the list shows a record again, how many records it never shows, and how many no response shows. */
  readonly listed_twice: number
  readonly not_shown: number
  readonly unreadable: number
  /** Records that have left the list and its total but can be read by id, and the ids of the first hundred. */
  readonly left_the_list: number
  readonly left_ids: readonly Int64[]
  /**
   * How many records were chosen, how many of them were requested by id, how many were compared field by field, and how
   * many have another version.
   */
  readonly sampled: number
  readonly asked: number
  readonly compared: number
  readonly other_version: number
  readonly differences: readonly ContentDifference[]
}

export const isEqual = (found: Verified): boolean =>
  found.missing + found.outdated + found.extra + found.unstorable + found.differences.length === 0

/** Whether a sample was wanted, and the source answered none of it, or could not be asked for it. */
export const isUnanswered = ({ sampled, compared, other_version }: Verified): boolean =>
  sampled > 0 && compared + other_version === 0

/** Work on one cursor that finds out how it compares. */
export interface VerifyWork extends CursorWork {
  /** undefined until the work has ended. */
  readonly found: Verified | undefined
  /** No walk has completed yet, so nothing is claimed. */
  readonly isUnclaimed: boolean
}

/** Verifies a cursor of records. */
export class Verification implements VerifyWork {
  readonly #list: CursorList
  readonly #byId: ById
  readonly #liveRows: LiveRows
  readonly #dryRun: DryRun
  readonly #comparing: Comparing
  #memory: Memory
  /** Where planned walks start, before the overlap is subtracted. */
  #from: string | null
  /** The stored watermark is in the future. */
  #isVoid = false
  found: Verified | undefined

  constructor(
    private readonly cursor: CursorRun<Warehouse>,
    private readonly options: VerifyOptions,
  ) {
    this.#from = this.#watermark
    this.#memory = memoryOf(cursor.state?.remembered)
    this.#list = flatList(cursor, 'reconcile')
    this.#byId = readingById(cursor, this.#list)
    this.#liveRows = new LiveRows(cursor.warehouse, cursor)
    this.#dryRun = new DryRun(this.#liveRows)
    this.#comparing = new Comparing({
      cursor,
      list: this.#list,
      live: this.#liveRows,
      byId: this.#byId,
      repair: this.#dryRun,
      memory: () => this.#memory,
      refresh: () => this.#catchUp(),
      tell: cursor.note,
    })
  }

  get progress(): CursorProgress {
    return { ...noCounts, records: this.#list.records, watermark: this.#watermark }
  }

  get #watermark(): string | null {
    return this.cursor.state?.watermark ?? null
  }

  /** Walks what the next sync will read, except for what is in a hole. */
  async #catchUp(): Promise<WalkOutcome> {
    const { floor } = beyondHoles(floorOf(this.#from, this.#comparing.overlapMs), this.#memory)
    const outcome = await this.#dryRun.asNews(() => this.#comparing.walk(floor))
    const end = { isWhole: isWholeFrom(floor), today: this.cursor.now().slice(0, 10), isSearch: false }
    this.#memory = recalled(outcome, this.#memory, end).memory
    return outcome
  }

  /** A watermark in the future would hide from the walk what has changed since. */
  async #doubtWatermark(): Promise<void> {
    const believed = await believedWatermark(this.cursor, this.#watermark, async () => {
      const own = this.cursor.now()
      const { clocks } = await this.#list.fetch(floorOf(this.#watermark, this.#comparing.overlapMs), 1, 1)
      return { source: clocks?.source ?? null, own }
    })
    this.#isVoid = believed !== this.#watermark
    this.#from = await plannedWatermark(this.cursor, believed)
  }

  get isUnclaimed(): boolean {
    return isNeverWalked(this.cursor.state)
  }

  /** Up to when the cursor claims to be complete; null if its watermark can't be trusted. */
  get #claimed(): string | null {
    if (this.#isVoid) return null
    return this.cursor.state?.complete_through ?? this.#watermark ?? ''
  }

  async run(): Promise<CursorResult> {
    if (this.isUnclaimed) {
      // The source's own response shows whether it offers the list.
      await this.#list.fetch(floorOf(null, 0), 1, 1)
      return { ...this.progress, outcome: null }
    }
    await this.cursor.refuseHidden()
    await this.#doubtWatermark()
    const walked = await this.#catchUp()
    const warehouse = await this.#liveRows.count(epoch, forever)
    const register = await compareRegister(this.cursor.warehouse, this.cursor.key, this.cursor.root)
    const found = await this.#comparing.run(register, { isSearch: this.options.full })
    const { deciding } = this.#comparing
    const left = [...(await deciding.settleLeft()).keys()]
    const quarantined = await countQuarantined(this.cursor.warehouse, this.cursor.key)
    const sample = await this.#sample()
    const { method, source, anomalies, memory } = found
    const counts = this.#dryRun.counts(register, this.#claimed)
    const isChecked = counts.extra > 0 && (await areDeletesChecked(this.cursor))
    this.found = {
      method,
      source,
      warehouse,
      ...counts,
      extra: isChecked ? 0 : counts.extra,
      gone: isChecked ? counts.extra : 0,
      unstorable: anomalies.unstorable,
      quarantined,
      listed_twice: anomalies.repeated,
      not_shown: anomalies.hidden,
      unreadable: anomalies.unreadable,
      ...leftReport(left),
      ...sample,
    }
    const isEven = found.isEven && movesWatermark(walked)
    const inDoubt = deciding.differing + deciding.leftUnclear.size
    const differing = inDoubt + unclearOf(found, deciding.unclear).size
    const { beforeAll } = found
    const evidence: Evidence = {
      basis: { by: 'counts', isEven },
      differing,
      beforeAll,
      leftBefore: left.length,
    }
    const isSure = isEven && differing === 0
    const problem = isSure ? beforeAllText(beforeAll) : this.#unsureText(inDoubt, memory)
    return {
      ...this.progress,
      outcome: judged(evidence, walked, memory),
      problem,
    }
  }

  #unsureText(inDoubt: number, { holes = [] }: Memory): string {
    const { isById, unclear } = this.#comparing.deciding
    const records = holes.reduce((sum, hole) => sum + hole.records, 0)
    if (inDoubt > 0) return differingText(inDoubt, isById)
    if (unclear.size > 0) return unclearText(unclear)
    if (records > 0)
      return `Everything was compared except ${plural(records, 'record')} that no response shows`
    return 'Records kept changing while they were compared: type shopsync verify again'
  }

  /** Compares randomly chosen records field by field. Counts what was done: by id, the source may answer nothing. */
  async #sample(): Promise<
    Pick<Verified, 'sampled' | 'asked' | 'compared' | 'other_version' | 'differences'>
  > {
    const differences: ContentDifference[] = []
    const chosen = await this.#chooseIds(this.options.sample)
    // Of a record that is gone there is nothing to compare, and the comparison has counted its row.
    const ids = chosen.filter((id) => !this.#dryRun.isGone(id))
    let [compared, other] = [0, 0]
    // If the source was found not to answer by id for this list, none is requested.
    const { answers } = await this.#byId.ask(ids)
    for (const [id, answer] of answers) {
      if (answer.kind !== 'record') continue
      const item = answer.fetched
      const stored = (await this.#liveRows.versions([id])).get(id)
      // A different version is a difference of its own, or none.
      if (item.flattened.records[0]?.updatedAt !== stored?.updatedAt) {
        await this.#dryRun.store(item)
        other += 1
      } else {
        const { cursor } = this
        differences.push(...(await compareContent(cursor.warehouse, cursor, id, item.flattened)))
        compared += 1
      }
    }
    return { sampled: ids.length, asked: answers.size, compared, other_version: other, differences }
  }

  async #chooseIds(wanted: number): Promise<Int64[]> {
    if (wanted === 0) return []
    const cells = await this.#liveRows.cells(epoch, forever)
    const total = cells.reduce((sum, { count }) => sum + count, 0)
    const ranks = new Set<number>()
    const random = this.cursor.run.random ?? Math.random
    while (ranks.size < Math.min(wanted, total)) ranks.add(Math.floor(random() * total))
    const ids: Int64[] = []
    let [before, from] = [0, epoch]
    for (const { end, count } of cells) {
      const here = [...ranks].filter((rank) => rank >= before && rank < before + count)
      if (here.length > 0) {
        const rows = [...(await this.#liveRows.rows(from, end)).keys()]
        for (const rank of here) ids.push(...rows.slice(rank - before, rank - before + 1))
      }
      before += count
      from = end
    }
    return ids
  }
}
