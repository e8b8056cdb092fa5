import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { resources } from '../../../schema/index.js'
import { defineResource, id, stamps } from '../../../schema/resource.js'
import { readDocument } from '../../../src/engine/config/load.js'
import { configSchema } from '../../../src/engine/config/schema.js'
import { checks, kinds } from '../../support/harness/checks.js'
import { jobSchema } from '../../support/harness/declared.js'

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

test('the JSON Schema of a configuration names every resource', () => {
  const { properties } = (configSchema(checks) as Node).properties?.resources ?? {}
  expect(Object.keys(properties ?? {}).sort()).toEqual(Object.keys(resources).sort())
})

test('config.example.json shows every key', () => {
  const example: unknown = JSON.parse(
    readFileSync(new URL('../../../config.example.json', import.meta.url), 'utf8'),
  )
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

test('a newly added resource can be configured', () => {
  const tires = defineResource({
    name: 'tires',
    singular: 'tire',
    entity: 'Tire',
    doc: 'Tires.',
    source: 'nowhere',
    grain: 'one tire',
    fields: { id: id('Id.'), ...stamps },
  })
  const document = {
    api: { baseUrl: 'https://x.example.com', partnerId: '1', secret: 's' },
    warehouse: { url: 'sqlite:x' },
    sync: { resources: ['tires'] },
    resources: { tires: { path: 'wheels/tires' } },
  }
  const options = {
    environment: {},
    workingDirectory: '.',
    name: 'test',
    ...checks,
    resources: { ...resources, tires },
  }
  const { config } = readDocument(document, options)
  expect(config.resources.tires?.path).toBe('wheels/tires')
  expect(JSON.stringify(configSchema({ ...checks, resources: { tires } }))).toContain('"tires"')
})
