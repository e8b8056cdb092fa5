import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { resources } from '../schema/index.js'
import { model } from '../src/engine/model/registry.js'
import type { Table } from '../src/engine/model/table.js'
import { type Dataset, type ResourceName, resourcesOf } from './source/dataset.js'
import { schema } from './warehouse.js'

/** What every program gets. */
export interface Load {
  readonly source: string
  /** The tenants are 1 to this number. */
  readonly tenants: number
  readonly resources: readonly ResourceName[]
  /** Of the warehouse. */
  readonly url: string
  readonly schema: string
  /** `updated_after` of its requests. */
  readonly updatedAfter: string
}

/** The programs of this project that are measured. */
export type Own = 'shopsync' | 'read' | 'write'
export type Phase = 'first' | 'again' | 'changed'

export interface Task extends Load {
  /** `prepare`: empty tables, made by the product's own migration, as every program finds them. */
  readonly contender: Own | 'prepare'
  readonly phase: Phase
  /** Requests of `shopsync` at once; by default 8. */
  readonly connections?: number
}

export interface Measured {
  readonly seconds: number
  /** User and system time of the process, its threads and its children, without the database server's. */
  readonly cpu: number
  readonly megabytes: number
}

/** Everything that the source has of these tenants. */
export const loadOf = (url: string, source: { url: string }, dataset: Dataset, tenants: number): Load => ({
  source: source.url,
  tenants,
  resources: resourcesOf(dataset),
  url,
  schema,
  updatedAfter: '1970-01-01T00:00:00Z',
})

/** The tables to which these resources' records add rows, including those for records inside them. */
export function tablesOf(wanted: readonly ResourceName[]): Table[] {
  const { byName, embedded } = model(resources)
  const own = [...wanted.flatMap((name) => byName.get(name) ?? []), ...(embedded ? [embedded] : [])]
  return [...new Set(own.flatMap(({ tables, derived }) => [...tables, ...derived.map(({ table }) => table)]))]
}

/** One of this many records changes: 5%. */
export const changedEach = 20

/** One measured run, in its own process. `from`: the measuring program; by default, this checkout's. */
export async function measured(
  task: Task,
  from = fileURLToPath(new URL('./measure.js', import.meta.url)),
): Promise<Measured> {
  const { stdout } = await promisify(execFile)(process.execPath, [from, JSON.stringify(task)])
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Measured
}
