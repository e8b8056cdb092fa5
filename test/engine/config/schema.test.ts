/** Every setting is described, and shown. That a new resource has its settings: test/package/addition.test.ts. */
import { describe, expect, test } from 'vitest'
import { configSchema } from '../../../src/engine/config/schema.js'
import { checks, jobSchema, kinds } from '../../support/harness/declared.js'
import { textOf } from '../../support/harness/tree.js'

interface Node {
  type?: string | string[]
  description?: string
  properties?: Record<string, Node>
  additionalProperties?: Node | boolean
  items?: Node
  anyOf?: Node[]
}

/** Every key of a JSON Schema, by path. */
function keys(node: Node, path = ''): [string, Node][] {
  const own = Object.entries(node.properties ?? {}).flatMap(([key, below]): [string, Node][] => [
    [`${path}.${key}`, below],
    ...keys(below, `${path}.${key}`),
  ])
  return [...own, ...[node.items, ...(node.anyOf ?? [])].flatMap((below) => (below ? keys(below, path) : []))]
}

describe.each([
  ['configuration', configSchema(checks) as Node],
  ['job', jobSchema(kinds) as Node],
])('the JSON Schema of a %s', (_name, schema) => {
  test('describes every key', () => {
    const silent = keys(schema).filter(([, node]) => (node.description ?? '').length < 10)
    expect(silent.map(([path]) => path)).toEqual([])
  })

  test('rejects unknown keys everywhere', () => {
    const open = keys(schema).filter(([, node]) => node.properties && node.additionalProperties !== false)
    // Its keys are names of resources, which the section checks itself (test/transcripts/targets.txt).
    expect(open.map(([path]) => path).filter((path) => path !== '.targets')).toEqual([])
    expect(schema.additionalProperties).toBe(false)
  })
})

test('config.example.json shows every key', () => {
  const example: unknown = JSON.parse(textOf('config.example.json'))
  // The entries of a list together show all its keys.
  const member = (at: unknown, key: string): unknown =>
    (Array.isArray(at) ? Object.assign({}, ...at) : (at as Record<string, unknown> | undefined))?.[key]
  const shown = (path: string): boolean => path.slice(1).split('.').reduce(member, example) !== undefined
  const missing = keys(configSchema(checks) as Node)
    .map(([path]) => path)
    .filter((path) => !/^\.(resources|privacy)\../.test(path) && !path.endsWith('.file'))
    .filter((path) => !shown(path))
  expect(missing).toEqual([])
})
