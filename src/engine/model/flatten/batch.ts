import type { NumberForm } from '../../base/numbertoken.js'

/** A value as a dialect takes it: converted to its kind; timestamps are canonical text, json is JSON text. */
export type Value = string | number | bigint | boolean | null
/** One row without the columns that all rows of a batch share; the order is that of `tupleColumns`. */
export type Tuple = Value[]

/** A value, item or record that could not be stored as it came. */
export interface QuarantineEntry {
  /** Id of the record as text; an empty string when it has none. */
  readonly recordId: string
  /** Where in the record, such as `services[2].parts[0].cost_cents`; empty for the record itself. */
  readonly path: string
  /** The value as JSON text, at most some kilobytes. */
  readonly value: string
  readonly reason: string
}

/** A field or value that the API sends and its document does not show. */
export interface DriftEntry {
  readonly resource: string
  /** Path without array positions, such as `services[].parts[].warranty`. */
  readonly path: string
  readonly kind: 'unknown_field' | 'unknown_value' | 'replaced_character'
  /** The unknown enumeration value; empty for the other kinds. */
  readonly detail: string
  /** A shortened example, as JSON text. */
  readonly example: string
}

/** One flattened record: its id and its version. */
export interface FlatRecord {
  readonly id: number | bigint
  /** Canonical timestamp. */
  readonly updatedAt: string
  /** Canonical timestamp, or null. */
  readonly createdAt: string | null
}

/** A flattened page. The tables stand in the order of the resource's tables, embedded records last. */
export interface Flattened {
  readonly records: FlatRecord[]
  /** By table name. Child tuples hold the id of their root row. */
  readonly rows: Map<string, Tuple[]>
  readonly quarantine: QuarantineEntry[]
  /** Records that could not be stored at all: no usable id or updated_at. */
  readonly unstorable: number
  readonly drift: DriftEntry[]
}

/** How the numbers of a page are read, where the plain values of its records do not say all. */
export interface PageNumbers {
  /** How the warehouse holds numbers; without it, as doubles. */
  readonly form: NumberForm
  /** Whether some number was sent in another form than JavaScript prints it in, such as `1.10`, and is not exact here. */
  isOdd(): boolean
  /** The records with a NumberToken for each such number. */
  tokens(): readonly unknown[]
}

/**
 * Flattens one page. `careful`: as `Answer.careful` in src/engine/source/source.ts. The first `records.length` tuples of the root
 * table are those of `records`, in order. To flatten several pages as one batch, hand over their records as one list,
 * newest first.
 */
export type Flatten = (records: readonly unknown[], careful: boolean, numbers?: PageNumbers) => Flattened
