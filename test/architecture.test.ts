/**
 * The shape of the code, as far as a machine can check it (docs/dev/architecture.md, Rooms). Biome checks the rest, in
 * biome.json: circles between files, lines of a function, lines of a file. Each test lists the offenders.
 */
import { existsSync } from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { describe, expect, it } from 'vitest'
import { resources } from '../schema/index.js'
import { filesIn, importsOf, root, targetsOf, textOf, withoutComments } from './support/harness/tree.js'

/**
 * The room of a file: `schema`, a room of the engine, `features/NAME`, `shell`, `sandbox`, or `main` for the files
 * directly in src.
 */
const roomOf = (file: string): string => {
  const [first = '', second = '', third = '', name] = file.split('/')
  if (first === 'schema') return 'schema'
  if (third === '') return 'main'
  if (second === 'engine') return third
  return second === 'features' && name !== undefined ? `features/${third}` : second
}

const isFeature = (room: string): boolean => room.startsWith('features/')

const engine = ['base', 'config', 'model', 'source', 'list', 'compare', 'warehouse', 'run']
const leaves = ['schema', 'base', 'config']

/** The rooms below each room; docs/dev/architecture.md draws them. */
const below: Record<string, readonly string[]> = {
  schema: [],
  base: ['schema'],
  config: ['schema', 'base'],
  model: leaves,
  source: [...leaves, 'model'],
  list: ['schema', 'base'],
  compare: ['schema', 'base', 'list'],
  warehouse: [...leaves, 'model'],
  run: [...leaves, 'model', 'source', 'list', 'compare', 'warehouse'],
  shell: ['schema', ...engine],
  features: ['schema', ...engine, 'shell'],
  sandbox: ['schema', 'base'],
}

/** Which feature needs which other: a new line here is a decision. */
const needs: Record<string, readonly string[]> = {
  check: ['analytics', 'events', 'grants', 'health', 'jobs'],
  completion: ['jobs'],
  copy: ['analytics'],
  demo: ['events', 'reconcile', 'report', 'sync'],
  forget: ['grants', 'health'],
  health: ['events', 'targets'],
  init: ['check', 'health', 'jobs'],
  migrate: ['analytics'],
  plan: ['analytics', 'backfill', 'targets'],
  report: ['analytics', 'events', 'health', 'runs', 'targets'],
  schedule: ['dictionary', 'events', 'health', 'jobs', 'report', 'runs', 'worker'],
  snapshot: ['analytics'],
  targets: ['events'],
  why: ['events', 'health', 'quarantine', 'reconcile'],
  worker: ['health', 'jobs'],
}

/** Above the features is what lists them. */
const mayImport = (room: string, other: string): boolean => {
  if (room === other || room === 'main') return true
  if (!isFeature(room)) return below[room]?.includes(other) ?? false
  if (isFeature(other))
    return needs[room.slice('features/'.length)]?.includes(other.slice('features/'.length)) ?? false
  return (
    below.features?.includes(other) === true ||
    ((room === 'features/sandbox' || room === 'features/demo') && other === 'sandbox')
  )
}

/** Where a file belongs if it imports something it may not. */
const advice = (file: string, target: string): string => {
  const [from, to] = [roomOf(file), roomOf(target)]
  if (isFeature(from) && isFeature(to))
    return `list ${to} among the needs of ${from}, or move what both use into src/engine or src/shell`
  if (isFeature(to)) return `the engine and the shell know no feature: src/main.ts hands in what ${to} does`
  return `imports go downwards only: ${file} belongs above ${to}, or what it needs belongs below ${from}`
}

/** The project's own files that a file imports, each with the line of the import, from 1. */
function importLines(file: string): { readonly target: string; readonly line: number }[] {
  const text = textOf(file)
  return [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)].map(({ index, 1: path = '' }) => ({
    target: relative(root, resolve(root, dirname(file), path)).replace(/\.js$/, '.ts'),
    line: text.slice(0, index).split('\n').length,
  }))
}

/** Imports that go upwards, each with its file and line, and where the file belongs. */
const arrowsUpwards = (sources: readonly string[]): string[] =>
  sources.flatMap((file) =>
    importLines(file)
      .filter(({ target }) => !mayImport(roomOf(file), roomOf(target)))
      .map(({ target, line }) => `${file}:${line} imports ${target}: ${advice(file, target)}`),
  )

/** A feature that needs itself by way of others: then none of them can be read or changed without the rest. */
function featureCircles(): string[] {
  const reached = (feature: string, found = new Set<string>()): Set<string> => {
    for (const other of needs[feature] ?? []) if (!found.has(other)) reached(other, found.add(other))
    return found
  }
  return Object.keys(needs).filter((feature) => reached(feature).has(feature))
}

const sources = [...filesIn('schema', '.ts'), ...filesIn('src', '.ts')]

/** Each npm package is known in one place, so replacing it only touches that place. */
const owners: Record<string, readonly string[]> = {
  undici: ['src/engine/source', 'src/shell/send.ts'],
  'better-sqlite3': ['src/engine/warehouse', 'src/features/copy'],
  pg: ['src/engine/warehouse'],
  fastify: ['src/sandbox', 'src/shell/statusserver.ts', 'src/features/schedule', 'src/features/events'],
  'prom-client': ['src/features/health'],
  '@opentelemetry/api': ['src/engine/base/trace.ts'],
  croner: ['src/engine/config'],
  commander: ['src/shell'],
  pino: ['src/shell'],
  '@inquirer/prompts': ['src/shell', 'src/features/init'],
  zod: ['src/engine/config', 'src/features', 'src/sandbox'],
  luxon: ['src/features/analytics', 'src/engine/config', 'src/sandbox'],
  'p-limit': ['src/engine/base', 'src/features/check'],
  echarts: ['src/features/report'],
  'playwright-core': [],
  yaml: ['src/features/dictionary', 'src/features/init'],
}

describe('the rooms', () => {
  it('are imported downwards only', () => {
    const upwards = arrowsUpwards(sources)
    expect(upwards).toEqual([])
  })

  it('have no circle among the features', () => {
    expect(featureCircles()).toEqual([])
  })

  it.each(['list', 'compare'])('do no input or output: %s', (room) => {
    const pure = sources.filter((file) => roomOf(file) === room)
    expect(pure).not.toEqual([])
    expect(pure.filter((file) => importsOf(file).some((path) => !path.startsWith('.')))).toEqual([])
  })

  it('know each npm package in one place', () => {
    const strangers = Object.entries(owners).flatMap(([name, folders]) => {
      // A type may be named where a value of the package is passed on.
      const uses = new RegExp(`^(?:im|ex)port (?!type )[^']*'${name}['/]|import\\('${name}['/]`, 'm')
      return sources
        .filter((file) => !folders.some((folder) => file === folder || file.startsWith(`${folder}/`)))
        .filter((file) => uses.test(textOf(file)))
        .map((file) => `${file} imports ${name}`)
    })
    expect(strangers).toEqual([])
  })
})

describe('the tests', () => {
  /**
   * What a test may know of src: the program (through the harness), the sandbox, and the mechanisms that are pure, each by
   * its own small interface. Components are reached through harness/warehouse.ts and harness/runs.ts.
   */
  const doors =
    /^src\/(main\.ts$|sandbox\/index\.ts$|engine\/(base|config|list|compare|model|source\/(rate|http\/(exactjson|longnumbers)))\b|features\/targets\/(checkround|pollranking|shareforecast|windowbudget)\b)/

  it('know nothing else of src', () => {
    const strangers = filesIn('test', '.test.ts').flatMap((test) =>
      targetsOf(test)
        .filter((target) => target.startsWith('src/') && !doors.test(target))
        .map((target) => `${test} imports ${target}`),
    )
    expect(strangers).toEqual([])
  })
})

describe('shared code', () => {
  const outside = sources.filter((file) => !['schema', 'sandbox'].includes(roomOf(file)))

  it('exports only what another file uses', () => {
    const declaration =
      /^export (?:declare )?(?:abstract )?(?:async )?(?:class|function\*?|const|let|interface|type|enum) (\w+)/gm
    const users = new Map<string, Set<string>>()
    for (const file of [...sources, ...filesIn('test', '.ts'), ...filesIn('bench', '.ts')])
      for (const [word] of withoutComments(textOf(file)).matchAll(/\b[A-Za-z_]\w*\b/g))
        users.set(word, (users.get(word) ?? new Set()).add(file))
    const unused = sources.flatMap((file) =>
      [...withoutComments(textOf(file)).matchAll(declaration)]
        .filter(([, name = '']) => (users.get(name)?.size ?? 0) < 2)
        .map(([, name]) => `${file} exports ${name}`),
    )
    expect(unused).toEqual([])
  })

  it('names no resource outside schema/', () => {
    const names = Object.keys(resources).filter((name) => name.includes('_'))
    const quoted = new RegExp(`['"\`](${names.join('|')})['"\`]`)
    expect(outside.filter((file) => quoted.test(withoutComments(textOf(file))))).toEqual([])
  })

  it('asks no dialect for its name', () => {
    const branch = /(dialect|kind|driver)\w*(\.name)? *[!=]==? *['"](sqlite|postgres)/
    expect(outside.filter((file) => branch.test(textOf(file)))).toEqual([])
  })

  it('gives a verdict in one place', () => {
    const verdict = `'(?:proven|repaired|listed|unproven|none)'`
    // A comparison, a type, or a list of several verdicts gives none.
    const naming = new RegExp(
      `[!=]== ${verdict}|${verdict}(?: \\| ${verdict})+|(?<=\\[)${verdict}(?:, ${verdict})+|(?<=^\\s*)${verdict},$|case ${verdict}`,
      'gm',
    )
    const giving = outside.filter((file) => textOf(file).replaceAll(naming, '').includes("'proven'"))
    expect(giving).toEqual(['src/engine/list/verdict.ts'])
  })

  it.each([
    ['sync_cursors', 'src/engine/warehouse/state/cursors.ts'],
    ['sync_runs', 'src/engine/warehouse/state/runs.ts'],
    ['sync_run_cursors', 'src/engine/warehouse/state/runcursors.ts'],
    ['sync_requests', 'src/engine/warehouse/state/requests.ts'],
    ['sync_meta', 'src/engine/warehouse/state/meta.ts'],
    ['sync_source', 'src/engine/warehouse/state/sourceidentity.ts'],
    ['sync_events', 'src/features/events/events.ts'],
  ])('reads and writes %s in one place', (table, place) => {
    const statement = new RegExp(`\\b(?:\\w*(?:From|Into|Table|Join)|from|using)\\(\\s*['"\`]${table}\\b`)
    const asking = outside.filter((file) => statement.test(textOf(file)))
    expect(asking).toEqual([place])
  })

  it('silences neither the compiler nor the linter', () => {
    const silenced = /@ts-(ignore|expect-error|nocheck)|biome-ignore/
    expect(sources.filter((file) => silenced.test(textOf(file)))).toEqual([])
  })
})

describe('pointers', () => {
  const code = [...sources, 'schema/registry.mjs', ...filesIn('test', '.ts'), ...filesIn('bench', '.ts')]
  const documents = ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', ...filesIn('docs', '.md')].filter(
    (file) => existsSync(join(root, file)),
  )
  const known = new Set([...code, ...documents, 'vitest.config.ts'].map((file) => basename(file)))

  /** The comments of a file of code, each on one line; for a document, all of it. */
  const proseOf = (file: string): string =>
    file.endsWith('.md')
      ? textOf(file)
      : [...textOf(file).matchAll(/\/\*[\s\S]*?\*\/|(?<![:'"`\w])\/\/ .*$/gm)]
          .map(([comment]) => comment.replaceAll(/\s*\n\s*(\*|\/\/) ?/g, ' '))
          .join('\n')

  const headingsOf = (document: string): string[] =>
    [...textOf(document).matchAll(/^#+ (.+)$/gm)].map((match) => (match[1] ?? '').replaceAll('`', '').trim())

  /** The anchor that a heading gets where Markdown is rendered. */
  const anchorOf = (heading: string): string =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-')

  const exists = (path: string): boolean => existsSync(join(root, path))

  it('name files that exist', () => {
    // A name in capitals means any: jobs/NAME.json.
    const path = /(?<![\w./-])(?:docs|src|test|schema|bench|jobs)\/(?![A-Z]+\b)[\w./-]*\w/g
    const name = /(?<![\w./*-])[\w-]+\.(?:ts|mjs|md)\b/g
    const lost = [...code, ...documents].flatMap((file) => {
      const prose = proseOf(file)
      const paths = [...prose.matchAll(path)].map(([found]) => found).filter((found) => !exists(found))
      const names = [...prose.matchAll(name)].map(([found]) => found)
      const strange = names.filter((found) => !known.has(found) && !exists(found))
      return [...new Set([...paths, ...strange])].map((found) => `${file}: ${found}`)
    })
    expect(lost).toEqual([])
  })

  it('name headings that exist', () => {
    const pointer = /((?:docs\/)?(?:dev\/)?[\w-]+\.md), ([A-Z].{0,80})/g
    const lost = [...code, ...documents].flatMap((file) =>
      [...proseOf(file).matchAll(pointer)]
        .filter(([, document = '', text = '']) => {
          const path = ['', 'docs', 'docs/dev'].map((folder) => join(folder, document)).find(exists)
          return !path || !headingsOf(path).some((heading) => text.startsWith(heading))
        })
        .map(([found]) => `${file}: ${found}`),
    )
    expect(lost).toEqual([])
  })

  it('of Markdown links lead somewhere', () => {
    const lost = documents.flatMap((file) =>
      [...textOf(file).matchAll(/\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)/g)]
        .filter(([, path = '', anchor]) => {
          const target = path === '' ? file : join(dirname(file), path)
          if (!exists(target)) return true
          return anchor !== undefined && !headingsOf(target).map(anchorOf).includes(anchor)
        })
        .map(([found]) => `${file}: ${found}`),
    )
    expect(lost).toEqual([])
  })
})
