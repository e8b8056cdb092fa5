import { Skip } from '../base/errors.js'
import { reconcileSettings } from '../config/reconcilesection.js'
import type { Run } from './tenant.js'

/**
 * A cursor with fewer rows has no deletion guard if each deletion is confirmed by id: requesting all of them costs
 * little.
 */
const smallCursor = 50
/** Fewer deletions than this are believed whatever their share: one record of three is no landslide. */
const least = 5

/** How many rows may be marked deleted at once. */
export const deletionLimit = ({ config }: Pick<Run, 'config'>, acceptDeletes = false) => ({
  acceptDeletes,
  maxDeletes: reconcileSettings(config).maxDeletes,
})

/**
 * Stops a cursor when too many of its rows are about to be marked deleted: an API that fails in an unforeseen way looks
 * just like deleted records. Rows that stay too long were judged less harmful.
 */
export class DeletionGuard {
  #marked = 0

  constructor(
    private readonly limits: {
      /** Live rows of the cursor. */
      readonly live: number
      /** The share of live rows that may be marked deleted. */
      readonly share: number
      /** Deletions are accepted, however many there are. */
      readonly accepted: boolean
    },
  ) {}

  get isSmall(): boolean {
    return this.limits.live < smallCursor
  }

  /** Whether this many more would be too many. */
  trips(more: number): boolean {
    const { live, share, accepted } = this.limits
    const all = this.#marked + more
    return !accepted && all >= least && all > live * share
  }

  /** Counts this many more; throws Skip if they are too many. */
  pass(more: number): void {
    if (this.trips(more)) this.refuse(more)
    this.#marked += more
  }

  refuse(more: number): never {
    const { live, share } = this.limits
    const all = this.#marked + more
    const percent = Math.round((all / Math.max(1, live)) * 100)
    throw new Skip(
      `${all} records of ${live} (${percent}%) are gone at the source; expected at most ${Math.round(share * 100)}%. None of these was marked deleted`,
      {
        reason: 'suspicious',
        code: 'breaker',
        hint: 'If they were really deleted there, type shopsync reconcile --accept-deletes for this tenant and resource (--tenant, --resource), or raise reconcile.maxDeletes',
      },
    )
  }
}
