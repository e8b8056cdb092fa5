import type { Int64 } from '../../../schema/resource.js'
import type { Candidate } from '../../compare/comparison.js'
import { type Cell, forever, type Move } from '../../compare/histogram.js'
import type { Version } from '../../warehouse/batch.js'
import type { Fetched } from '../walks/list.js'
import type { ComparedSide } from './comparing.js'
import type { Confirmation } from './confirm.js'
import type { LiveRows } from './liverows.js'
import { recoverLostRows } from './lostrows.js'
import type { RegisterCheck } from './registercheck.js'

/** One record of which warehouse and source say different things: versions, null where it is not. */
interface DryRunEntry {
  readonly stored: string | null
  readonly source: string | null
}

export interface DifferenceTally {
  /** Records that the warehouse lacks. */
  readonly missing: number
  /** Rows of an older version. */
  readonly outdated: number
  /** Live rows whose record is gone. */
  readonly extra: number
}

const within = (time: string | null, after: string, until: string): boolean =>
  time !== null && time > after && (until === forever || time <= until)

/**
 * The warehouse as it would be if everything found had been mended; nothing is written. A comparison can so go on
 * behind each difference, as one that mends does, and in the end the overlay holds what there is to mend.
 */
export class DryRun implements ComparedSide {
  readonly #mirror: LiveRows
  readonly #confirmation: Confirmation
  readonly #audit: RegisterCheck
  readonly #catchUp: () => Promise<unknown>
  readonly #entries = new Map<Int64, DryRunEntry>()

  readonly #note: (message: string, fields: Record<string, unknown>) => void

  constructor(parts: {
    readonly mirror: LiveRows
    readonly confirmation: Confirmation
    readonly audit: RegisterCheck
    readonly catchUp: () => Promise<unknown>
    readonly note: (message: string, fields: Record<string, unknown>) => void
  }) {
    this.#mirror = parts.mirror
    this.#confirmation = parts.confirmation
    this.#audit = parts.audit
    this.#catchUp = parts.catchUp
    this.#note = parts.note
  }

  tally(): DifferenceTally {
    const entries = [...this.#entries.values()]
    return {
      missing: entries.filter(({ stored, source }) => stored === null && source !== null).length,
      outdated: entries.filter(
        ({ stored, source }) => stored !== null && source !== null && stored !== source,
      ).length,
      extra: entries.filter(({ stored, source }) => stored !== null && source === null).length,
    }
  }

  async cells(after: string, until: string): Promise<Cell[]> {
    const cells = await this.#mirror.cells(after, until)
    if (this.#entries.size === 0) return cells
    const ends = [...cells.map(({ end }) => end), ...(cells.at(-1)?.end === until ? [] : [until])]
    return ends.map((end, i) => {
      const from = ends[i - 1] ?? after
      let count = cells[i]?.count ?? 0
      for (const { stored, source } of this.#entries.values())
        count += (within(source, from, end) ? 1 : 0) - (within(stored, from, end) ? 1 : 0)
      return { end, count }
    })
  }

  async rows(after: string, until: string): Promise<Map<Int64, string>> {
    const rows = await this.#mirror.rows(after, until)
    for (const [id, { source }] of this.#entries) {
      rows.delete(id)
      if (source !== null && within(source, after, until)) rows.set(id, source)
    }
    return rows
  }

  async *all(): AsyncGenerator<Candidate> {
    for await (const row of this.#mirror.all()) if (!this.#entries.has(row.id)) yield row
    for (const [id, { source }] of this.#entries) if (source !== null) yield { id, updatedAt: source }
  }

  async versions(ids: readonly Int64[]): Promise<Map<Int64, Version>> {
    const versions = await this.#mirror.versions(ids)
    for (const id of ids) {
      const entry = this.#entries.get(id)
      if (entry?.source === null) versions.delete(id)
      else if (entry) versions.set(id, { updatedAt: entry.source, syncedAt: '', deletedAt: null })
    }
    return versions
  }

  async store({ flattened }: Fetched): Promise<Move[]> {
    const stored = await this.#mirror.versions(flattened.records.map(({ id }) => id))
    return flattened.records.flatMap(({ id, updatedAt }) => {
      const version = stored.get(id)
      return this.#enter(id, version?.deletedAt === null ? version.updatedAt : null, updatedAt)
    })
  }

  async settle(candidates: readonly Candidate[]): Promise<Move[]> {
    const { gone, moved } = await this.#confirmation.ask(candidates)
    const moves: Move[] = []
    for (const fetched of moved) moves.push(...(await this.store(fetched)))
    const stored = await this.#mirror.versions(gone.map(({ id }) => id))
    for (const { id } of gone) {
      const version = stored.get(id)
      moves.push(...this.#enter(id, version?.deletedAt === null ? version.updatedAt : null, null))
    }
    return moves
  }

  /** The register speaks of the rows that there are, whatever is laid over them. */
  async recall(): Promise<readonly Move[] | undefined> {
    const confirmation = this.#confirmation
    const finding = await this.#audit.look(this.#mirror.counted)
    return recoverLostRows({ finding, side: this, mirror: this.#mirror, confirmation, note: this.#note })
  }

  async refresh(): Promise<void> {
    await this.#catchUp()
  }

  #enter(id: Int64, stored: string | null, source: string | null): Move[] {
    const known = this.#entries.get(id)
    const before = known ? known.source : stored
    if (before === source) return []
    this.#entries.set(id, { stored, source })
    return [{ before, after: source }]
  }
}
