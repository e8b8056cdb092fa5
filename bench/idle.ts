/**
 * node dist/bench/idle.js [--tenants 100,1000]
 *
 * Measures syncs that find nothing new, for each number of tenants and all resources: the client's processor time per
 * request, and its peak memory. Each sync has its own process.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs, promisify } from 'node:util'
import { run } from './shopsync.js'
import { BenchSource } from './source/source.js'

const { values: options } = parseArgs({
  options: { tenants: { type: 'string', default: '100,1000' }, child: { type: 'string' } },
})

interface Idle {
  readonly requests: number
  readonly cursors: number
  readonly seconds: number
  readonly cpu: number
  readonly megabytes: number
}

async function child(baseUrl: string, url: string): Promise<void> {
  const start = performance.now()
  const before = process.cpuUsage()
  const report = await run({ baseUrl, url, schema: '', mode: 'sync', resources: null, connections: 16 })
  const { user, system } = process.cpuUsage(before)
  const result: Idle = {
    requests: report.requests,
    cursors: report.cursors.length,
    seconds: (performance.now() - start) / 1000,
    cpu: (user + system) / 1e6,
    megabytes: process.resourceUsage().maxRSS / 1024,
  }
  process.stdout.write(JSON.stringify(result))
}

async function measured(tenants: number): Promise<Idle> {
  const folder = mkdtempSync(join(tmpdir(), 'shopsync-idle-'))
  const source = await BenchSource.start(tenants, 1)
  const program = fileURLToPath(import.meta.url)
  const args = [program, '--child', JSON.stringify([source.url, `sqlite:${join(folder, 'idle.db')}`])]
  try {
    // The first sync makes the tables and the cursors; the second one is measured.
    await promisify(execFile)(process.execPath, args)
    const { stdout } = await promisify(execFile)(process.execPath, args)
    return JSON.parse(stdout) as Idle
  } finally {
    source.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

async function main(): Promise<void> {
  if (options.child !== undefined) {
    const [baseUrl, url] = JSON.parse(options.child) as [string, string]
    return child(baseUrl, url)
  }
  process.stdout.write('| tenants | cursors | requests | requests/s | CPU ms a request | peak MB |\n')
  process.stdout.write('| ---: | ---: | ---: | ---: | ---: | ---: |\n')
  for (const tenants of options.tenants.split(',').map(Number)) {
    const { cursors, requests, seconds, cpu, megabytes } = await measured(tenants)
    const cells = [tenants, cursors, requests, (requests / seconds).toFixed(0)]
    cells.push(((cpu * 1000) / requests).toFixed(2), megabytes.toFixed(0))
    process.stdout.write(`| ${cells.join(' | ')} |\n`)
  }
}

await main()
