import type { Int64 } from '../../../schema/resource.js'
import { Bisection } from '../../compare/bisect.js'
import type { Candidate, ComparePort, Comparison } from '../../compare/comparison.js'
import { type Cell, forever, type Move } from '../../compare/histogram.js'
import type { ResourceModel } from '../../model/registry.js'
import { epoch } from '../../walk/books.js'
import { IdSet } from '../../walk/idset.js'
import {
  pageSizes,
  Walk,
  type WalkOutcome,
  type WalkPage,
  type WalkPlan,
  type WalkPort,
} from '../../walk/walk.js'
import type { Version } from '../../warehouse/batch.js'
import type { Dependencies } from '../run/context.js'
import { floorOf } from '../walks/incremental.js'
import type { CursorList, Fetched } from '../walks/list.js'
import { Pace } from '../walks/pace.js'

/** What a comparison of one cursor has found, and what has become of it. */
export interface ComparedCursor {
  /** How: by counts at cut points, or by listing every id. */
  readonly method: 'counting' | 'listing'
  /** Nothing is left that differs. */
  readonly isEven: boolean
  /** Of a listing: what its walk can claim. */
  readonly verdict: WalkOutcome['verdict']
  readonly source: number
  readonly warehouse: number
  readonly counted: number
  readonly listed: number
  /** Records that the source counts and that cannot be stored. */
  readonly odd: number
}

/** One side of a comparison: where rows are read, and where what was found goes. */
export interface ComparedSide {
  versions(ids: readonly Int64[]): Promise<ReadonlyMap<Int64, Version>>
  cells(after: string, until: string): Promise<readonly Cell[]>
  rows(after: string, until: string): Promise<ReadonlyMap<Int64, string>>
  all(): AsyncIterable<Candidate>
  store(fetched: Fetched): Promise<readonly Move[]>
  settle(candidates: readonly Candidate[]): Promise<readonly Move[]>
  recall(): Promise<readonly Move[] | undefined>
  refresh(): Promise<void>
}

type Needs = Pick<Dependencies, 'config' | 'observer' | 'clock' | 'readAhead' | 'pageSizes' | 'random'>

/** Compares one cursor: by counting, or by a list of everything where that costs less or is asked for. */
export class Comparing {
  readonly #list: CursorList
  readonly #side: ComparedSide

  constructor(
    private readonly needs: Needs,
    private readonly cursor: { readonly tenantId: Int64; readonly resource: ResourceModel },
    parts: { readonly list: CursorList; readonly side: ComparedSide },
  ) {
    this.#list = parts.list
    this.#side = parts.side
  }

  async run(full: boolean): Promise<ComparedCursor> {
    if (full) return this.#listing()
    const found = await new Bisection<Fetched>(this.#port()).run()
    return found.method === 'listing' ? this.#listing(found) : { ...found, verdict: 'proven' }
  }

  note(message: string, fields: Record<string, unknown>): void {
    const { tenantId: tenant_id, resource } = this.cursor
    this.needs.observer.notice?.(message, { tenant_id, resource: resource.name, ...fields })
  }

  #port(): ComparePort<Fetched> {
    const side = this.#side
    return {
      fetch: (after, page, perPage) => this.#list.fetch(after, page, perPage),
      cells: (after, until) => side.cells(after, until),
      rows: (after, until) => side.rows(after, until),
      store: (page) => side.store(page.payload),
      settle: (candidates) => side.settle(candidates),
      recall: () => side.recall(),
      refresh: () => side.refresh(),
      random: this.needs.random ?? Math.random,
      note: (message, fields) => this.note(message, fields),
    }
  }

  /** Walks the list of what is newer than the floor, and takes it in; moves nothing else. */
  walk(floor: string, saw: (id: Int64 | string) => void = () => {}): Promise<WalkOutcome> {
    const pace = new Pace(this.needs)
    const port: WalkPort<Fetched> = {
      fetch: (page, perPage) =>
        pace.fetching(this.#list.fetch(floor, page, perPage), ({ payload }) => payload.startedAt),
      store: (page) => {
        for (const { id } of page.sightings) saw(id)
        return pace.storing(this.#take(page))
      },
      countAfter: async (t) => (await this.#list.fetch(t, 1, 1)).total,
      readAhead: () => pace.readAhead(),
      note: (message, fields) => this.note(message, fields),
    }
    const plan: WalkPlan = {
      floor,
      nextFloor: (ceiling) => floorOf(ceiling, this.needs.config.sync.overlap),
      pageSizes: this.needs.pageSizes ?? pageSizes,
    }
    return new Walk(port, plan).run()
  }

  /** Lists everything, with the books of a walk; then every row that the list has not shown is asked about. */
  async #listing(before?: Comparison): Promise<ComparedCursor> {
    const seen = new IdSet()
    const odd = new Set<string>()
    const outcome = await this.walk(epoch, (id) => {
      if (typeof id === 'string') odd.add(id)
      else seen.add(id)
    })
    const missing: Candidate[] = []
    for await (const row of this.#side.all()) if (!seen.has(row.id)) missing.push(row)
    const settled = missing.length > 0 ? await this.#side.settle(missing) : []
    const rows = await this.#side.cells(epoch, forever)
    return {
      method: 'listing',
      // A row that no list shows, and whose record exists, unchanged: the list is not to be believed.
      isEven: outcome.verdict !== 'unproven' && settled.length >= missing.length,
      verdict: outcome.verdict,
      source: outcome.books.last,
      warehouse: rows.reduce((sum, { count }) => sum + count, 0),
      counted: before?.counted ?? 0,
      listed: (before?.listed ?? 0) + 1,
      odd: odd.size,
    }
  }

  /** Takes a page of the list in if it shows anything that the warehouse does not have so. */
  async #take(page: WalkPage<Fetched>): Promise<(id: Int64) => string | undefined> {
    const ids = page.sightings.flatMap(({ id }) => (typeof id === 'string' ? [] : [id]))
    const stored = await this.#side.versions(ids)
    const differs = page.sightings.some(({ id, updatedAt }) => {
      if (typeof id === 'string') return true
      const version = stored.get(id)
      return version?.updatedAt !== updatedAt || version.deletedAt !== null
    })
    if (differs) await this.#side.store(page.payload)
    return (id) => stored.get(id)?.updatedAt
  }
}
