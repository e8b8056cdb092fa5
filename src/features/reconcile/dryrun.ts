/*
 * The warehouse as a reconcile would leave it, without writing: `verify` runs a comparison against it and counts the
 * remaining differences.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Candidate } from '../../engine/compare/comparison.js'
import type { Cell, Move } from '../../engine/compare/histogram.js'
import { forever } from '../../engine/list/cutpoint.js'
import type { WalkOutcome } from '../../engine/list/types.js'
import { type Confirmation, idsOf } from '../../engine/run/confirm.js'
import type { LiveRows } from '../../engine/run/liverows.js'
import type { RegisterCheck } from '../../engine/run/registercheck.js'
import type { Note } from '../../engine/run/runreport.js'
import { OlderRows } from '../../engine/run/sourceregression.js'
import { listedVersion } from '../../engine/warehouse/unlisted.js'
import type { Fetched, Version } from '../../engine/warehouse/versionbatch.js'
import type { ComparedRows, Repair } from './comparing.js'
import { LeftRecords } from './leftthelist.js'
import { recoverLostRows } from './lostrows.js'

/** The versions of a record on which warehouse and source disagree; null if the record doesn't exist. */
interface DryRunEntry {
  readonly stored: string | null
  readonly source: string | null
  /** Found by the walk that reads what no sync has read yet. */
  readonly isNews: boolean
  /** The version that the list should show by the warehouse's rows, and the one that it shows. */
  readonly was: string | null
  readonly is: string | null
}

export interface DifferenceCounts {
  /** Records that the warehouse lacks. */
  readonly missing: number
  /** Rows with an older version. */
  readonly outdated: number
  /** Live rows whose record is gone. */
  readonly extra: number
  /** Records that came or changed after what the cursor claims: not a difference. */
  readonly newer: number
}

interface DryRunParts {
  readonly liveRows: LiveRows
  readonly confirmation: Confirmation
  readonly check: RegisterCheck
  /** How many records the list may show a second time in their old place. */
  readonly mostTwice: () => number
  /** Waits between two responses by id. */
  readonly pause: () => Promise<void>
  /** Reads what has come since. */
  readonly catchUp: () => Promise<WalkOutcome>
  /**
   * Up to when the cursor claims to be complete; null if that can't be trusted. Then everything counts as a difference.
   */
  readonly claimed: () => string | null
  readonly note: Note
}

const within = (time: string | null, after: string, until: string): boolean =>
  time !== null && time > after && (until === forever || time <= until)

/** The version of a live row; null if there is none. */
const liveVersion = (version: Version | undefined): string | null =>
  version?.deletedAt === null ? version.updatedAt : null

/**
 * Keeps each difference that a comparison finds as an entry instead of writing it, and shows the live rows as if the
 * entries had been written. So the comparison continues past each difference, as a reconcile does.
 */
export class DryRun implements ComparedRows, Repair {
  readonly #entries = new Map<Int64, DryRunEntry>()
  #isCatchingUp = false

  /** Records that the source shows in an older version than the row's. */
  readonly #older: OlderRows
  readonly #left: LeftRecords

  constructor(private readonly parts: DryRunParts) {
    const { confirmation, liveRows, pause, mostTwice } = parts
    this.#left = new LeftRecords({ confirmation, liveRows, pause })
    this.#older = new OlderRows({ confirmation, versions: (ids) => liveRows.versions(ids), pause, mostTwice })
  }

  /** Records for which the list and the responses by id disagree. */
  get differing(): number {
    return this.#older.differing + this.#left.unclear.size
  }

  /** See `Confirmation.isById`. */
  get isById(): boolean {
    return this.parts.confirmation.isById
  }

  /** Rows that the list doesn't show and about which the answer by id says nothing. */
  get unclear(): Confirmation['unclear'] {
    return this.parts.confirmation.unclear
  }

  /** Whether the comparison has found that the record of this row is gone. */
  isGone(id: Int64): boolean {
    return this.#entries.get(id)?.source === null
  }

  /**
   * Called after a comparison has counted the rows. What the catch-up walk found isn't new if the warehouse once had
   * it.
   */
  async counts(): Promise<DifferenceCounts> {
    const { check, liveRows } = this.parts
    const hasNews = [...this.#entries.values()].some(({ isNews }) => isNews)
    const finding = hasNews ? await check.look(liveRows.counted) : 'sound'
    if (finding === 'sound' || finding === 'unknown') return this.#countsOf(() => false)
    if (finding === 'many') return this.#countsOf(() => true)
    const vanished = new Set([...finding.more, ...finding.less].map(({ id }) => id))
    return this.#countsOf((id) => vanished.has(id))
  }

  #countsOf(wasThere: (id: Int64) => boolean): DifferenceCounts {
    const claimed = this.parts.claimed()
    const isNewer = ([id, { stored, source, isNews }]: readonly [Int64, DryRunEntry]): boolean => {
      if (claimed === null || source === null || source <= (stored ?? '')) return false
      return source > claimed || (isNews && !wasThere(id))
    }
    const all = [...this.#entries]
    const entries = all.filter((entry) => !isNewer(entry)).map(([, entry]) => entry)
    const count = (test: (entry: DryRunEntry) => boolean): number => entries.filter(test).length
    return {
      missing: count(({ stored, source }) => stored === null && source !== null),
      outdated: count(({ stored, source }) => stored !== null && source !== null && stored !== source),
      extra: count(({ stored, source }) => stored !== null && source === null),
      newer: all.length - entries.length,
    }
  }

  async cells(after: string, until: string): Promise<Cell[]> {
    const cells = await this.parts.liveRows.cells(after, until)
    if (this.#entries.size === 0) return cells
    const ends = [...cells.map(({ end }) => end), ...(cells.at(-1)?.end === until ? [] : [until])]
    return ends.map((end, i) => {
      const from = ends[i - 1] ?? after
      let count = cells[i]?.count ?? 0
      for (const { was, is } of this.#entries.values())
        count += (within(is, from, end) ? 1 : 0) - (within(was, from, end) ? 1 : 0)
      return { end, count }
    })
  }

  async rows(after: string, until: string): Promise<Map<Int64, string>> {
    const rows = await this.parts.liveRows.rows(after, until)
    for (const [id, { is }] of this.#entries) {
      rows.delete(id)
      if (is !== null && within(is, after, until)) rows.set(id, is)
    }
    return rows
  }

  async *all(): AsyncGenerator<Candidate> {
    for await (const row of this.parts.liveRows.all()) if (!this.#entries.has(row.id)) yield row
    for (const [id, { is }] of this.#entries) if (is !== null) yield { id, updatedAt: is }
  }

  async versions(ids: readonly Int64[]): Promise<Map<Int64, Version>> {
    const versions = await this.parts.liveRows.versions(ids)
    for (const id of ids) {
      const entry = this.#entries.get(id)
      if (!entry) continue
      const { source, is } = entry
      if (source === null) versions.delete(id)
      else
        versions.set(id, {
          updatedAt: source,
          syncedAt: '',
          deletedAt: null,
          unlistedAt: is === null ? '' : null,
        })
    }
    return versions
  }

  /** A record in an older version than its row is requested by id when the comparison settles. */
  async store({ flattened: { records }, page }: Fetched): Promise<Move[]> {
    const rows = await this.parts.liveRows.versions(records.map(({ id }) => id))
    const isOlder = ({ id, updatedAt }: (typeof records)[number]): boolean =>
      updatedAt < (liveVersion(rows.get(id)) ?? '')
    this.#older.met(records.filter(isOlder).map(({ id }) => id))
    return this.#enter(
      records.filter((record) => !isOlder(record)),
      page === undefined,
    )
  }

  async settle(candidates: readonly Candidate[], counted = 0): Promise<Move[]> {
    const moves: Move[] = []
    if (candidates.length > 0) {
      const { gone, moved } = await this.parts.confirmation.ask(candidates)
      for (const fetched of moved) moves.push(...(await this.store(fetched)))
      moves.push(...(await this.#enter(gone.map(({ id }) => ({ id, updatedAt: null })))))
      moves.push(...this.#leave(await this.#left.among({ missing: candidates, moved, counted })))
    }
    return [...moves, ...(await this.#settleOlder())]
  }

  /** Their rows are as the source has them; only the list lacks them. */
  #leave(left: readonly Candidate[]): Move[] {
    for (const { id, updatedAt } of left) {
      const known = this.#entries.get(id) ?? {
        stored: updatedAt,
        source: updatedAt,
        isNews: false,
        was: updatedAt,
      }
      this.#entries.set(id, { ...known, is: null })
    }
    return left.map(({ updatedAt }): Move => ({ before: updatedAt, after: null }))
  }

  /** Asks for records that left the list earlier. Returns those that have left it by now and still exist. */
  async settleLeft(): Promise<readonly Int64[]> {
    const { gone = [], moved = [] } = (await this.#left.askAgain()) ?? {}
    for (const fetched of moved) await this.store(fetched)
    await this.#enter(gone.map(({ id }) => ({ id, updatedAt: null })))
    await this.#settleOlder()
    return this.#left.ids.filter((id) => (this.#entries.get(id)?.is ?? null) === null)
  }

  async revive(ids: readonly Int64[]): Promise<readonly Int64[]> {
    const found = await this.parts.confirmation.find(ids)
    for (const fetched of found ?? []) await this.store(fetched)
    return found ? idsOf(found) : ids
  }

  async #settleOlder(): Promise<Move[]> {
    const { older = [], newer = [] } = (await this.#older.ask()) ?? {}
    const byId = [...older.map(({ fetched }) => fetched), ...newer]
    return this.#enter(
      byId.flatMap((fetched) => fetched.flattened.records),
      true,
    )
  }

  /** The register is compared with the rows of the warehouse, whatever the entries are. */
  recoverLostRows(): Promise<readonly Move[] | undefined> {
    return recoverLostRows({ ...this.parts, repair: this, warn: this.parts.note })
  }

  async refresh(): Promise<void> {
    await this.catchUp()
  }

  async catchUp(): Promise<WalkOutcome> {
    this.#isCatchingUp = true
    const outcome = await this.parts.catchUp()
    this.#isCatchingUp = false
    return outcome
  }

  /** Enters what the source has: the records' versions, null for a record that is gone. */
  async #enter(
    found: readonly { readonly id: Int64; readonly updatedAt: string | null }[],
    isById = false,
  ): Promise<Move[]> {
    const versions = await this.parts.liveRows.versions(found.map(({ id }) => id))
    return found.flatMap(({ id, updatedAt: source }) => {
      const version = versions.get(id)
      const [stored, was] = [liveVersion(version), listedVersion(version)]
      const known = this.#entries.get(id) ?? { stored, source: stored, is: was, isNews: false }
      // By id, a record that has left the list is as far away from it as before.
      const is = isById && known.source !== null && known.is === null ? null : source
      if (known.source === source && known.is === is) return []
      this.#entries.set(id, { stored, source, isNews: this.#isCatchingUp || known.isNews, was, is })
      return known.is === is ? [] : [{ before: known.is, after: is }]
    })
  }
}
