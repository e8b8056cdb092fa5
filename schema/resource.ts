/**
 * The vocabulary for declaring every resource of the API, each once. This file imports nothing and does nothing:
 * src/engine/model derives tables, keys, indexes, flattening, the data dictionary and drift detection from the
 * declarations in this folder; the row types at the end of this file are computed from them.
 *
 * Glossary: the words that tables, log keys, command-line words and types share.
 *
 * - resource:  a kind of thing that the API lists, such as `repair_orders`.
 * - record:    one thing in the API's shape: nested JSON.
 * - row:       one line of a warehouse table: flat. One record becomes one root row and any number of children.
 * - page:      the records of one response to a list request.
 * - cursor:    one resource of one tenant; the unit in which work is done, counted and judged.
 * - watermark: of a cursor: every record whose `updated_at` is at or before it is in the warehouse.
 * - walk:      reading a cursor's list from the newest record to the floor (docs/dev/architecture.md, Why a walk can be complete).
 * - floor:     of a walk: records at or before it are not requested (watermark minus overlap).
 * - ceiling:   of a walk: the newest `updated_at` of its first response; the next watermark.
 * - boundary:  of a walk: how far down it has got; everything between ceiling and boundary is stored.
 * - run:       one execution of a command; rows of the state tables refer to its id.
 * - tombstone: a row with `_deleted_at` set: the record no longer exists at the source.
 * - drift:     what the API sends but its documentation doesn't show: unknown fields, unknown enumeration values.
 * - verdict:   what a walk can claim about its completeness: `proven`, `repaired`, `listed` or `unproven`.
 */

/** The meaning of a value; each warehouse dialect has one column type for each kind (docs/dev/api.md, Values and types). */
export type Kind = (typeof kinds)[number] | 'day'
/** The kinds of the API's values, which a configuration may use. Days only occur in derived tables. */
export const kinds = ['id', 'integer', 'cents', 'number', 'boolean', 'text', 'timestamp', 'json'] as const

/** A 64-bit integer, exact: a number if it is safe (|n| < 2^53), otherwise a bigint. */
export type Int64 = number | bigint

/** The type of a kind's values in a row. Timestamps are canonical text, `YYYY-MM-DDTHH:MM:SS.ffffffZ`; days `YYYY-MM-DD`. */
export interface KindValue {
  id: Int64
  integer: Int64
  cents: Int64
  number: number
  boolean: boolean
  text: string
  timestamp: string
  json: unknown
  day: string
}

/** Whose data a value is, or a text in which anybody may be named. `preset`: what the preset of `privacy` does with it. */
export interface Personal {
  readonly who: 'customer' | 'staff' | 'card' | 'text'
  readonly preset: 'hash' | 'drop' | 'keep'
  /** What the preset did in earlier versions: so it stays in their warehouses, until `migrate --loosen-privacy`. */
  readonly before?: 'hash' | 'drop' | undefined
  /** Equal values of one domain have equal pseudonyms, so that they can be joined. Default: the column alone. */
  readonly domain?: string
}

/** One value of a record, and one column of its table. */
export interface Field<K extends Kind = Kind> {
  readonly type: 'field'
  readonly kind: K
  readonly doc: string
  /**
   * The API documentation says that the value may be null. Every column outside the key may still be null: a value that
   * can't be stored goes to quarantine and leaves null behind.
   */
  readonly nullable: boolean
  /** The documented values of an enumeration; others are stored as they come and reported as drift. */
  readonly values?: readonly string[]
  /**
   * The table that the id refers to. Between tables that may say something about a person, it leads `forget` from record
   * to record, both ways.
   */
  readonly references?: string
  readonly indexed?: boolean
  /** An instant whose day in the shop's zone a view shows: an index has its UTC day. */
  readonly dated?: boolean
  readonly personal?: Personal | undefined
  /** For an id of records of several resources: the field with the entity whose record it is. */
  readonly typedBy?: string
}

/** A nested object: flattened into its owner's columns, joined by `_`. */
export interface Nested<F extends Shape = Shape> {
  readonly type: 'object'
  readonly doc: string
  readonly nullable: boolean
  readonly fields: F
}

/**
 * A nested array of objects (`many`), or a nested object with its own table (`one`): a child table named
 * `<singular of the resource>_<table>`. `key: 'id'`: items have ids; `'position'`: only their position identifies them.
 */
export interface Children<T extends string = string, F extends Shape = Shape, O extends string = string> {
  readonly type: 'many' | 'one'
  readonly table: T
  readonly key: 'id' | 'position'
  readonly doc: string
  readonly fields: F
  /** The column by which the children of an item refer to the item, such as `service_id`. */
  readonly ownerColumn?: O
  /**
   * The resource whose records the items show. Their ids are kept if the API sends them, which its documentation doesn't
   * show: a column `id` of their own table.
   */
  readonly itemsOf?: string
  /** Items move from record to record and keep their id: until the record that lost one is read again, both show it. */
  readonly moves?: boolean
}

/** A nested array of plain values: a child table with one column for the value. */
export interface Scalars<
  T extends string = string,
  C extends string = string,
  K extends Kind = Kind,
  I extends 'value' | 'position' = 'value' | 'position',
> {
  readonly type: 'scalars'
  readonly table: T
  readonly column: C
  /** `'value'`: the value itself identifies a row (a set); `'position'`: its position in the array does. */
  readonly key: I
  readonly doc: string
  readonly of: Field<K>
}

export type Member = Field | Nested | Children | Scalars
export interface Shape {
  readonly [name: string]: Member
}

/** Columns of nested tables, by array, computed by the rule of the derived table `by` (schema/derive.ts). */
interface Computed {
  readonly by: string
  readonly columns: Readonly<Record<string, Readonly<Record<string, Field>>>>
}

/** One resource of the API, as declared in a file of this folder. */
export interface Resource<N extends string = string, S extends string = string, F extends Shape = Shape> {
  /** The resource's name: its path segment, its table, its word on the command line. */
  readonly name: N
  /** Prefix of the child tables' names, and of the column in which their rows refer to a record (`<singular>_id`). */
  readonly singular: S
  readonly doc: string
  /** The section of the API's own document that shows the resource. */
  readonly source: string
  /** false: the document refers to the resource but doesn't show its path; a 404 then means "not offered". */
  readonly documented: boolean
  /** `tenant`: `tenants/:tenant_id/<path>`; `partner`: `partners/:partner_id/<path>`. */
  readonly scope: 'tenant' | 'partner'
  /** Path after the scope, if it differs from the name. */
  readonly path?: string
  /** `records`: list envelope of records; `strings`: a plain array of strings, without ids or times. */
  readonly list: 'records' | 'strings'
  /** Type in webhook payloads and in IntegratorTag.taggable_type, such as `RepairOrder`. */
  readonly entity: string
  /** What one row of the table represents; shown in the data dictionary. */
  readonly grain: string
  /** Its records also occur inside records of other resources, in an array of this name: they become rows of its table. */
  readonly embeddedAs?: string
  /** The document names webhook events for the resource: when a record is created, updated or deleted. */
  readonly announced?: boolean
  /** Resources whose events make this one's lists due, since it has no events of its own (docs/webhooks.md). */
  readonly rungBy?: readonly string[]
  /** Whether replaced and deleted versions are kept. Set by the configuration, never by a declaration. */
  readonly history?: boolean
  /** The fields that make its records' names (schema/naming.ts). Set by the configuration, never by a declaration. */
  readonly names?: readonly string[]
  /** Columns of its own table that `privacy` hides: no name is made of them. Set by the configuration. */
  readonly hidden?: readonly string[]
  /** Columns of its own table that the configuration once added, with their kinds. No record fills them any more. */
  readonly left?: Readonly<Record<string, Kind>>
  readonly computed?: Computed
  /** What fields may hold that the document doesn't show: `_extra`, and columns that the configuration makes of it. */
  readonly undeclared?: Personal
  /** Those of these fields that tell nobody whose record it is. */
  readonly impersonal?: readonly string[]
  /** Its records are persons, who can be forgotten one by one. */
  readonly forgettable?: true
  /** Several persons may have one of its records; it's forgotten only with the last of them. */
  readonly shared?: true
  readonly fields: F
}

type FieldOptions = Pick<Field, 'indexed' | 'dated'>

export const field = <K extends Kind>(kind: K, doc: string, more: Partial<Field<K>> = {}): Field<K> => ({
  type: 'field',
  kind,
  doc,
  nullable: false,
  ...more,
})

export const id = (doc: string): Field<'id'> => field('id', doc)
export const integer = (doc: string): Field<'integer'> => field('integer', doc)
export const cents = (doc: string): Field<'cents'> => field('cents', doc)
export const number = (doc: string): Field<'number'> => field('number', doc)
export const boolean = (doc: string): Field<'boolean'> => field('boolean', doc)
export const text = (doc: string): Field<'text'> => field('text', doc)
export const timestamp = (doc: string, options: FieldOptions = {}): Field<'timestamp'> =>
  field('timestamp', doc, options)
export const json = (doc: string): Field<'json'> => field('json', doc)
/** The id of a row of another table. */
export const ref = (references: string, doc: string, options: FieldOptions = {}): Field<'id'> =>
  field('id', doc, { references, ...options })
/** A text with documented values. Other values are still stored, and reported as drift. */
export const oneOf = (values: readonly string[], doc: string): Field<'text'> => field('text', doc, { values })

/** The fields of an array's items, documented or not. */
export const itemFields = ({ fields, itemsOf }: Pick<Children, 'fields' | 'itemsOf'>): Shape => {
  if (itemsOf === undefined) return fields
  const doc = "Id of the record, if the API sends it. Its documentation doesn't show it."
  return { ...fields, id: field('id', doc, { nullable: true, references: itemsOf, indexed: true }) }
}

/** Marks a field that says something about a person. No other file names such a field. */
export const personal = <F extends Field>(
  who: Personal['who'],
  preset: Personal['preset'],
  of: F,
  domain?: string,
): F => ({
  ...of,
  personal: { who, preset, ...(domain !== undefined && { domain }) },
})

/**
 * Whether a field is left out where personal columns are: copies, the dictionary's mark and the views go by that. What
 * the preset keeps, everybody sees.
 */
export const isWithheld = (mark: Personal | undefined): boolean =>
  mark !== undefined && mark.preset !== 'keep'

/** A wrapper: TypeScript would widen an option to `boolean`, and every column would silently become nullable. */
export const nullable = <M extends Field | Nested>(member: M): M => ({ ...member, nullable: true })

export const object = <F extends Shape>(fields: F, doc: string): Nested<F> => ({
  type: 'object',
  doc,
  nullable: false,
  fields,
})

type ChildOptions<T extends string, F extends Shape, O extends string> = Omit<
  Children<T, F, O>,
  'type' | 'doc'
>

export const many = <const T extends string, F extends Shape, const O extends string = never>(
  options: ChildOptions<T, F, O>,
  doc: string,
): Children<T, F, O> => ({ type: 'many', doc, ...options })

export const one = <const T extends string, F extends Shape, const O extends string = never>(
  options: ChildOptions<T, F, O>,
  doc: string,
): Children<T, F, O> => ({ type: 'one', doc, ...options })

export const scalars = <
  const T extends string,
  const C extends string,
  K extends Kind,
  const I extends 'value' | 'position',
>(
  options: Omit<Scalars<T, C, K, I>, 'type' | 'doc'>,
  doc: string,
): Scalars<T, C, K, I> => ({ type: 'scalars', doc, ...options })

/** The fields that every record has, unless its declaration differs (docs/dev/api.md, Resources). */
export const stamps = {
  created_at: timestamp('When the record was created.'),
  updated_at: timestamp('When the record was last changed; the version of the record.'),
} as const

/** The same, for records that a view shows by the day they were created. */
export const datedStamps = { ...stamps, created_at: { ...stamps.created_at, dated: true } } as const

type Declared<N extends string, S extends string, F extends Shape> = Pick<
  Resource<N, S, F>,
  'name' | 'singular' | 'doc' | 'source' | 'entity' | 'grain' | 'fields'
> &
  Partial<Omit<Resource<N, S, F>, 'history' | 'names' | 'hidden'>>

export const defineResource = <const N extends string, const S extends string, F extends Shape>(
  declared: Declared<N, S, F>,
): Resource<N, S, F> => ({ documented: true, scope: 'tenant', list: 'records', ...declared })

/* Row types, computed from the declarations: they tell Kysely the tables. */

type Flat<F extends Shape, P extends string = ''> = {
  [K in keyof F & string as F[K] extends Field ? `${P}${K}` : never]: F[K] extends Field<infer V>
    ? KindValue[V] | null
    : never
}
type NestedKeys<F extends Shape> = { [K in keyof F & string]: F[K] extends Nested ? K : never }[keyof F &
  string]
type UnionToIntersection<U> = (U extends unknown ? (u: U) => void : never) extends (i: infer I) => void
  ? I
  : never
type FlatNested<F extends Shape> = [NestedKeys<F>] extends [never]
  ? unknown
  : UnionToIntersection<
      { [K in NestedKeys<F>]: F[K] extends Nested<infer G> ? Flat<G, `${K}_`> : never }[NestedKeys<F>]
    >
type Own<F extends Shape, Keys extends string> = Omit<Flat<F> & FlatNested<F>, Keys> & {
  [K in keyof F & Keys]: F[K] extends Field<infer V> ? KindValue[V] : never
}
type Merge<T> = { [K in keyof T]: T[K] }
/** Columns that every row must have; the rows of a list of strings have names instead of ids and versions. */
type RootKeys<F extends Shape> = F extends { id: Field } ? 'id' | 'updated_at' : 'name'

/** The row of a resource's own table. */
type RootRow<F extends Shape> = Merge<
  { tenant_id: Int64 } & Own<F, RootKeys<F>> & {
      _synced_at: string
      _deleted_at: string | null
      _unlisted_at: string | null
      _extra: unknown
    }
>

type Ids<Names extends string> = { [X in Names]: Int64 }
type ChildRow<F extends Shape, Owners extends string> = Merge<
  { tenant_id: Int64 } & Ids<Owners> & { position: number } & Own<F, 'id'> & { _synced_at: string }
>
type ScalarRow<C extends string, K extends Kind, I, Owners extends string> = Merge<
  { tenant_id: Int64 } & Ids<Owners> & { position: number } & {
      [X in C]: KindValue[K] | (I extends 'value' ? never : null)
    } & { _synced_at: string }
>
/** A member that isn't a child gives `never`: `unknown` would swallow the tables of the others. */
type ChildrenOf<S extends string, F extends Shape, Owners extends string = `${S}_id`> = UnionToIntersection<
  {
    [K in keyof F & string]: F[K] extends Children<infer T, infer G, infer O>
      ? { [X in `${S}_${T}`]: ChildRow<G, Owners> } & ChildrenOf<S, G, Owners | O>
      : F[K] extends Scalars<infer T, infer C, infer V, infer I>
        ? { [X in `${S}_${T}`]: ScalarRow<C, V, I, Owners> }
        : never
  }[keyof F & string]
>

/** The tables of one resource: its own, and one for each nested array. */
export type TablesOf<R> =
  R extends Resource<infer N, infer S, infer F> ? Merge<{ [K in N]: RootRow<F> } & ChildrenOf<S, F>> : never
