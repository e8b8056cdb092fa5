/*
 * What `reconcile` does with each cursor: an incremental walk, then a comparison with the source that repairs
 * differences.
 */

import type { Int64 } from '../../../schema/resource.js'
import { plural } from '../../engine/base/format.js'
import { type Memory, storedMemory } from '../../engine/list/memory.js'
import type { WalkOutcome } from '../../engine/list/types.js'
import { type Evidence, judged, movesWatermark } from '../../engine/list/verdict.js'
import { withSharedLook } from '../../engine/run/askshared.js'
import { byIdOf } from '../../engine/run/byid.js'
import type { Begin } from '../../engine/run/cursor.js'
import { type CursorList, flatList } from '../../engine/run/cursorlist.js'
import type { CursorWalk } from '../../engine/run/cursorwalk.js'
import {
  addCounts,
  type CursorProgress,
  type CursorResult,
  type CursorWork,
  noCounts,
} from '../../engine/run/cursorwork.js'
import { deletionLimit } from '../../engine/run/deletionguard.js'
import { closeRegister, cursorWalk, walkOf } from '../../engine/run/listwalk.js'
import { LiveRows } from '../../engine/run/liverows.js'
import { NamesSync } from '../../engine/run/nameslist.js'
import { trimRequests } from '../../engine/run/prunehistory.js'
import type { Reconciled, RunRequest } from '../../engine/run/runreport.js'
import type { CursorRun } from '../../engine/run/tenant.js'
import { moveCursor, newCursor } from '../../engine/warehouse/state/cursors.js'
import { compareRegister } from '../../engine/warehouse/store/register.js'
import { beforeAllText, type ComparedCursor, Comparing, unclearOf, unsureText } from './comparing.js'
import type { Sides } from './deciding.js'
import { type LeftStanding, leftReport, leftStanding } from './leftthelist.js'
import { Repairing } from './repairing.js'

/** Walks what is new, compares, and repairs differences. */
export function beginReconcile({
  full = false,
  acceptDeletes = false,
}: Pick<RunRequest, 'full' | 'acceptDeletes'>): Begin {
  return (cursor, isNews) => {
    const isNames = cursor.resource.resource.list === 'strings'
    const work = isNames
      ? new NamesSync(cursor)
      : isNews
        ? walkOf(cursor, 'news')
        : new Reconciliation(cursor, { full, ...deletionLimit(cursor.run, acceptDeletes) })
    return withSharedLook(cursor, work, { isWhole: true, followsBack: true, acceptDeletes })
  }
}

/** One cursor's reconciliation. It repairs differences by writing. */
class Reconciliation implements CursorWork {
  readonly #list: CursorList
  readonly #liveRows: LiveRows
  readonly #repair: Repairing
  readonly #comparing: Comparing
  #walk: CursorWalk
  /** The counts of the walks before the current one. */
  #walked = noCounts
  /** Records that the source counts but that can't be stored. */
  #unstorable = 0

  constructor(
    private readonly cursor: CursorRun,
    /** `full`: list every record, whatever the counts are. */
    private readonly options: NonNullable<Sides['limit']> & { readonly full: boolean },
  ) {
    const { warehouse, warn } = cursor
    this.#list = flatList(cursor, 'reconcile')
    this.#liveRows = new LiveRows(warehouse, cursor)
    this.#repair = new Repairing(cursor, this.#liveRows)
    this.#comparing = new Comparing({
      cursor,
      list: this.#list,
      live: this.#liveRows,
      repair: this.#repair,
      tell: warn,
      byId: byIdOf(cursor, this.#list),
      memory: () => this.#walk.memory,
      refresh: () => this.#refresh(),
      limit: options,
    })
    this.#walk = cursorWalk(cursor, 'sync')
  }

  get progress(): CursorProgress {
    const own = { records: this.#list.records, unstorable: 0, ...this.#repair.counts }
    const { watermark, ...walk } = this.#walk.progress
    const counts = addCounts(own, addCounts(this.#walked, walk))
    // The comparison counts all of them, those that the walk met included.
    return { ...counts, unstorable: Math.max(walk.unstorable, this.#unstorable), watermark }
  }

  async run(): Promise<CursorResult> {
    await this.cursor.refuseHidden()
    const { outcome } = await this.#walk.run()
    if (!outcome || !movesWatermark(outcome)) return { ...this.progress, outcome }
    const { deciding } = this.#comparing
    deciding.met(this.#walk.store.older)
    const { key, root, warehouse } = this.cursor
    const register = await compareRegister(warehouse, key, root)
    this.#repair.measureLateness(register.is === 'equal' ? this.#walk.store.walkedAt : null)
    const found = await this.#comparing.run(register, { isSearch: this.options.full })
    const left = await this.#settleLeft(found.memory)
    const { isEven, evidence: _, memory: ofList, anomalies, beforeAll, refused: __, ...rest } = found
    const { left: ___, ...others } = ofList
    const memory = left.memory ? { ...others, left: left.memory } : ofList.left ? others : ofList
    const unclear = new Map([...unclearOf(found, deciding.unclear), ...deciding.leftUnclear])
    const differing = deciding.differing + unclear.size
    const isSure = isEven && differing === 0
    await this.#repair.keepFreshness(isSure)
    // Until then, a register keeps its difference from the rows.
    if (isSure && (found.method === 'listing' || register.is === 'unknown')) await closeRegister(this.cursor)
    await trimRequests(warehouse, this.cursor, found.warehouse)
    this.#unstorable = anomalies.unstorable
    const reconciled: Reconciled = {
      ...rest,
      stored: this.#repair.stored,
      deleted: this.#repair.deleted,
      went_back: this.#repair.regressed,
      listed_twice: anomalies.repeated,
      not_shown: anomalies.hidden,
      ...leftReport(left.ids),
    }
    const walked = this.#walk.evidence ?? outcome.evidence
    const told = judged(this.#evidence(found, differing, walked, left), outcome, memory)
    await this.#remember(told, memory)
    const problem = isSure
      ? (beforeAllText(beforeAll) ?? unconfirmedText(left.unconfirmed))
      : unsureText(found, { differing: deciding.differing, unclear, isById: deciding.isById })
    return { ...this.progress, outcome: told, reconciled, problem }
  }

  /** If the two sides still differ, nothing else shows by how much. */
  #evidence(
    { isEven, evidence }: ComparedCursor,
    differing: number,
    walked: Evidence,
    left: LeftStanding,
  ): Evidence {
    if (!isEven || differing > 0) return { basis: { by: 'counts', isEven: false }, differing }
    const looks = [walked, { ...evidence, followedBack: this.#repair.regressed }]
    return { basis: { by: 'looks', looks }, left: left.unconfirmed.length, leftBefore: left.ids.length }
  }

  /** The comparison knows more about the list than the walk before it. */
  async #remember({ verdict, reason }: WalkOutcome, memory: Memory): Promise<void> {
    const { key, warehouse } = this.cursor
    if (memory === this.#walk.memory && verdict !== 'unproven' && reason === null) return
    const isDone = verdict !== 'unproven'
    const change = {
      completeness: verdict,
      reason,
      remembered: storedMemory(memory),
      status: isDone ? 'ok' : undefined,
      last_error: isDone ? null : undefined,
      last_success_at: isDone ? this.cursor.now() : undefined,
    }
    await warehouse.write([moveCursor(warehouse.db, key, change)])
  }

  /** The source has moved: another walk, from the previous walk's watermark. */
  async #refresh(): Promise<void> {
    const { planned } = this.#walk.store
    const { watermark, ...before } = this.#walk.progress
    // Records that can't be stored aren't counted again: the comparison counts all of them.
    this.#walked = addCounts(this.#walked, { ...before, unstorable: 0 })
    const state = {
      ...(this.cursor.state ?? newCursor(this.cursor.key)),
      watermark,
      planned_watermark: planned,
      walk: null,
      refill: null,
      refill_walk: null,
      remembered: storedMemory(this.#walk.memory),
    }
    this.#walk = cursorWalk(this.cursor.from(state), 'sync')
    await this.#walk.run()
    this.#comparing.deciding.met(this.#walk.store.older)
  }

  async #settleLeft(memory: Memory): Promise<LeftStanding> {
    const unlisted = await this.#comparing.deciding.settleLeft()
    const when = { now: this.cursor.now(), isSearch: this.options.full }
    const standing = leftStanding(unlisted, memory.left, when)
    const { left_the_list: records, left_ids: ids } = leftReport(standing.ids)
    if (records > 0)
      this.cursor.note('Records that the list no longer contains can be read by id; their rows stay', {
        records,
        ids,
      })
    return standing
  }
}

/** Why a comparison that found such records for the first time proves nothing yet. */
function unconfirmedText(ids: readonly Int64[]): string | undefined {
  if (ids.length === 0) return undefined
  const named = `${ids.slice(0, 5).join(', ')}${ids.length > 5 ? ', …' : ''}`
  return `${plural(ids.length, 'record')} (${named}) left the list and its total but can still be read by id, as archived records can. Their rows stay. A reconcile on another day, or reconcile --full, confirms it`
}
