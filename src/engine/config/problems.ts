/*
 * Describes mistakes in a file that a person wrote: place, value found, value expected, hint. Used by load.ts for the
 * configuration and by features/jobs/jobfile.ts for jobs.
 */
import type { z } from 'zod'
import { toJson } from '../base/printjson.js'
import { memberPath } from './configtext.js'
import { nearest, nearestOrFirst } from './nearest.js'

export interface Problem {
  /** Place in the file, such as `sync.tenants[2]`. Empty for the whole file. */
  readonly path: string
  readonly found: string
  readonly expected: string
  readonly hint?: string | undefined
}

/** Settings by path. */
export type SettingPaths = Pick<ReadonlySet<string>, 'has'>

/** The settings at these paths. `[]` matches every position in a list. */
export function settingPaths(paths: readonly string[]): SettingPaths {
  const known = new Set(paths)
  return { has: (path) => known.has(path.replaceAll(/\[\d+\]/g, '[]')) }
}

type Path = readonly PropertyKey[]
interface Node {
  readonly properties?: Record<string, Node>
  readonly additionalProperties?: Node | boolean
  readonly items?: Node
  readonly anyOf?: readonly Node[]
  readonly examples?: readonly unknown[]
  readonly default?: unknown
  readonly enum?: readonly unknown[]
}

const pathText = (path: Path): string =>
  path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : memberPath(text, String(key))),
    '',
  )

/**
 * Describes the mistakes that a check found. `raw` is the text of the file, so values from the environment aren't
 * shown.
 */
export function problemsOf(
  error: z.ZodError,
  context: { raw: unknown; schema: object; secrets: SettingPaths },
): Problem[] {
  return error.issues.flatMap((issue) => unfold(issue)).flatMap((issue) => describe(issue, context))
}

const kinds: Readonly<Record<string, string>> = {
  object: 'an object',
  record: 'an object',
  array: 'a list',
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
}

/** What a check expects if it has no words of its own: the validator's words are for programmers. */
export const inWords = (
  issue: Pick<z.core.$ZodRawIssue, 'code'> & { readonly expected?: unknown | undefined },
): string => (issue.code === 'invalid_type' && kinds[String(issue.expected)]) || 'another value'

/** For a choice between shapes, the mistakes in the shape that the person evidently meant. */
function unfold(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const meant = issue.errors.find(
    (issues) => issues.length > 0 && issues.every((inner) => inner.path.length > 0),
  )
  if (!meant) return [issue]
  return meant.flatMap((inner) => unfold({ ...inner, path: [...issue.path, ...inner.path] }))
}

function describe(
  issue: z.core.$ZodIssue,
  context: { raw: unknown; schema: object; secrets: SettingPaths },
): Problem[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => unknownSetting(issue.path, key, context.schema as Node))
  }
  const path = pathText(issue.path)
  const value = valueAt(context.raw, issue.path)
  const node = nodeAt(context.schema as Node, issue.path)
  const words = node?.enum?.filter((word) => typeof word === 'string') ?? []
  // A key that isn't a name may have a value that is one of the words.
  const isKey = issue.code === 'invalid_key' || (issue.code === 'custom' && issue.params?.isKey === true)
  const near = typeof value === 'string' && words.length > 0 && !isKey ? nearest(value, words) : undefined
  const example = node?.examples?.[0] ?? node?.default
  const key = issue.path.findLast((part) => typeof part === 'string')
  const typed =
    example === undefined || typeof example === 'object'
      ? undefined
      : `Type "${String(key)}": ${toJson(example)}`
  // A check that knows better what was meant supplies its own hint.
  const told: unknown = issue.code === 'custom' ? issue.params?.hint : undefined
  const hint = typeof told === 'string' ? told : near ? `Did you mean "${near}"?` : typed
  const expected = issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message
  const what = isKey ? `the key ${toJson(String(key))}` : found(value, context.secrets.has(path))
  return [{ path, found: what, expected, hint }]
}

/** A key that doesn't exist. */
export const unknownKey = (
  path: string,
  key: string,
  known: readonly string[],
  expected: string,
): Problem => {
  const meant = nearest(key, known) ?? nearestOrFirst(key, known)
  return {
    path,
    found: `the unknown key "${key}"`,
    expected,
    hint: meant ? `The nearest known key is "${meant}"` : undefined,
  }
}

function unknownSetting(path: Path, key: string, schema: Node): Problem {
  const here = Object.keys(nodeAt(schema, path)?.properties ?? {})
  const near = nearest(key, here)
  const elsewhere = near ? undefined : pathsOf(schema).find((known) => lastOf(known) === key)
  const expected =
    here.length > 8 ? 'a known key' : `one of ${here.filter((name) => name !== '$schema').join(', ')}`
  const problem = unknownKey(pathText([...path, key]), key, here, expected)
  if (elsewhere === undefined) return problem
  return { ...problem, hint: `It belongs under "${elsewhere.slice(0, -key.length - 1)}"` }
}

const lastOf = (path: string): string => path.slice(path.lastIndexOf('.') + 1)

/** All paths of keys. The settings of resources are left out, since they would match every other word. */
function pathsOf(node: Node, prefix = ''): string[] {
  return Object.entries(node.properties ?? {}).flatMap(([key, below]) =>
    prefix === 'resources' || prefix === 'privacy'
      ? []
      : [memberPath(prefix, key), ...pathsOf(below, memberPath(prefix, key))],
  )
}

function nodeAt(node: Node | undefined, path: Path): Node | undefined {
  const [key, ...rest] = path
  if (key === undefined || node === undefined) return node
  const rested = typeof node.additionalProperties === 'object' ? node.additionalProperties : undefined
  const next = typeof key === 'number' ? node.items : (node.properties?.[String(key)] ?? rested)
  const below = next && nodeAt(next, rest)
  return below ?? node.anyOf?.map((choice) => nodeAt(choice, path)).find((choice) => choice !== undefined)
}

export function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (at, key) => (typeof at === 'object' && at !== null ? Reflect.get(at, key) : undefined),
    value,
  )
}

/** What is found where a key is missing. */
const missing = 'nothing'

function found(value: unknown, hidden: boolean): string {
  if (value === undefined) return missing
  if (hidden) return value === '' ? 'an empty text' : `${secretPlace(value)} (not shown)`
  const text = toJson(value)
  return text.length > 80 ? `${text.slice(0, 77)}...` : text
}

/** Where a secret comes from, for a message that must not show it. */
function secretPlace(value: unknown): string {
  if (typeof value === 'object' && value !== null && 'file' in value)
    return `the text of the file ${toJson(value.file)}`
  if (typeof value === 'string' && /^\$\{\w+\}$/.test(value)) return `the value of ${value}`
  return `a value of type ${value === null ? 'null' : typeof value}`
}

/** One line per mistake, with its line number in the file. */
export function listProblems(problems: readonly Problem[], lines: ReadonlyMap<string, number>): string {
  return problems
    .map((problem) => {
      const line = lines.get(problem.path)
      const place = `${problem.path || 'the file'}${line === undefined ? '' : ` (line ${line})`}`
      const hint = problem.hint ? `. ${problem.hint}` : ''
      const found = problem.found === missing ? 'missing; ' : `found ${problem.found}, `
      return `  ${place}: ${found}expected ${problem.expected}${hint}`
    })
    .join('\n')
}
