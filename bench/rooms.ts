/**
 * npm run bench:rooms -- [--dataset lifelike] [--records 12000] [--tenants 4] [--warehouses sqlite,postgres]
 *
 * Where the time of a first load goes: a processor profile of the product, by the rooms of the code
 * (docs/architecture.md) and by package, for the main thread and SQLite's writer thread. Work that an engine or a
 * library does without a file of its own (a statement, a parse) counts for the file that calls it. A database server's
 * time isn't included.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { measured } from './benchmark.js'
import type { Task } from './measure.js'
import { datasets, resourcesOf } from './source/dataset.js'
import { BenchSource } from './source/source.js'
import { empty, schema, withWarehouses } from './warehouse.js'

const { values: options } = parseArgs({
  options: {
    dataset: { type: 'string', default: 'lifelike' },
    records: { type: 'string', default: '12000' },
    tenants: { type: 'string', default: '4' },
    warehouses: { type: 'string', default: 'sqlite,postgres' },
  },
})

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
async function profiles(task: Task): Promise<Map<string, number>[]> {
  const folder = mkdtempSync(join(tmpdir(), 'shopsync-profile-'))
  const program = fileURLToPath(new URL('./measure.js', import.meta.url))
  await promisify(execFile)(process.execPath, [
    '--cpu-prof',
    `--cpu-prof-dir=${folder}`,
    program,
    JSON.stringify(task),
  ])
  const all = readdirSync(folder)
    .sort()
    .map((name) => places(JSON.parse(readFileSync(join(folder, name), 'utf8')) as Profile))
  rmSync(folder, { recursive: true })
  return all
}

const sum = (seconds: ReadonlyMap<string, number>): number => [...seconds.values()].reduce((a, b) => a + b, 0)

function table(threads: readonly ReadonlyMap<string, number>[]): string {
  const all = [...new Set(threads.flatMap((seconds) => [...seconds.keys()]))]
  const total = threads.reduce((a, seconds) => a + sum(seconds), 0)
  const ofPlace = (place: string): number => threads.reduce((a, seconds) => a + (seconds.get(place) ?? 0), 0)
  const names = threads.length > 1 ? ['main thread, s', 'writer thread, s'] : ['main thread, s']
  let text = `| where | ${names.join(' | ')} | share |\n| --- | ${names.map(() => '---: |').join(' ')} ---: |\n`
  for (const place of all.sort((a, b) => ofPlace(b) - ofPlace(a))) {
    const share = ofPlace(place) / total
    if (share < 0.005) continue
    const cells = threads.map((seconds) => (seconds.get(place) ?? 0).toFixed(2))
    text += `| ${[place, ...cells, `${(share * 100).toFixed(0)}%`].join(' | ')} |\n`
  }
  return `${text}| all | ${threads.map((seconds) => sum(seconds).toFixed(2)).join(' | ')} | |\n`
}

async function main(): Promise<void> {
  const dataset = datasets.find((known) => known === options.dataset)
  if (dataset === undefined) throw new Error(`--dataset ${options.dataset}: expected ${datasets.join(', ')}`)
  const tenants = Number(options.tenants)
  const source = await BenchSource.start(tenants, Number(options.records) / tenants, dataset)
  try {
    await withWarehouses(options.warehouses.split(','), async (warehouses) => {
      for (const { name, url } of warehouses) {
        const resources = resourcesOf(dataset)
        const updatedAfter = '1970-01-01T00:00:00Z'
        const task = {
          phase: 'first',
          url,
          schema,
          source: source.url,
          tenants,
          resources,
          updatedAfter,
        } as const
        await empty(url)
        await measured({ ...task, contender: 'prepare' })
        const threads = await profiles({ ...task, contender: 'shopsync' })
        process.stdout.write(`\n${dataset}, ${name}, ${options.records} repair orders:\n\n${table(threads)}`)
      }
    })
  } finally {
    source.stop()
  }
}

await main()
