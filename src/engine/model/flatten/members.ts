/**
 * Reads the members of one declared object into a tuple, with one closure per declared member. A closure takes values
 * that are exactly as declared and passes everything else to the slow path. Used by readers.ts, which puts the objects
 * of a record together.
 */
import type { Field, Kind } from '../../../../schema/resource.js'
import { canonical } from '../../base/timestamp.js'
import type { Tuple, Value } from './batch.js'
import { UnknownMember } from './extra.js'
import type { DeclaredValue, SlowPath } from './slowpath.js'

/** What the records of one page are read into. */
export interface PageTarget {
  readonly sink: SlowPath
  /** Tuples by table, in the order of the resource's tables. */
  readonly tables: readonly Tuple[][]
  /** Whether each item is compared with the record's earlier rows. */
  readonly strict: boolean
  /** Whether a text can be stored unchanged, because the body contained nothing that needs care. */
  readonly plain: boolean
}

/** Takes the value of one member, which is neither null nor absent. */
export type Read = (value: unknown, target: PageTarget, tuple: Tuple, owners: readonly Value[]) => void
export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const readInteger =
  (at: number, site: DeclaredValue): Read =>
  (value, { sink }, tuple) => {
    tuple[at] = typeof value === 'number' && Number.isSafeInteger(value) ? value + 0 : sink.value(value, site)
  }

const readText =
  (at: number, site: DeclaredValue): Read =>
  (value, target, tuple) => {
    tuple[at] = typeof value === 'string' && target.plain ? value : target.sink.value(value, site)
  }

const readAny =
  (at: number, site: DeclaredValue): Read =>
  (value, { sink }, tuple) => {
    tuple[at] = sink.value(value, site)
  }

/** By kind. Adding 0 turns -0 into 0, which the warehouses don't tell apart. */
const readers: Readonly<Record<Kind, (at: number, site: DeclaredValue) => Read>> = {
  id: readInteger,
  integer: readInteger,
  cents: readInteger,
  number:
    (at, site) =>
    (value, { sink }, tuple) => {
      tuple[at] = typeof value === 'number' && value - value === 0 ? value + 0 : sink.value(value, site)
    },
  boolean:
    (at, site) =>
    (value, { sink }, tuple) => {
      tuple[at] = typeof value === 'boolean' ? value : sink.value(value, site)
    },
  text: readText,
  timestamp:
    (at, site) =>
    (value, { sink }, tuple) => {
      tuple[at] = (typeof value === 'string' ? canonical(value) : null) ?? sink.value(value, site)
    },
  json: readAny,
  day: readAny,
}

export function fieldReader({ kind, values }: Field, path: string, at: number): Read {
  const site: DeclaredValue = { kind, path, values: values ? new Set(values) : null }
  const known = site.values
  if (known === null) return readers[kind](at, site)
  return (value, { sink }, tuple) => {
    tuple[at] = typeof value === 'string' && known.has(value) ? value : sink.value(value, site)
  }
}

/** Keys are read before all other members. */
export const readAlready: Read = () => {}

export class MemberReader {
  /** The member that followed this one in the last object. */
  next: MemberReader = this

  constructor(
    readonly name: string,
    readonly read: Read,
    readonly unknown: UnknownMember | null = null,
  ) {}
}

/** The most unknown members that the reader of an object learns, and the longest names: they stay in memory. */
const mostLearned = 500
const longestLearned = 200

/** Reads the members of an object in the order in which they were sent, which hardly ever changes. */
export class ObjectReader {
  readonly #first = new MemberReader('', readAlready)
  readonly #members: Map<string, MemberReader>
  readonly #most: number

  constructor(
    private readonly path: string,
    members: readonly MemberReader[],
  ) {
    this.#members = new Map(members.map((member) => [member.name, member]))
    this.#most = members.length + mostLearned
    let before = this.#first
    for (const member of members) {
      before.next = member
      before = member
    }
  }

  read(
    object: Readonly<Record<string, unknown>>,
    target: PageTarget,
    tuple: Tuple,
    owners: readonly Value[],
  ): void {
    let before = this.#first
    let unknown: UnknownMember[] | undefined
    for (const name in object) {
      const value = object[name]
      let member = before.next
      if (member.name !== name) {
        member = this.#members.get(name) ?? this.#learn(name)
        before.next = member
      }
      before = member
      if (member.unknown !== null) {
        unknown ??= []
        unknown.push(member.unknown)
      } else if (value !== null && value !== undefined) member.read(value, target, tuple, owners)
    }
    if (unknown !== undefined) target.sink.unknown(object, unknown, this.path)
  }

  #learn(name: string): MemberReader {
    const member = new MemberReader(name, readAlready, new UnknownMember(name))
    if (this.#members.size < this.#most && name.length <= longestLearned) this.#members.set(name, member)
    return member
  }
}
