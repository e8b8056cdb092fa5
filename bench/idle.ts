/**
 * npm run bench -- idle [--tenants 100,1000]
 *
 * Syncs that find nothing new, for each number of tenants and all resources: the client's processor time per request, and
 * its peak memory. Each sync has its own process.
 */
import { join } from 'node:path'
import { resources } from '../schema/index.js'
import { inFolder, options, print } from './kit.js'
import { loadOf, measured } from './load.js'
import type { ResourceName } from './source/dataset.js'
import { BenchSource } from './source/source.js'

const { tenants: numbers } = options({ tenants: '100,1000' })
const all = Object.keys(resources) as ResourceName[]

const rows: (string | number)[][] = []
for (const tenants of numbers.split(',').map(Number)) {
  using source = await BenchSource.start(tenants, 1)
  await inFolder(async (folder) => {
    const load = loadOf(`sqlite:${join(folder, 'idle.db')}`, source, 'tidy', tenants)
    const given = { contender: 'shopsync', phase: 'changed', connections: 16 } as const
    const task = { ...load, ...given, resources: all }
    // The first sync makes the tables and the cursors; the second one is measured.
    await measured(task)
    await source.requests()
    const { seconds, cpu, megabytes } = await measured(task)
    const requests = await source.requests()
    const rates = [(requests / seconds).toFixed(0), ((cpu * 1000) / requests).toFixed(2)]
    rows.push([tenants, tenants * all.length, requests, ...rates, megabytes.toFixed(0)])
  })
}
print(['tenants', 'cursors', 'requests', 'requests/s', 'CPU ms a request', 'peak MB'], rows)
