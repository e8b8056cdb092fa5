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
  #isAccepted: boolean

  /**
   * `keep` is called with a different beginning once it was accepted. `isAccepted`: whether some list has accepted the
   * known one.
   */
  constructor(
    known: string | null,
    private readonly keep: (text: string) => Promise<void>,
    isAccepted = false,
  ) {
    this.#number = Math.max(0, beginnings.indexOf(known as (typeof beginnings)[number]))
    this.#isAccepted = isAccepted
  }

  /**
   * Requests a whole list, from a later beginning if the API can't take the earlier one. It may say so (422), call the
   * request bad (400), or fail, since many languages have no such time. Only 422 says so for sure. Otherwise `probe`, a
   * request for one record, has to fail from the earlier beginning, succeed from the later one, and fail again: after an
   * outage, or a page that is too large, the records of before 1970 would be lost. Without `probe`, only 422 counts.
   */
  async ask<T>(send: (text: string) => Promise<T>, probe?: (text: string) => Promise<unknown>): Promise<T> {
    let number = this.#number
    for (;;) {
      try {
        const answer = await send(beginnings[number] ?? beginnings[2])
        await this.#accept(number)
        return answer
      } catch (error) {
        const next = await this.#after(number, error, probe)
        if (next === undefined) throw error
        number = next
      }
    }
  }

  /** The beginning to try after this one has failed; undefined if the failure has another reason. */
  async #after(
    number: number,
    error: unknown,
    probe: ((text: string) => Promise<unknown>) | undefined,
  ): Promise<number | undefined> {
    if (!(error instanceof Skip)) return undefined
    if (error.details.status === 422) return number < beginnings.length - 1 ? number + 1 : undefined
    if (!probe || !this.#mayBeTooEarly(error)) return undefined
    // Another list may have found it out meanwhile.
    if (this.#number > number) return this.#number
    const isTooEarly = async (): Promise<boolean> => !(await isAnswered(probe, beginnings[number] ?? ''))
    if (!(await isTooEarly())) {
      this.#isAccepted = true
      return undefined
    }
    for (const [later, text] of beginnings.entries())
      if (later > number && (await isAnswered(probe, text))) return (await isTooEarly()) ? later : undefined
    return undefined
  }

  #mayBeTooEarly({ reason, details: { status, code } }: Skip): boolean {
    const isBusy = status === 429 || code === 'told_to_wait'
    return status === 400 || (reason === 'failed' && !isBusy && !this.#isAccepted)
  }

  async #accept(number: number): Promise<void> {
    this.#isAccepted = true
    const text = beginnings[number]
    if (number <= this.#number || !text) return
    this.#number = number
    await this.keep(text)
  }
}

async function isAnswered(probe: (text: string) => Promise<unknown>, text: string): Promise<boolean> {
  try {
    await probe(text)
    return true
  } catch (error) {
    if (error instanceof Skip) return false
    throw error
  }
}

/** A source whose whole lists begin where the API lets them. */
export const wholeLists = (source: Source, beginning: Beginning): Source =>
  aroundSource(source, {
    list: (request, send, own) => {
      const { flow: _, ...plain } = request
      if (request.updatedAfter === unfiltered || !isWholeFrom(request.updatedAfter)) return send(request)
      const one = { ...plain, perPage: 1, attempts: 1 }
      return beginning.ask(
        (updatedAfter) => send({ ...request, updatedAfter }),
        // Any other page may be refused because it is behind the end.
        request.page === 1 ? (updatedAfter) => own.list({ ...one, updatedAfter }) : undefined,
      )
    },
  })
