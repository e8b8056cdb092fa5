/**
 * Writes the source of one resource's flatten: straight-line code per declared object, one inlined test per value.
 * It takes what is plainly as declared; all else goes to the sink. Closures per column are half as fast, a path
 * interpreter a quarter.
 */
import type { Children, Field, Nested, Resource, Scalars, Shape } from '../../../schema/resource.js'
import { Bug } from '../../errors.js'
import type { Table } from '../tables.js'
import { tablesOf, tupleColumns } from '../tables.js'
import type { DeclaredObject, DeclaredValue } from './slowpath.js'
import type { Scope } from './source.js'
import { below, declare, functionScope, member, objectTest, plainTests, quoted } from './source.js'

export interface Generated {
  readonly source: string
  readonly sites: readonly DeclaredValue[]
  readonly places: readonly DeclaredObject[]
  readonly enums: readonly ReadonlySet<string>[]
}

class Generator {
  readonly sites: DeclaredValue[] = []
  readonly places: DeclaredObject[] = []
  readonly enums: ReadonlySet<string>[] = []
  readonly functions: string[] = []
  readonly #tables: readonly Table[]
  readonly #singular: string

  constructor(
    resource: Resource,
    private readonly embeddedAs: string | undefined,
  ) {
    this.#tables = tablesOf(resource)
    this.#singular = resource.singular
  }

  #variable(scope: Scope): string {
    const name = `a${scope.variables.length}`
    scope.variables.push(name)
    return name
  }

  #site(path: string, field: Field): string {
    const values = field.values ? new Set(field.values) : null
    return `sites[${this.sites.push({ kind: field.kind, path, values }) - 1}]`
  }

  #table(suffix: string): number {
    const index = this.#tables.findIndex((table) => table.name === `${this.#singular}_${suffix}`)
    if (index < 1) throw new Bug(`No table ${this.#singular}_${suffix}`)
    return index
  }

  /** An expression for the value in `v`. */
  #expression(path: string, field: Field, absent: string): string {
    const site = this.#site(path, field)
    const rest = `v === null ? null : v === undefined ? ${absent} : s.value(v, ${site})`
    if (field.values) {
      const known = this.enums.push(new Set(field.values)) - 1
      return `typeof v === 'string' && e${known}.has(v) ? v : ${rest}`
    }
    const plain = plainTests[field.kind]
    return plain === null ? rest : `${plain.test} ? ${plain.value} : ${rest}`
  }

  #field(scope: Scope, name: string, field: Field): void {
    const variable = this.#variable(scope)
    const value = this.#expression(below(scope.path, name), field, `(${scope.missing}++, null)`)
    scope.lines.push(`v = ${member(scope.object, name)}`, `${variable} = ${value}`)
    scope.values.push(variable)
  }

  #nested(scope: Scope, name: string, nested: Nested): void {
    const [object, missing] = [this.#variable(scope), this.#variable(scope)]
    const path = below(scope.path, name)
    const inner: Scope = { ...scope, object, missing, path, lines: [] }
    this.#members(inner, nested.fields)
    const check = this.#keyCount(inner, Object.keys(nested.fields))
    scope.lines.push(
      `v = ${member(scope.object, name)}`,
      `if (${objectTest('v')}) {`,
      `${object} = v; ${missing} = 0`,
      ...inner.lines,
      check,
      `} else if (v === undefined) ${scope.missing}++`,
      `else if (v !== null) s.quarantine(${quoted(path)}, v, 'not an object')`,
    )
  }

  /** Present members must be declared ones: counted, since looking each one up would cost more than reading it. */
  #keyCount(scope: Scope, names: readonly string[]): string {
    const place = this.places.push({ path: scope.path, known: new Set(names) }) - 1
    const o = scope.object
    return `n = 0; for (const k in ${o}) n++; if (n + ${scope.missing} !== ${names.length}) s.unknown(${o}, places[${place}])`
  }

  #many(scope: Scope, name: string, child: Children, owners: readonly string[]): void {
    const path = below(scope.path, name)
    const items = `${path}[]`
    const call = this.#childFunction(child, items, scope.depth + 1, owners.length)
    const [list, i] = [this.#variable(scope), this.#variable(scope)]
    scope.lines.push(
      `v = ${member(scope.object, name)}`,
      `if (Array.isArray(v)) { ${list} = v`,
      `for (${i} = 0; ${i} < ${list}.length; ${i}++) { s.at[${scope.depth}] = ${i}`,
      `${call}(${list}[${i}], ${i}, ${owners.join(', ')}) }`,
      `} else if (v === undefined) ${scope.missing}++`,
      `else if (v !== null) s.quarantine(${quoted(path)}, v, 'not an array')`,
    )
  }

  #one(scope: Scope, name: string, child: Children, owners: readonly string[]): void {
    const path = below(scope.path, name)
    const call = this.#childFunction(child, path, scope.depth, owners.length)
    scope.lines.push(
      `v = ${member(scope.object, name)}`,
      `if (v === undefined) ${scope.missing}++`,
      `else if (v !== null && !isEmptyObject(v)) ${call}(v, 0, ${owners.join(', ')})`,
    )
  }

  /** The function that makes one row of an item, and the rows of what is inside it. */
  #childFunction(child: Children, path: string, depth: number, owners: number): string {
    const index = this.#table(child.table)
    const name = `f${index}`
    const ids = Array.from({ length: owners }, (_, level) => `id${level}`)
    const scope = functionScope(path, depth)
    if (child.key === 'id') this.#itemId(scope, index)
    this.#members(scope, child.fields, new Set(child.key === 'id' ? ['id'] : []))
    scope.lines.push(`t${index}.push([${[...ids, 'position', ...scope.values].join(', ')}])`)
    this.#childrenOf(scope, child.fields, child.ownerColumn ? [...ids, 'id'] : ids)
    scope.lines.push(this.#keyCount(scope, Object.keys(child.fields)))
    this.functions.push(
      `function ${name}(o, position, ${ids.join(', ')}) {`,
      `if (!(${objectTest('o')})) return s.quarantine(${quoted(path)}, o, 'not an object')`,
      declare(scope),
      ...scope.lines,
      '}',
    )
    return name
  }

  #itemId(scope: Scope, table: number): void {
    const path = quoted(scope.path)
    scope.lines.push(
      'v = o.id',
      `const id = typeof v === 'number' && Number.isSafeInteger(v) ? v + 0 : s.key(v, 'id')`,
      `if (id === null) return s.quarantine(${path}, o, 'an item without a usable id')`,
      `if (strict && s.isDuplicate(${table}, id, o, ${path})) return`,
    )
  }

  #scalars(scope: Scope, name: string, child: Scalars, owners: readonly string[]): void {
    const index = this.#table(child.table)
    const path = below(scope.path, name)
    const [list, i, seen] = [this.#variable(scope), this.#variable(scope), this.#variable(scope)]
    const isSet = child.key === 'value'
    const value = this.#expression(`${path}[]`, child.of, 'null')
    const push = `t${index}.push([${[...owners, i, 'w'].join(', ')}])`
    const once = `if (s.isNew(${seen}, w, v, ${quoted(`${path}[]`)})) ${push}`
    scope.lines.push(
      `v = ${member(scope.object, name)}`,
      `if (Array.isArray(v)) { ${list} = v${isSet ? `; ${seen} = new Set()` : ''}`,
      `for (${i} = 0; ${i} < ${list}.length; ${i}++) { s.at[${scope.depth}] = ${i}; v = ${list}[${i}]`,
      `w = ${value}`,
      isSet ? once : push,
      `} } else if (v === undefined) ${scope.missing}++`,
      `else if (v !== null) s.quarantine(${quoted(path)}, v, 'not an array')`,
    )
  }

  /** The values of an object and of the objects in it; `keys` stand in variables of their own name already. */
  #members(scope: Scope, fields: Shape, keys: ReadonlySet<string> = new Set()): void {
    for (const [name, part] of Object.entries(fields)) {
      if (keys.has(name)) scope.values.push(name)
      else if (part.type === 'field') this.#field(scope, name, part)
      else if (part.type === 'object') this.#nested(scope, name, part)
    }
  }

  #childrenOf(scope: Scope, fields: Shape, owners: readonly string[]): void {
    for (const [name, part] of Object.entries(fields)) {
      if (part.type === 'many') this.#many(scope, name, part, owners)
      else if (part.type === 'one') this.#one(scope, name, part, owners)
      else if (part.type === 'scalars') this.#scalars(scope, name, part, owners)
    }
  }

  #embedded(scope: Scope): readonly string[] {
    if (this.embeddedAs === undefined) return []
    scope.lines.push(
      `v = ${member('o', this.embeddedAs)}`,
      'if (v === undefined) m++',
      `else if (v !== null && !(Array.isArray(v) && v.length === 0)) s.readEmbedded(v, ${quoted(this.embeddedAs)})`,
    )
    return [this.embeddedAs]
  }

  root(fields: Shape): void {
    const scope = functionScope('', 0)
    this.#members(scope, fields, new Set(['id', 'updated_at']))
    this.#childrenOf(scope, fields, ['id'])
    const names = [...Object.keys(fields), ...this.#embedded(scope)]
    scope.lines.push(this.#keyCount(scope, names))
    this.functions.push(
      'function root(o) {',
      `if (!(${objectTest('o')})) return s.badRecord(o, null, 'not an object')`,
      declare(scope),
      `v = o.id; const id = ${plainTests.id?.test} ? v + 0 : s.key(v, 'id')`,
      `if (id === null) return s.badRecord(o, null, 'a record without a usable id')`,
      `v = o.updated_at; const updated_at = ${plainTests.timestamp?.test} ? w : null`,
      `if (updated_at === null) return s.badRecord(o, id, 'a record without a usable updated_at')`,
      's.begin(id)',
      ...scope.lines,
      `return [${scope.values.join(', ')}, s.extra === null ? null : s.takeExtra()]`,
      '}',
    )
  }
}

/** Source of a function of `env` that gives `root` (one record to its root tuple) and `start` (a page begins). */
export function generateSource(resource: Resource, embeddedAs: string | undefined): Generated {
  const generator = new Generator(resource, embeddedAs)
  generator.root(resource.fields)
  const tables = tablesOf(resource)
  const children = tables.flatMap((_, index) => (index === 0 ? [] : [`t${index}`]))
  const source = [
    `'use strict'`,
    'const { canonical, sites, places, enums, isEmptyObject } = env',
    ...generator.enums.map((_, index) => `const e${index} = enums[${index}]`),
    ...['let s = null, plain = true, strict = false', ...children.map((name) => `let ${name} = null`)],
    ...generator.functions,
    'function start(sink, tables, isStrict) {',
    's = sink; plain = !sink.careful; strict = isStrict',
    ...children.map((name, index) => `${name} = tables[${index + 1}]`),
    '}',
    'return { root, start }',
  ].join('\n')
  return { source, sites: generator.sites, places: generator.places, enums: generator.enums }
}

/** Where a column's value stands in the tuples of a table; -1 when there is none. */
export const placeOf = (table: Table, column: string): number =>
  tupleColumns(table).findIndex((c) => c.name === column)
