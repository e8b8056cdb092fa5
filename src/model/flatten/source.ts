/** Pieces of generated source: expressions, and the function that is being written. */
import type { Kind } from '../../../schema/resource.js'

/** A function under construction, for one declared object; nested objects share their owner's. */
export interface Scope {
  /** Variable that holds the object, and the one that counts its absent members. */
  readonly object: string
  readonly missing: string
  readonly path: string
  readonly depth: number
  readonly lines: string[]
  /** Variables with the tuple's own values, in order. */
  readonly values: string[]
  /** Variables of the function. */
  readonly variables: string[]
}

export const quoted = (name: string): string => JSON.stringify(name)
export const objectTest = (v: string): string =>
  `typeof ${v} === 'object' && ${v} !== null && !Array.isArray(${v})`
/** A declared name that every object inherits, such as `constructor`, must be the object's own. */
export const member = (object: string, name: string): string =>
  name in Object.prototype
    ? `(Object.hasOwn(${object}, ${quoted(name)}) ? ${object}[${quoted(name)}] : undefined)`
    : `${object}[${quoted(name)}]`
export const below = (path: string, name: string): string => (path === '' ? name : `${path}.${name}`)

export const plainTests: Readonly<Record<Kind, { readonly test: string; readonly value: string } | null>> = {
  id: { test: `typeof v === 'number' && Number.isSafeInteger(v)`, value: 'v + 0' },
  integer: { test: `typeof v === 'number' && Number.isSafeInteger(v)`, value: 'v + 0' },
  cents: { test: `typeof v === 'number' && Number.isSafeInteger(v)`, value: 'v + 0' },
  number: { test: `typeof v === 'number' && v - v === 0`, value: 'v + 0' },
  boolean: { test: `typeof v === 'boolean'`, value: 'v' },
  text: { test: `typeof v === 'string' && plain`, value: 'v' },
  timestamp: { test: `typeof v === 'string' && (w = canonical(v)) !== null`, value: 'w' },
  json: null,
}

export const functionScope = (path: string, depth: number): Scope => ({
  object: 'o',
  missing: 'm',
  path,
  depth,
  lines: [],
  values: [],
  variables: [],
})

export const declare = (scope: Scope): string =>
  `let ${['v', 'w', 'm = 0', 'n = 0', ...scope.variables.map((name) => `${name} = null`)].join(', ')}`
