import type { Int64 } from '../../../schema/resource.js'
import type { Source } from '../../api/source.js'
import { forever } from '../../compare/histogram.js'
import { epoch } from '../../walk/books.js'
import { cursorName } from '../../warehouse/cursors.js'
import { rootTable } from '../../warehouse/dialect.js'
import type { CursorContext } from '../run/context.js'
import type { CursorTask } from '../run/cursor.js'
import { type CursorResult, floorOf } from '../walks/incremental.js'
import { CursorList } from '../walks/list.js'
import { type ComparedCursor, Comparing } from './comparing.js'
import { Confirmation } from './confirm.js'
import { type ContentDifference, compareContent } from './content.js'
import { type DifferenceTally, DryRun } from './dryrun.js'
import { LiveRows, rootOf } from './liverows.js'
import { RegisterCheck } from './registercheck.js'

export interface VerifyOptions {
  readonly full: boolean
  /** So many records of each cursor are compared field by field. */
  readonly sample: number
}

/** How one cursor compares with the source. */
export interface Verified extends DifferenceTally {
  readonly method: ComparedCursor['method'] | 'names'
  readonly source: number
  readonly warehouse: number
  /** Records that the source shows and that cannot be stored. */
  readonly unstorable: number
  /** Records that were compared field by field, and what was found. */
  readonly sampled: number
  readonly differences: readonly ContentDifference[]
}

export const isEqual = (found: Verified): boolean =>
  found.missing + found.outdated + found.extra + found.unstorable + found.differences.length === 0

/** Compares one cursor with the source and writes nothing. */
export class Verification {
  readonly #list: CursorList
  readonly #mirror: LiveRows
  readonly #overlay: DryRun
  readonly #comparing: Comparing
  found: Verified | undefined

  constructor(
    private readonly context: CursorContext,
    private readonly task: CursorTask,
    source: Source,
    private readonly options: VerifyOptions,
  ) {
    this.#list = new CursorList(source, task, { priority: 'reconcile', signal: context.signal })
    this.#mirror = new LiveRows(context.warehouse, task)
    const note = (message: string, fields: Record<string, unknown>) => this.#comparing.note(message, fields)
    const confirmation = new Confirmation({ list: this.#list, stamps: context.stamps, note })
    this.#overlay = new DryRun({
      mirror: this.#mirror,
      confirmation,
      audit: new RegisterCheck(context, task),
      catchUp: () => this.#catchUp(),
      note,
    })
    this.#comparing = new Comparing(context, task, { list: this.#list, side: this.#overlay })
  }

  get result(): Omit<CursorResult, 'outcome'> {
    return { records: this.#list.records, unstorable: 0, written: 0, removed: 0, watermark: this.#watermark }
  }

  get #watermark(): string | null {
    const { tenantId, resource } = this.task
    return this.context.cursors.get(cursorName({ tenantId, resource: resource.name }))?.watermark ?? null
  }

  /** What is newer than the watermark: nobody has synced it yet. */
  #catchUp() {
    return this.#comparing.walk(floorOf(this.#watermark, this.context.config.sync.overlap))
  }

  async run(): Promise<CursorResult> {
    const walked = await this.#catchUp()
    const warehouse = await this.#mirror.count(epoch, forever)
    const found = await this.#comparing.run(this.options.full)
    const differences = await this.#sample()
    const { method, source, odd } = found
    const sampled = Math.min(this.options.sample, warehouse)
    this.found = {
      method,
      source,
      warehouse,
      ...this.#overlay.tally(),
      unstorable: odd,
      sampled,
      differences,
    }
    const isSure = found.isEven && walked.verdict !== 'unproven'
    return {
      ...this.result,
      outcome: { ...walked, verdict: isSure ? 'proven' : 'unproven' },
      ...(!isSure && { problem: 'Records kept moving while they were compared: verify once more' }),
    }
  }

  /** Records by chance, each as the source has it now against its rows. */
  async #sample(): Promise<ContentDifference[]> {
    const wanted = this.options.sample
    if (wanted === 0) return []
    const differences: ContentDifference[] = []
    for (const id of await this.#byChance(wanted)) {
      const item = await this.#list.item(id)
      if (item)
        differences.push(...(await compareContent(this.context.warehouse, this.task, id, item.flattened)))
    }
    return differences
  }

  async #byChance(wanted: number): Promise<Int64[]> {
    const cells = await this.#mirror.cells(epoch, forever)
    const total = cells.reduce((sum, { count }) => sum + count, 0)
    const ranks = new Set<number>()
    const random = this.context.random ?? Math.random
    while (ranks.size < Math.min(wanted, total)) ranks.add(Math.floor(random() * total))
    const ids: Int64[] = []
    let [before, from] = [0, epoch]
    for (const { end, count } of cells) {
      const here = [...ranks].filter((rank) => rank >= before && rank < before + count)
      if (here.length > 0) {
        const rows = [...(await this.#mirror.rows(from, end)).keys()]
        for (const rank of here) ids.push(...rows.slice(rank - before, rank - before + 1))
      }
      before += count
      from = end
    }
    return ids
  }
}

/** A bare list of strings against its table. */
export class NamesVerification {
  found: Verified | undefined

  constructor(
    private readonly context: CursorContext,
    private readonly task: CursorTask,
    private readonly source: Source,
  ) {}

  get result(): Omit<CursorResult, 'outcome'> {
    return { records: this.found?.source ?? 0, unstorable: 0, written: 0, removed: 0, watermark: null }
  }

  async run(): Promise<CursorResult> {
    const { tenantId, resource } = this.task
    const { warehouse, signal } = this.context
    const root = rootOf(resource)
    const answer = await this.source.strings({
      tenantId,
      path: resource.path,
      priority: 'reconcile',
      signal,
    })
    const flattened = resource.flatten(answer.values, answer.careful)
    const there = new Set((flattened.rows.get(root.name) ?? []).map(([name]) => name))
    const rows = await warehouse.read((db) =>
      db
        .selectFrom(rootTable(root))
        .select('name')
        .where('tenant_id', '=', tenantId)
        .where('_deleted_at', 'is', null)
        .execute(),
    )
    const here = new Set(rows.map(({ name }) => name))
    this.found = {
      method: 'names',
      source: there.size,
      warehouse: here.size,
      missing: [...there].filter((name) => !here.has(String(name))).length,
      outdated: 0,
      extra: [...here].filter((name) => !there.has(name)).length,
      unstorable: flattened.unstorable,
      sampled: 0,
      differences: [],
    }
    const books = { first: there.size, last: there.size, distinct: there.size, entered: 0, fallen: 0 }
    return { ...this.result, outcome: { verdict: 'proven', ceiling: null, books, reason: null } }
  }
}
