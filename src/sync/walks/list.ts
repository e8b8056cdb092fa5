import { createHash } from 'node:crypto'
import type { Int64 } from '../../../schema/resource.js'
import type { Page, Priority, Source } from '../../api/source.js'
import type { Flattened } from '../../model/flatten/batch.js'
import { rawJson } from '../../model/flatten/jsontext.js'
import type { ResourceModel } from '../../model/registry.js'
import { canonical } from '../../timestamp.js'
import type { Sighting } from '../../walk/books.js'
import type { WalkPage } from '../../walk/walk.js'

/** What was fetched, on its way into the warehouse or a comparison with it. */
export interface Fetched {
  readonly flattened: Flattened
  /** When its request was sent. */
  readonly startedAt: string
  readonly requestId: string | undefined
  /** Page of the list; undefined for a record that was asked for by its id. */
  readonly page: number | undefined
}

const member = (record: unknown, name: string): unknown =>
  typeof record === 'object' && record !== null ? (record as Record<string, unknown>)[name] : undefined

/** `updated_at` of a record as it came; empty when it has none that can be used. */
export function timeOf(record: unknown): string {
  const time = member(record, 'updated_at')
  return (typeof time === 'string' ? canonical(time) : null) ?? ''
}

/** Stands for what can be no row: the same text for the same record, whatever page shows it. */
const oddName = (record: unknown, occurrence: number): string =>
  `!${createHash('sha256').update(rawJson(record)).digest('base64url').slice(0, 16)} ${occurrence}`

/**
 * Every record of a page in the order of the list, those included that cannot be stored or that stand in it twice. Such
 * a one has a text for an id, and where it has no time of its own, that of its neighbour: counts and ranges need it.
 */
export function sightingsInOrder(records: readonly unknown[], flattened: Flattened): readonly Sighting[] {
  if (flattened.records.length === records.length) return flattened.records
  const usable = new Map(flattened.records.map((record) => [String(record.id), record]))
  const names = new Map<string, number>()
  let before = flattened.records[0]?.updatedAt ?? ''
  return records.map((record) => {
    const id = String(member(record, 'id'))
    const flat = usable.get(id)
    usable.delete(id)
    before = flat?.updatedAt ?? (timeOf(record) || before)
    if (flat) return flat
    const occurrence = (names.get(id) ?? 0) + 1
    names.set(id, occurrence)
    return { id: oddName(record, occurrence), updatedAt: before, createdAt: null }
  })
}

/** One cursor's list, for those who ask for parts of it and for single records. */
export class CursorList {
  readonly #tenantId: Int64
  readonly #resource: ResourceModel
  readonly #priority: Priority
  readonly #signal: AbortSignal
  /** Records that were read. */
  records = 0
  /** A record that the list has shown of late. */
  witness: Int64 | undefined

  constructor(
    private readonly source: Source,
    cursor: { readonly tenantId: Int64; readonly resource: ResourceModel },
    how: { readonly priority: Priority; readonly signal: AbortSignal },
  ) {
    this.#tenantId = cursor.tenantId
    this.#resource = cursor.resource
    this.#priority = how.priority
    this.#signal = how.signal
  }

  get #request() {
    const { path } = this.#resource
    return { tenantId: this.#tenantId, path, priority: this.#priority, signal: this.#signal }
  }

  /** A page of what is newer than `after`; with `wanted`, only the records that it accepts are flattened. */
  fetch(
    after: string,
    page: number,
    perPage: number,
    wanted?: (record: unknown) => boolean,
  ): Promise<WalkPage<Fetched>> {
    const request = { ...this.#request, updatedAfter: after, page, perPage }
    return this.source.take(request, (answer) => this.#pageOf(answer, page, wanted))
  }

  #pageOf(answer: Page, page: number, wanted: ((record: unknown) => boolean) | undefined): WalkPage<Fetched> {
    const flattened = this.#resource.flatten(answer.records, answer.careful)
    const sightings = sightingsInOrder(answer.records, flattened)
    this.witness = flattened.records[0]?.id
    this.records += answer.records.length
    const isPart = wanted !== undefined && !answer.records.every(wanted)
    const { startedAt, requestId } = answer
    return {
      total: answer.total,
      page,
      totalPages: answer.totalPages,
      records: answer.records.length,
      sightings,
      payload: {
        flattened: isPart ? this.#resource.flatten(answer.records.filter(wanted), answer.careful) : flattened,
        startedAt,
        requestId,
        page,
      },
    }
  }

  /** undefined: the source answers that it does not exist. */
  async item(id: Int64): Promise<Fetched | undefined> {
    const item = await this.source.item({ ...this.#request, id })
    if (!item) return undefined
    const flattened = this.#resource.flatten([item.record], item.careful)
    return { flattened, startedAt: item.startedAt, requestId: item.requestId, page: undefined }
  }
}
