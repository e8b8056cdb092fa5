/*
 * Records that the source shows in an older version than the warehouse has: it was restored from a backup, or it
 * answers from a replica that lags. Two requests by id, a few seconds apart, tell which. Used by `reconcile` and
 * `verify`.
 */
import type { Int64 } from '../../../schema/resource.js'
import { plural } from '../base/format.js'
import type { Fetched, Version } from '../warehouse/store/versionbatch.js'
import type { Confirmation } from './confirm.js'
import type { PageStore } from './store.js'

/** Milliseconds between the two responses: by then a lagging replica has caught up, or shows that it lags. */
export const answersApart = 5000

interface Regressions {
  /** Both responses show the same older version. */
  readonly older: readonly { readonly fetched: Fetched; readonly stored: Version; readonly id: Int64 }[]
  /** Newer than the row, in both responses. */
  readonly newer: readonly Fetched[]
  /** Records for which the list and the responses disagree. */
  readonly differing: number
  /** Records that have the row's version by id but an older one in the list. */
  readonly asStored: number
}

const versionOf = (fetched: Fetched | undefined): string | undefined =>
  fetched?.flattened.records[0]?.updatedAt

/** What the source returns by id for records whose version in its list is older than the row's. */
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

/** Stores a version that went back. false: its row has changed meanwhile and was left alone, so it doesn't count. */
export async function followBack(
  store: Pick<PageStore, 'storeFlat'>,
  { fetched, stored, id }: Regressions['older'][number],
): Promise<boolean> {
  const { previous } = await store.storeFlat(fetched, { forceOlder: new Map([[id, stored.updatedAt]]) })
  return previous.get(id)?.updatedAt === stored.updatedAt
}

/** The records that any part of a comparison has found in an older version than their rows. Each is requested once. */
export class OlderRows {
  readonly #met = new Set<Int64>()
  readonly #asked = new Set<Int64>()
  #differing = 0
  #asStored = 0

  constructor(
    private readonly parts: {
      readonly confirmation: Confirmation
      /** The versions of the warehouse's rows. */
      versions(ids: readonly Int64[]): Promise<ReadonlyMap<Int64, Version>>
      /** Waits between the two responses. */
      pause(): Promise<void>
      /** How many records the list may show a second time in their old place. */
      mostTwice(): number
    },
  ) {}

  met(ids: Iterable<Int64>): void {
    for (const id of ids) if (!this.#asked.has(id)) this.#met.add(id)
  }

  /** Records for which the list and the responses by id disagree. */
  get differing(): number {
    // A list that shows a record twice may show its old version once.
    const isTwice = this.#asStored <= this.parts.mostTwice()
    return this.#differing + (isTwice ? 0 : this.#asStored)
  }

  /** Requests those found since the last call; undefined if there are none. */
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

/** `isById`: whether the source answers by id. */
export const differingText = (records: number, isById: boolean): string =>
  `${isById ? `The source gives different answers about ${plural(records, 'record')} by id and in its list, or from one response to the next` : `The source shows ${plural(records, 'record')} in an older version than the warehouse has, and it does not answer by id, which would show whether it went back`}. Nothing was changed for ${records === 1 ? 'it' : 'them'}; the next reconcile checks again`
