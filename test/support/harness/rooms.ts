/** The rooms of the code (docs/architecture.md, Rooms): which file is in which, and which may import which. */
import { importLines } from './tree.js'

/**
 * The room of a file: `schema`, a room of the engine, `features/NAME`, `shell`, `sandbox`, or `main` for the files
 * directly in src.
 */
export const roomOf = (file: string): string => {
  const [first = '', second = '', third = '', name] = file.split('/')
  if (first === 'schema') return 'schema'
  if (third === '') return 'main'
  if (second === 'engine') return third
  return second === 'features' && name !== undefined ? `features/${third}` : second
}

const isFeature = (room: string): boolean => room.startsWith('features/')

const engine = ['base', 'config', 'model', 'source', 'list', 'compare', 'warehouse', 'run']
const leaves = ['schema', 'base', 'config']

/** The rooms below each room; docs/architecture.md draws them. */
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

/** Imports that go upwards, each with its file and line, and where the file belongs. */
export const arrowsUpwards = (sources: readonly string[]): string[] =>
  sources.flatMap((file) =>
    importLines(file)
      .filter(({ target }) => !mayImport(roomOf(file), roomOf(target)))
      .map(({ target, line }) => `${file}:${line} imports ${target}: ${advice(file, target)}`),
  )

/** A feature that needs itself by way of others: then none of them can be read or changed without the rest. */
export function featureCircles(): string[] {
  const reached = (feature: string, found = new Set<string>()): Set<string> => {
    for (const other of needs[feature] ?? []) if (!found.has(other)) reached(other, found.add(other))
    return found
  }
  return Object.keys(needs).filter((feature) => reached(feature).has(feature))
}
