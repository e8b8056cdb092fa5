/*
 * Where the lists of a source begin: before the year 1 if it accepts such a time, since records may be stamped with
 * .NET's 0001-01-01. Every run queries the source through this one; the beginning that it accepts is kept in
 * sync_source.
 */

import { Skip } from '../base/errors.js'
import { isWholeFrom, unfiltered } from '../list/cutpoint.js'
import type { Source } from '../source/source.js'
import { aroundSource } from './aroundsource.js'

/** Earliest first. The first is before the year 1 begins in UTC, because the filter excludes its own instant. */
export const beginnings = [
  '0001-01-01T00:00:00+12:00',
  '0001-01-01T00:00:00Z',
  '1970-01-01T00:00:00Z',
] as const

/** What the sources of one run share: the beginning that the API accepts, as far as known. */
export class Beginning {
  #number: number

  /** `keep` is called with a different beginning once it was accepted. */
  constructor(
    known: string | null,
    private readonly keep: (text: string) => Promise<void>,
  ) {
    this.#number = Math.max(0, beginnings.indexOf(known as (typeof beginnings)[number]))
  }

  /** Requests a whole list, from a later beginning if the API refuses the earlier one with 422. */
  async ask<T>(send: (text: string) => Promise<T>): Promise<T> {
    for (let number = this.#number; ; number++) {
      const text = beginnings[number] ?? beginnings[2]
      try {
        const answer = await send(text)
        if (number > this.#number) {
          this.#number = number
          await this.keep(text)
        }
        return answer
      } catch (error) {
        const isRefused = error instanceof Skip && error.details.status === 422
        if (!isRefused || number >= beginnings.length - 1) throw error
      }
    }
  }
}

/** A source whose whole lists begin where the API lets them. */
export const wholeLists = (source: Source, beginning: Beginning): Source =>
  aroundSource(source, {
    list: (request, send) => {
      const { updatedAfter: after } = request
      if (after === unfiltered || !isWholeFrom(after)) return send(request)
      return beginning.ask((updatedAfter) => send({ ...request, updatedAfter }))
    },
  })
