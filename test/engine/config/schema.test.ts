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

test('docs/configuration.md describes every key', () => {
  const page = textOf('docs/configuration.md').replaceAll('[]', '')
  const missing = keys(configSchema(checks) as Node)
    .map(([path]) => path.slice(1))
    .filter((path) => !/^(\$schema|(resources|privacy|targets)\..*|.*\.(file|listen\..*))$/.test(path))
    .filter((path) => !page.includes(`| \`${path}\` |`) && !page.includes(`| \`${path}.`))
  expect(missing).toEqual([])
})
