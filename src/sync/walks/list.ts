import type { Int64 } from '../../../schema/resource.js'
import type { Page, Priority, Source } from '../../api/types.js'
import type { Flattened } from '../../model/flatten/batch.js'
import { cutPoint } from '../../walk/cutpoint.js'
import type { WalkPage } from '../../walk/types.js'
import type { CursorTask } from '../run/context.js'
import type { Fetched } from '../run/pagestore.js'
import { sightingsIn } from './sightings.js'

interface ListOptions {
  readonly priority: Priority
  readonly signal: AbortSignal
  /** Runs on each page before anything waits for it. */
  readonly prepare?: (flattened: Flattened) => void
}

/** One cursor's list at the source: its pages, its counts, and single records. */
export class CursorList {
  /** Records that were read. */
  records = 0
  /** A record that the list showed on its last page. */
  witness: Int64 | undefined

  constructor(
    private readonly source: Source,
    private readonly task: CursorTask,
    private readonly options: ListOptions,
  ) {}

  get #request() {
    const { tenantId, resource } = this.task
    const { priority, signal } = this.options
    return { tenantId, path: resource.path, priority, signal }
  }

  /** A page of what is newer than `after`. With `wanted`, only the records that it accepts are kept of the page. */
  fetch(
    after: string,
    page: number,
    perPage: number,
    wanted?: (record: unknown) => boolean,
  ): Promise<WalkPage<Fetched>> {
    const request = { ...this.#request, updatedAfter: after, page, perPage }
    return this.source.take(request, (answer) => this.#pageOf(answer, page, wanted))
  }

  /** How many records are newer than the second of an instant, by the source's count. */
  async countAfter(t: string): Promise<number> {
    return (await this.source.list({ ...this.#request, updatedAfter: cutPoint(t), page: 1, perPage: 1 }))
      .total
  }

  #pageOf(answer: Page, page: number, wanted: ((record: unknown) => boolean) | undefined): WalkPage<Fetched> {
    const { records, startedAt, requestId, careful, total, totalPages } = answer
    const { resource } = this.task
    const { prepare } = this.options
    const flattened = resource.flatten(records, careful)
    this.witness = flattened.records[0]?.id
    this.records += records.length
    const kept = wanted ? records.filter(wanted) : records
    const isPart = kept.length < records.length
    prepare?.(flattened)
    return {
      total,
      page,
      totalPages,
      records: records.length,
      sightings: sightingsIn(records, flattened),
      payload: {
        flattened: isPart ? resource.flatten(kept, careful) : flattened,
        records: kept.length,
        startedAt,
        requestId,
        page,
      },
    }
  }

  /** One record; undefined where the source answers that it does not exist. */
  async item(id: Int64): Promise<Fetched | undefined> {
    const item = await this.source.item({ ...this.#request, id })
    if (!item) return undefined
    const { record, careful, startedAt, requestId } = item
    const flattened = this.task.resource.flatten([record], careful)
    return { flattened, records: 1, startedAt, requestId, page: undefined }
  }
}
