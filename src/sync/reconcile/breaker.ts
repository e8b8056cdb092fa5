import { Skip } from '../../errors.js'

/** Below this many a share means nothing: one of three records is no landslide. */
const least = 5

/** Stops a cursor of which too much is about to be marked deleted: an API that has gone astray looks just so. */
export class Breaker {
  readonly #live: number
  readonly #share: number
  readonly #accepted: boolean
  #marked = 0

  constructor(parts: { readonly live: number; readonly share: number; readonly accepted: boolean }) {
    this.#live = parts.live
    this.#share = parts.share
    this.#accepted = parts.accepted
  }

  /** Whether so many more would be too many. */
  trips(more: number): boolean {
    const all = this.#marked + more
    return !this.#accepted && all >= least && all > this.#live * this.#share
  }

  /** Throws Skip when so many more would be too many. */
  pass(more: number): void {
    if (this.trips(more)) this.refuse(more)
    this.#marked += more
  }

  refuse(more: number): never {
    const all = this.#marked + more
    const percent = Math.round((all / Math.max(1, this.#live)) * 100)
    throw new Skip(
      `${all} records of ${this.#live} (${percent} %) are gone at the source; expected at most ${Math.round(this.#share * 100)} %. None of these was marked deleted`,
      {
        reason: 'suspicious',
        hint: 'If they were really deleted there, type shopsync reconcile --accept-deletes for this tenant and resource (--tenant, --resource), or raise reconcile.maxDeletes',
      },
    )
  }
}
