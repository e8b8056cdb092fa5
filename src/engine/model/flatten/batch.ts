import type { Int64 } from '../../../../schema/resource.js'
import type { NumberForm } from '../../base/numbertoken.js'

/**
 * A value in the form that a dialect takes: converted to its kind. Timestamps are canonical text, json is JSON text.
 */
export type Value = string | number | bigint | boolean | null
/** One row without the columns that all rows of a batch share, in the order of `tupleColumns`. */
export type Tuple = Value[]

/** A value, item or record that couldn't be stored as it came. */
export interface QuarantineEntry {
  /** Id of the record as text. Empty if it has none. */
  readonly recordId: string
  /** Where in the record, such as `services[2].parts[0].cost_cents`. Empty for the record itself. */
  readonly path: string
  /** The value as JSON text, at most a few kilobytes; null if `privacy` hides it. */
  readonly value: string | null
  readonly reason: string
}

/** A field or value that the API sends and its documentation doesn't have. */
export interface DriftEntry {
  readonly resource: string
  /** Path without array positions, such as `services[].parts[].warranty`. */
  readonly path: string
  readonly kind: 'unknown_field' | 'unknown_value' | 'replaced_character'
  /** The unknown enumeration value. Empty for the other kinds. */
  readonly detail: string
  /** A shortened example, as JSON text; null if `privacy` hides it. */
  readonly example: string | null
}

/**
 * A flattened page. `rows`: tuples by table name, in the order of the resource's tables, embedded records last; child
 * tuples contain the id of their root row. An encoded page has them in its dialect's own form.
 */
export interface FlatPage<Rows = Map<string, Tuple[]>> {
  /** The id and the version of each record. */
  readonly records: {
    readonly id: number | bigint
    /** Canonical timestamp. */
    readonly updatedAt: string
    /** Canonical timestamp, or null. */
    readonly createdAt: string | null
  }[]
  readonly rows: Rows
  readonly quarantine: QuarantineEntry[]
  /** Records that couldn't be stored at all: no usable id or updated_at. */
  readonly unstorable: number
  readonly drift: DriftEntry[]
  /** Which records it knew to be forgotten. Absent while nobody is. */
  readonly forgotten?: PageForgotten
}

/**
 * Flattens one page. `numbers`: how to read the numbers of a page if the plain values of its records aren't enough. `careful`: like `Reply.careful` in src/engine/source/source.ts. The first `records.length` tuples
 * of the root table are those of `records`, in order. To flatten several pages as one batch, pass their records as one
 * list, newest first.
 */
export type Flatten = (
  records: readonly unknown[],
  careful: boolean,
  numbers?: {
    /** How the warehouse holds numbers; default: as doubles. */
    readonly form: NumberForm
    /**
     * Whether some number was sent in a form that JavaScript wouldn't print, such as `1.10`, so its value here isn't
     * exact.
     */
    isOdd(): boolean
    /** The records, with a NumberToken for each such number. */
    tokens(): readonly unknown[]
  },
) => FlatPage

/** What the commit of a page has to do with the sets, and how to prepare it again. */
export interface PageForgotten {
  readonly generation: Int64
  /** Records that are forgotten with one that is, and whose references aren't followed yet. */
  readonly entering: readonly Int64[]
  /** Records of others that refer to a forgotten one, or were taken for one: what is forgotten has to be judged again. */
  readonly sharing: readonly Int64[]
  /** Forgotten records that the source gives to another person by now, and stay forgotten; persons who may be others by now. */
  readonly reassigned: readonly Int64[]
  /** Prepares the page with the sets as they are then. Absent if it can't differ. */
  readonly again?: () => FlatPage
}
