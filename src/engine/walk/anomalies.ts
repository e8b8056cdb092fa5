/**
 * What can be odd about a list, and what a walk finds of it. Walk (walk.ts) finds it, memory.ts keeps it from walk to
 * walk, and features/reconcile compares with it in mind.
 */

/**
 * Records that no answer shows, because each page with them fails: somewhere in a range of time, so many. `after` and
 * `until` are the times of the records around them.
 */
export interface Hole {
  readonly after: string
  readonly until: string
  readonly records: number
  /** The list was not read from here on because of the hole; it is when the hole closes. */
  readonly from?: string
}

/** What a walk found out about its list. */
export interface Finding {
  /** Records that the source counts and never shows. */
  readonly hidden: number
  /** Places at which the list shows a record that it shows at another place too. */
  readonly twice: number
  /** The list is not newest first. */
  readonly isUnordered: boolean
  /** The list has no total, or one that is not true. */
  readonly isUncounted: boolean
  /** The total is another one from answer to answer, while the list stands still. */
  readonly isUnsteady: boolean
  readonly holes: readonly Hole[]
  /** Records of a page, where the source serves fewer than are asked for; null: it serves more than was remembered. */
  readonly size?: number | null
}

export const nothingFound: Finding = {
  hidden: 0,
  twice: 0,
  isUnordered: false,
  isUncounted: false,
  isUnsteady: false,
  holes: [],
}

/** What the first character of a text in the place of an id says of the record: see ObservedRecord. */
const marks = { '!': 'unstorable', '+': 'repeated', '~': 'unreadable' } as const

export type Anomaly = (typeof marks)[keyof typeof marks]

/** How many records, or places, of each kind a comparison has met that can never be rows. */
export type AnomalyCounts = Readonly<Record<Anomaly | 'hidden', number>>

export const noAnomalies: AnomalyCounts = { unstorable: 0, repeated: 0, unreadable: 0, hidden: 0 }

export const anomalyOf = (id: string): Anomaly => marks[id[0] as keyof typeof marks] ?? 'unstorable'

/** Counts the texts among ids. */
export function countAnomalies(ids: Iterable<number | bigint | string>): AnomalyCounts {
  const counts = { ...noAnomalies }
  for (const id of ids) if (typeof id === 'string') counts[anomalyOf(id)]++
  return counts
}

export const addAnomalies = (a: AnomalyCounts, b: AnomalyCounts): AnomalyCounts => ({
  unstorable: a.unstorable + b.unstorable,
  repeated: a.repeated + b.repeated,
  unreadable: a.unreadable + b.unreadable,
  hidden: a.hidden + b.hidden,
})

export const sumAnomalies = ({ unstorable, repeated, unreadable, hidden }: AnomalyCounts): number =>
  unstorable + repeated + unreadable + hidden
