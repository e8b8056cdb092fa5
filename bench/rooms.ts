/**
 * npm run bench -- rooms [--dataset lifelike] [--records 12000] [--tenants 4] [--warehouses sqlite,postgres]
 *
 * Where the time of a first load goes: a processor profile of the product, by the rooms of the code
 * (docs/architecture.md) and by package, for the main thread and SQLite's writer thread. Work that an engine or a
 * library does without a file of its own (a statement, a parse) counts for the file that calls it. A database server's
 * time isn't included.
 */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { measured } from './contestant.js'
import { inFolder, oneOf, options, percent, say, table } from './kit.js'
import { loadOf } from './load.js'
import type { Task } from './measure.js'
import { datasets } from './source/dataset.js'
import { BenchSource } from './source/source.js'
import { empty, withWarehouses } from './warehouse.js'

const { records, tenants, warehouses, ...more } = options({
  dataset: 'lifelike',
  records: 12_000,
  tenants: 4,
  warehouses: 'sqlite,postgres',
})
const dataset = oneOf('dataset', more.dataset, datasets)

interface Frame {
  readonly functionName: string
  readonly url: string
}

interface Profile {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: Frame
    readonly children?: readonly number[]
  }[]
  readonly samples: readonly number[]
  /** Microseconds from each sample to the one before. */
  readonly timeDeltas: readonly number[]
}

/** The room, the folder below the warehouse's room, or the package that a frame belongs to; undefined: the caller's. */
function placeOf({ functionName, url }: Frame): string | undefined {
  const modules = /\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)
  if (modules) return `package ${modules[1]}`
  const own = /\/dist\/(?:src\/(?:engine\/)?)?([^/]+)\/(?:([^/]+)\/)?/.exec(url)
  const [, room = '', folder] = own ?? []
  if (own) return folder && ['warehouse', 'features', 'model'].includes(room) ? `${room}/${folder}` : room
  if (url.startsWith('node:')) return 'Node'
  if (functionName === '(garbage collector)') return 'collecting garbage'
  // Compiling, sending to another thread, system calls.
  if (functionName === '(program)') return 'V8 and the system'
  return functionName === '(idle)' || functionName === '(root)' ? 'idle' : undefined
}

/** Seconds by place. */
function places({ nodes, samples, timeDeltas }: Profile): Map<string, number> {
  const byId = new Map(nodes.map((node) => [node.id, node]))
  const placed = new Map<number, string>()
  const visit = (id: number, callers: string): void => {
    const node = byId.get(id)
    if (!node) return
    const place = placeOf(node.callFrame) ?? callers
    placed.set(id, place)
    for (const child of node.children ?? []) visit(child, place === 'idle' ? 'Node' : place)
  }
  visit(nodes[0]?.id ?? 0, 'idle')
  const seconds = new Map<string, number>()
  for (const [i, id] of samples.entries()) {
    const place = placed.get(id) ?? 'idle'
    seconds.set(place, (seconds.get(place) ?? 0) + (timeDeltas[i] ?? 0) / 1e6)
  }
  seconds.delete('idle')
  return seconds
}

/** The profiles of the main thread and of the others, busiest first. */
const profiles = (task: Task): Promise<Map<string, number>[]> =>
  inFolder(async (folder) => {
    const program = fileURLToPath(new URL('./measure.js', import.meta.url))
    const words = ['--cpu-prof', `--cpu-prof-dir=${folder}`, program, JSON.stringify(task)]
    await promisify(execFile)(process.execPath, words)
    const read = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Profile
    return readdirSync(folder)
      .sort()
      .map((name) => places(read(name)))
  })

const sum = (seconds: ReadonlyMap<string, number>): number => [...seconds.values()].reduce((a, b) => a + b, 0)

function tableOf(threads: readonly ReadonlyMap<string, number>[]): string {
  const all = [...new Set(threads.flatMap((seconds) => [...seconds.keys()]))]
  const total = threads.reduce((a, seconds) => a + sum(seconds), 0)
  const ofPlace = (place: string): number => threads.reduce((a, seconds) => a + (seconds.get(place) ?? 0), 0)
  const rows = all
    .sort((a, b) => ofPlace(b) - ofPlace(a))
    .filter((place) => ofPlace(place) / total >= 0.005)
    .map((place) => {
      const cells = threads.map((seconds) => (seconds.get(place) ?? 0).toFixed(2))
      return [place, ...cells, percent(ofPlace(place) / total)]
    })
  rows.push(['all', ...threads.map((seconds) => sum(seconds).toFixed(2)), ''])
  const names = ['main thread, s', 'writer thread, s'].slice(0, threads.length)
  return table(['where', ...names, 'share'], rows)
}

using source = await BenchSource.start(tenants, records / tenants, dataset)
await withWarehouses(warehouses, async (all) => {
  for (const { name, url } of all) {
    const task = { ...loadOf(url, source, dataset, tenants), phase: 'first' } as const
    await empty(url)
    await measured({ ...task, contender: 'prepare' })
    const threads = await profiles({ ...task, contender: 'shopsync' })
    say(`\n${dataset}, ${name}, ${records} repair orders:\n\n${tableOf(threads)}`)
  }
})
