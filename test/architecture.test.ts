/** The shape of the code, as far as a machine can check it (docs/architecture.md, Rooms). */
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

/** The room of a file: `schema`, a folder of src, or `leaf` for the files beside the folders. */
const roomOf = (file: string): string => {
  const [first = '', second = ''] = file.split('/')
  if (first === 'schema') return 'schema'
  return file.split('/').length === 2 ? 'leaf' : second
}

/** The rooms below which each room stands; docs/architecture.md draws them. */
const below: Record<string, readonly string[]> = {
  schema: [],
  leaf: ['schema'],
  config: ['schema', 'leaf'],
  model: ['schema', 'leaf', 'config'],
  walk: ['schema', 'leaf'],
  compare: ['schema', 'leaf', 'walk'],
  api: ['schema', 'leaf', 'config', 'model'],
  warehouse: ['schema', 'leaf', 'config', 'model'],
  sync: ['schema', 'leaf', 'config', 'model', 'walk', 'compare', 'api', 'warehouse'],
  sandbox: ['schema', 'leaf'],
  cli: ['schema', 'leaf', 'config', 'model', 'walk', 'compare', 'api', 'warehouse', 'sync', 'sandbox'],
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
  'p-limit': ['src/sync'],
}

const targetsOf = (file: string): string[] =>
  importsOf(file)
    .filter((path) => path.startsWith('.'))
    .map((path) => relative(root, resolve(root, dirname(file), path)).replace(/\.js$/, '.ts'))

describe('the rooms', () => {
  it.each(sources)('%s imports downwards only', (file) => {
    const room = roomOf(file)
    const strangers = targetsOf(file).filter(
      (target) => roomOf(target) !== room && !below[room]?.includes(roomOf(target)),
    )
    expect(strangers).toEqual([])
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
