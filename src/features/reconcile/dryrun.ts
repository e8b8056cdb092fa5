/*
 * Counts what follows from the differences that a comparison finds: `verify`. The warehouse stays as it is; its rows are
 * shown as a reconcile would leave them.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Candidate } from '../../engine/compare/comparison.js'
import type { Cell, Move } from '../../engine/compare/histogram.js'
import { forever } from '../../engine/list/cutpoint.js'
import type { LiveRows } from '../../engine/run/liverows.js'
import type { RegisterFinding } from '../../engine/warehouse/store/register.js'
import { listedVersion } from '../../engine/warehouse/store/unlisted.js'
import type { Fetched, Version } from '../../engine/warehouse/store/versionbatch.js'
import type { Repair } from './deciding.js'

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

const within = (time: string | null, after: string, until: string): boolean =>
  time !== null && time > after && (until === forever || time <= until)

/** The version of a live row; null if there is none. */
const liveVersion = (version: Version | undefined): string | null =>
  version?.deletedAt === null ? version.updatedAt : null

/**
 * Keeps each difference as an entry instead of writing it, and shows the live rows as if the entries had been written.
 * So the comparison continues past each difference, as a reconcile does.
 */
export class DryRun implements Repair {
  readonly #entries = new Map<Int64, DryRunEntry>()
  #isNews = false

  constructor(private readonly live: LiveRows) {}

  /** Whether the comparison has found that the record of this row is gone. */
  isGone(id: Int64): boolean {
    return this.#entries.get(id)?.source === null
  }

  /** What the work finds is news: no sync has read it yet. */
  async asNews<T>(work: () => Promise<T>): Promise<T> {
    this.#isNews = true
    const done = await work()
    this.#isNews = false
    return done
  }

  /**
   * If rows have vanished, a record without a row isn't news: the warehouse may have had it. `claimed`: up to when the
   * cursor claims to be complete; null if that can't be trusted. Then everything counts as a difference.
   */
  counts(register: RegisterFinding, claimed: string | null) {
    const hasLost = register.is === 'different'
    const isNewer = ([, { stored, source, isNews }]: readonly [Int64, DryRunEntry]): boolean => {
      if (claimed === null || source === null || source <= (stored ?? '')) return false
      return source > claimed || (isNews && !(hasLost && stored === null))
    }
    const all = [...this.#entries]
    const entries = all.filter((entry) => !isNewer(entry)).map(([, entry]) => entry)
    const count = (test: (entry: DryRunEntry) => boolean): number => entries.filter(test).length
    return {
      /** Records that the warehouse lacks. */
      missing: count(({ stored, source }) => stored === null && source !== null),
      /** Rows with an older version. */
      outdated: count(({ stored, source }) => stored !== null && source !== null && stored !== source),
      /** Live rows whose record is gone. */
      extra: count(({ stored, source }) => stored !== null && source === null),
      /** Records that came or changed after what the cursor claims: not a difference. */
      newer: all.length - entries.length,
    }
  }

  /** The rows, as a reconcile would leave them. */
  readonly rows: Repair['rows'] = {
    cells: (after, until) => this.#cells(after, until),
    rows: (after, until) => this.#rows(after, until),
    all: () => this.#all(),
    versions: (ids) => this.#versions(ids),
  }

  async #cells(after: string, until: string): Promise<Cell[]> {
    const cells = await this.live.cells(after, until)
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

  async #rows(after: string, until: string): Promise<Map<Int64, string>> {
    const rows = await this.live.rows(after, until)
    for (const [id, { is }] of this.#entries) {
      rows.delete(id)
      if (is !== null && within(is, after, until)) rows.set(id, is)
    }
    return rows
  }

  async *#all(): AsyncGenerator<Candidate> {
    for await (const row of this.live.all()) if (!this.#entries.has(row.id)) yield row
    for (const [id, { is }] of this.#entries) if (is !== null) yield { id, updatedAt: is }
  }

  async #versions(ids: readonly Int64[]): Promise<Map<Int64, Version>> {
    const versions = await this.live.versions(ids)
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

  async store({ flattened: { records }, page }: Fetched) {
    const rows = await this.live.versions(records.map(({ id }) => id))
    const isOlder = ({ id, updatedAt }: (typeof records)[number]): boolean =>
      updatedAt < (liveVersion(rows.get(id)) ?? '')
    return {
      moves: await this.#enter(
        records.filter((record) => !isOlder(record)),
        page === undefined,
      ),
      older: records.filter(isOlder).map(({ id }) => id),
    }
  }

  remove(gone: readonly Candidate[]): Promise<readonly Move[]> {
    return this.#enter(gone.map(({ id }) => ({ id, updatedAt: null })))
  }

  /** Their rows are as the source has them; only the list lacks them. */
  async leave(left: readonly Candidate[]): Promise<void> {
    for (const { id, updatedAt } of left) {
      const same = { stored: updatedAt, source: updatedAt, isNews: false, was: updatedAt }
      this.#entries.set(id, { ...(this.#entries.get(id) ?? same), is: null })
    }
  }

  followBack(older: readonly { readonly fetched: Fetched }[]): Promise<readonly Move[]> {
    return this.#enter(
      older.flatMap(({ fetched }) => fetched.flattened.records),
      true,
    )
  }

  /** Enters what the source has: the records' versions, null for a record that is gone. */
  async #enter(
    found: readonly { readonly id: Int64; readonly updatedAt: string | null }[],
    isById = false,
  ): Promise<Move[]> {
    const versions = await this.live.versions(found.map(({ id }) => id))
    return found.flatMap(({ id, updatedAt: source }) => {
      const version = versions.get(id)
      const [stored, was] = [liveVersion(version), listedVersion(version)]
      const known = this.#entries.get(id) ?? { stored, source: stored, is: was, isNews: false }
      // By id, a record that has left the list is as far away from it as before.
      const is = isById && known.source !== null && known.is === null ? null : source
      if (known.source === source && known.is === is) return []
      this.#entries.set(id, { stored, source, isNews: this.#isNews || known.isNews, was, is })
      return known.is === is ? [] : [{ before: known.is, after: is }]
    })
  }
}
