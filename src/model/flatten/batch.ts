/** A value as a dialect takes it: kinds are already applied, timestamps are canonical text, json is JSON text. */
export type Value = string | number | bigint | boolean | null
/** One row without the columns that its batch shares; order as in `tupleColumns`. */
export type Tuple = Value[]

/** A value, item or record that could not be stored as it came (contract: warehouse tables, last paragraph). */
export interface QuarantineEntry {
  /** Id of the record as text; an empty string when it has none. */
  readonly recordId: string
  /** Where in the record, such as `services[2].parts[0].cost_cents`; empty for the record itself. */
  readonly path: string
  /** The value as JSON text, at most some kilobytes. */
  readonly value: string
  readonly reason: string
}

/** Something that the API sends and its document does not show. */
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

/** One flattened record: its version, and where its rows lie in the batch. */
export interface FlatRecord {
  readonly id: number | bigint
  /** Canonical timestamp. */
  readonly updatedAt: string
  /** Canonical timestamp, or null. */
  readonly createdAt: string | null
}

/** What flatten makes of one page: tuples a table, in the order of the resource's tables, tags last. */
export interface Flattened {
  readonly records: FlatRecord[]
  /** By table name. Child tuples hold their root's id, by which apply knows whose they are. */
  readonly rows: Map<string, Tuple[]>
  readonly quarantine: QuarantineEntry[]
  /** Records that could not be stored at all: no usable id or updated_at. */
  readonly unstorable: number
  readonly drift: DriftEntry[]
}
