/*
 * Records that the source shows in an older version than the warehouse has: it was restored from a backup, or it answers
 * from a copy that lags behind. Asked by id, twice and some seconds apart, the source tells which. `reconcile` and `verify`
 * use it.
 */
import type { Int64 } from '../../../schema/resource.js'
import type { Fetched } from '../../engine/run/store.js'
import type { Version } from '../../engine/warehouse/versionbatch.js'
import type { Confirmation } from './confirm.js'

/** Milliseconds between the two answers: a copy that lags has caught up by then, or says so. */
export const answersApart = 5000

export interface Regressions {
  /** Both answers show the same older version. */
  readonly older: readonly { readonly fetched: Fetched; readonly stored: Version; readonly id: Int64 }[]
  /** Newer than the row, by both answers. */
  readonly newer: readonly Fetched[]
  /** Records of which list and answers say different things. */
  readonly differing: number
  /** Records that have the row's version by id, and stand in the list in an older one. */
  readonly asStored: number
}

const versionOf = (fetched: Fetched | undefined): string | undefined =>
  fetched?.flattened.records[0]?.updatedAt

/** What the source says by id of records that its list shows in a version older than the row's. */
export async function askForRegressions(
  confirmation: Confirmation,
  rows: ReadonlyMap<Int64, Version>,
  pause: () => Promise<void>,
): Promise<Regressions> {
  const older: Regressions['older'][number][] = []
  const newer: Fetched[] = []
  let [differing, asStored] = [0, 0]
  for (const { id, first, second } of await confirmation.twice([...rows.keys()], pause)) {
    const stored = rows.get(id)
    const version = versionOf(second)
    if (!stored || !second || version === undefined || versionOf(first) !== version) differing++
    else if (version < stored.updatedAt) older.push({ fetched: second, stored, id })
    else if (version === stored.updatedAt) asStored++
    else newer.push(second)
  }
  return { older, newer, differing, asStored }
}

interface OlderRowsParts {
  readonly confirmation: Confirmation
  /** The versions of the warehouse's rows. */
  versions(ids: readonly Int64[]): Promise<ReadonlyMap<Int64, Version>>
  /** Waits between the two answers. */
  pause(): Promise<void>
  /** Records that the list may show a second time, and there as they were. */
  mostTwice(): number
}

/**
 * The records that a comparison has met in an older version than their rows, whichever part of it has met them. Each is
 * asked for once.
 */
export class OlderRows {
  readonly #met = new Set<Int64>()
  readonly #asked = new Set<Int64>()
  #differing = 0
  #asStored = 0

  constructor(private readonly parts: OlderRowsParts) {}

  met(ids: Iterable<Int64>): void {
    for (const id of ids) if (!this.#asked.has(id)) this.#met.add(id)
  }

  /** Records of which list and answers by id say different things. */
  get differing(): number {
    // A list that shows a record twice may show it once as it was.
    const isTwice = this.#asStored <= this.parts.mostTwice()
    return this.#differing + (isTwice ? 0 : this.#asStored)
  }

  /** Asks about those that were met since; undefined where there are none. */
  async ask(): Promise<Regressions | undefined> {
    const ids = [...this.#met]
    if (ids.length === 0) return undefined
    this.#met.clear()
    for (const id of ids) this.#asked.add(id)
    const { confirmation, versions, pause } = this.parts
    const answer = await askForRegressions(confirmation, await versions(ids), pause)
    this.#differing += answer.differing
    this.#asStored += answer.asStored
    return answer
  }
}
