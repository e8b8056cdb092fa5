/** The shape of the code, as far as a machine can check it (docs: design of the layers). */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { resources } from '../schema/index.js'

const root = resolve(import.meta.dirname, '..')

const files = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(folder, name))

const sources = [...files('schema'), ...files('src')]
const textOf = (file: string): string => readFileSync(join(root, file), 'utf8')
const withoutComments = (text: string): string => text.replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')

const importsOf = (file: string): string[] =>
  [...withoutComments(textOf(file)).matchAll(/(?:from|import)\s*\(?\s*'([^']+)'/g)].map(
    (match) => match[1] ?? '',
  )

const layerOf = (file: string): string => {
  const [first = '', second = ''] = file.split('/')
  if (first === 'schema') return 'schema'
  return file.split('/').length === 2 ? 'base' : second
}

/** What each layer may import; nobody imports upwards, and api and warehouse do not know each other. */
const allowed: Record<string, readonly string[]> = {
  schema: ['schema'],
  base: ['schema', 'base'],
  derive: ['schema', 'base', 'derive', 'config'],
  config: ['schema', 'base', 'derive', 'config'],
  api: ['schema', 'base', 'derive', 'api'],
  warehouse: ['schema', 'base', 'derive', 'warehouse'],
  sync: ['schema', 'base', 'derive', 'config', 'api', 'warehouse', 'sync'],
  report: ['schema', 'base', 'derive', 'config', 'api', 'warehouse', 'sync', 'report'],
  sandbox: ['schema', 'sandbox'],
  cli: ['schema', 'base', 'derive', 'config', 'api', 'warehouse', 'sync', 'report', 'sandbox', 'cli'],
}

/** Each npm package is known in one place; replacing it touches that place alone. */
const owners: Record<string, readonly string[]> = {
  undici: ['src/api'],
  'better-sqlite3': ['src/warehouse'],
  pg: ['src/warehouse'],
  fastify: ['src/sandbox'],
  commander: ['src/cli'],
  pino: ['src/cli'],
  zod: ['src/config', 'src/sandbox'],
  luxon: ['src/config', 'src/sandbox'],
  'p-limit': ['src/sync', 'src/report'],
}

describe('the layers', () => {
  it.each(sources)('%s imports downwards only', (file) => {
    const layer = layerOf(file)
    for (const name of importsOf(file).filter((path) => path.startsWith('.'))) {
      const target = relative(root, resolve(root, dirname(file), name))
      expect(allowed[layer], `${file} imports ${target}`).toContain(layerOf(target))
    }
  })

  it.each(Object.entries(owners))('%s is imported in %s alone', (name, folders) => {
    const users = sources.filter((file) =>
      importsOf(file).some((path) => path === name || path.startsWith(`${name}/`)),
    )
    const strangers = users.filter((file) => !folders.some((folder) => file.startsWith(`${folder}/`)))
    // Types of the log and of the configuration may be named where they are handed on.
    const real = strangers.filter(
      (file) => !new RegExp(`import type [^;]*?from '${name}'`).test(textOf(file)),
    )
    expect(real).toEqual([])
  })
})

describe('shared code', () => {
  const outside = sources.filter((file) => !file.startsWith('schema/') && !file.startsWith('src/sandbox/'))

  it('names no resource outside schema/', () => {
    const names = Object.keys(resources).filter((name) => name.includes('_'))
    const quoted = new RegExp(`['"\`](${names.join('|')})['"\`]`)
    expect(outside.filter((file) => quoted.test(withoutComments(textOf(file))))).toEqual([])
  })

  it('asks no dialect for its name', () => {
    const branch = /(dialect|kind|driver)\w*(\.name)? *[!=]==? *['"](sqlite|postgres)/
    expect(outside.filter((file) => branch.test(textOf(file)))).toEqual([])
  })

  it('has no file that nobody opens whole', () => {
    const long = sources.filter((file) => textOf(file).split('\n').length > 400)
    expect(long.filter((file) => !/generated/i.test(textOf(file).slice(0, 200)))).toEqual([])
  })

  it('says any and ! nowhere', () => {
    const loose = /: any\b|\bas any\b|<any>|@ts-(ignore|expect-error|nocheck)/
    expect(sources.filter((file) => loose.test(withoutComments(textOf(file))))).toEqual([])
  })
})
