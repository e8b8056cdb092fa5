/**
 * Anomalies of a list, and what a walk finds out about them. walk.ts finds them, memory.ts keeps them from walk to
 * walk, and features/reconcile takes them into account.
 */

/**
 * A number of records in a time range that no response shows, because every page with them fails. `after` and `until`
 * are the times of the records around them.
 */
export interface Hole {
  readonly after: string
  readonly until: string
  readonly records: number
  /** The list was not read from here on because of the hole. It will be when the hole closes. */
  readonly from?: string | undefined
}

/** What a walk found out about its list. */
export interface Finding {
  /** Records that the source counts but never shows. */
  readonly hidden: number
  /** Places where the list shows a record that it also shows elsewhere. */
  readonly twice: number
  /** The list isn't newest first. */
  readonly isUnordered: boolean
  /** The list has no total, or a wrong one. */
  readonly isUncounted: boolean
  /** The total changes from response to response while the list doesn't change. */
  readonly isUnsteady: boolean
  readonly holes: readonly Hole[]
  /** Records per page if the source serves fewer than requested. null: it serves more than was remembered. */
  readonly size?: number | null | undefined
}

export const nothingFound: Finding = {
  hidden: 0,
  twice: 0,
  isUnordered: false,
  isUncounted: false,
  isUnsteady: false,
  holes: [],
}

/** What the first character of a text in place of an id means: see ObservedRecord. */
const marks = { '!': 'unstorable', '+': 'repeated', '~': 'unreadable' } as const

type Anomaly = (typeof marks)[keyof typeof marks]

/** How many records, or places, of each kind can never be rows. */
export type AnomalyCounts = Readonly<Record<Anomaly | 'hidden', number>>

export const noAnomalies: AnomalyCounts = { unstorable: 0, repeated: 0, unreadable: 0, hidden: 0 }

export const anomalyOf = (id: string): Anomaly => marks[id[0] as keyof typeof marks] ?? 'unstorable'

/** Counts the texts among the ids. */
export function countAnomalies(ids: Iterable<number | bigint | string>): AnomalyCounts {
  const counts = { ...noAnomalies }
  for (const id of ids) if (typeof id === 'string') counts[anomalyOf(id)]++
  return counts
}

export const sumAnomalies = ({ unstorable, repeated, unreadable, hidden }: AnomalyCounts): number =>
  unstorable + repeated + unreadable + hidden
