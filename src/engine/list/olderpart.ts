import type { ObservedRecord } from './observed.js'

/** Where a response is in the list. */
export interface Place {
  readonly page: number
  readonly perPage: number
  /** Strictly after the previous page's response, not together with it. */
  readonly isInOrder: boolean
  /** The latest possible time by the source's clock. */
  readonly at: string
  /** No earlier process has read pages of this reading: a resumed walk reads up to two pages again. */
  readonly isAnew: boolean
}

/** What a resumed walk needs to know about an older part. */
export interface OlderCount {
  /** null: no response has shown yet where the part begins. */
  readonly counted: number | null
  readonly seen: number
  /** When it was counted, the latest possible time by the source's clock. */
  readonly at: string
  /** Pages of the list were read together. */
  readonly wasTogether: boolean
}

/** For a walk whose progress doesn't include it: records of the part may have been seen before it could be counted. */
export const uncounted: OlderCount = { counted: null, seen: 1, at: '', wasTogether: true }

/**
 * The part of a list behind the late zone. Nothing can enter it while the walk reads, because an update moves a record
 * to the front and late records stay within the zone. So the part is whole if the walk has seen as many of its records
 * as were counted by the first response that reached it, whatever happened in front of it.
 */
export class OlderPart {
  #counted: number | null
  #seen: number
  #at: string
  #wasTogether: boolean

  constructor(
    private readonly lateFrom: string,
    { counted, seen, at, wasTogether }: OlderCount = { counted: null, seen: 0, at: '', wasTogether: false },
  ) {
    this.#counted = counted
    this.#seen = seen
    this.#at = at
    this.#wasTogether = wasTogether
  }

  get state(): OlderCount {
    return { counted: this.#counted, seen: this.#seen, at: this.#at, wasTogether: this.#wasTogether }
  }

  /** Every record of the part was seen, or it is empty. */
  get isWhole(): boolean {
    return this.#seen === (this.#counted ?? 0)
  }

  /** Responses that overlap in time have no order: a record may slip between them, whatever the totals are. */
  get wasTogether(): boolean {
    return this.#wasTogether
  }

  get isShort(): boolean {
    return this.#counted !== null && this.#seen < this.#counted
  }

  /**
   * Enters a response of the reading. `isNew`: for each record, whether no earlier response showed it. `isNext`: the
   * response follows the previous page, and the total didn't fall in between.
   */
  response(
    total: number,
    observed: readonly ObservedRecord[],
    isNew: readonly boolean[],
    { page, perPage, at, isInOrder }: Place,
    isNext: boolean,
  ): void {
    this.#wasTogether ||= !isInOrder
    const first = observed.findIndex(({ updatedAt }) => updatedAt <= this.lateFrom)
    if (first < 0) return
    if (this.#counted === null && this.#seen === 0) {
      // After a fall, and on pages that were read together, the previous page may also hold records of the part. Then
      // the part stays uncounted, since some of its records were seen before it could be counted.
      const isExact = first > 0 || isNext
      if (isExact) this.#counted = Math.max(0, total - (page - 1) * perPage - first)
      this.#at = at
    }
    this.#seen += observed.filter(({ updatedAt }, i) => isNew[i] && updatedAt <= this.lateFrom).length
  }

  /** A record that no response had shown was updated at this time, and was in the part before. */
  moved(updatedAt: string): void {
    if (this.#counted !== null && updatedAt > this.#at) this.#seen++
  }
}
