import type { Source } from '../../src/api/source.js'
import { type Sandbox, template } from '../../src/sandbox/index.js'
import type { RunReport, RunRequest } from '../../src/sync/run/report.js'
import { runSync } from '../../src/sync/run/run.js'
import { fromMicros } from '../../src/timestamp.js'
import type { Warehouse } from '../../src/warehouse/warehouse.js'
import { depsOf, type RunOptions } from '../support/run.js'
import { rowsOf } from '../support/warehouse.js'

export const base = 1_767_225_600_000_000n
/** So many seconds after the beginning of 2026. */
export const at = (seconds: number, micros = 0): string =>
  fromMicros(base + BigInt(seconds) * 1_000_000n + BigInt(micros))

/** Numbers in [0, 1), the same with the same seed. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

/** `updated_at` of a record of `fill`. */
export const timeOf = (id: number, gap = 7): string => at(id * gap, (id * 7919) % 1_000_000)

export function fill(
  sandbox: Sandbox,
  count: number,
  options: { from?: number; gap?: number; resource?: string } = {},
): void {
  const { from = 1, gap = 7, resource = 'notes' } = options
  for (let id = from; id < from + count; id++)
    sandbox.store.put(1, resource, template(resource, id, timeOf(id, gap)))
}

export type Ask = RunOptions &
  Partial<RunRequest> & {
    readonly random?: () => number
    readonly readAhead?: number
    /** Stands between the run and the API. */
    readonly around?: (source: Source) => Source
  }

/** One run in any mode, as the command line would make it. */
export async function run(sandbox: Sandbox, warehouse: Warehouse, ask: Ask): Promise<RunReport> {
  const {
    tenants,
    resources,
    mode = 'sync',
    full,
    acceptDeletes,
    ranges,
    random,
    around,
    readAhead,
    ...options
  } = ask
  const { deps, close } = await depsOf(sandbox, warehouse, options)
  try {
    return await runSync(
      {
        ...deps,
        ...(random && { random }),
        ...(readAhead !== undefined && { readAhead }),
        ...(around && { source: around(deps.source) }),
      },
      {
        mode,
        job: null,
        tenants: tenants ?? null,
        resources: resources ?? null,
        ...(full !== undefined && { full }),
        ...(acceptDeletes !== undefined && { acceptDeletes }),
        ...(ranges && { ranges }),
      },
    )
  } finally {
    await close()
  }
}

export const reconcile = (sandbox: Sandbox, warehouse: Warehouse, ask: Ask = {}): Promise<RunReport> =>
  run(sandbox, warehouse, { resources: ['notes'], random: seeded(1), ...ask, mode: 'reconcile' })

export const only = (report: RunReport, resource = 'notes') =>
  report.cursors.find((cursor) => cursor.resource === resource && cursor.tenant_id === 1)

/** Ids and versions of the live rows of tenant 1. */
export async function live(warehouse: Warehouse, table = 'notes'): Promise<Map<number, string>> {
  const rows = await rowsOf(warehouse, table)
  return new Map(
    rows
      .filter((row) => row.tenant_id === 1 && row._deleted_at === null)
      .map((row) => [Number(row.id), String(row.updated_at)]),
  )
}

export const atSource = (sandbox: Sandbox, resource = 'notes'): number[] =>
  sandbox.store.ids(1, resource).sort((a, b) => a - b)

export async function liveIds(warehouse: Warehouse, table = 'notes'): Promise<number[]> {
  return [...(await live(warehouse, table)).keys()].sort((a, b) => a - b)
}

/** Rows vanish from the warehouse behind everybody's back. */
export async function lose(warehouse: Warehouse, ids: readonly number[], table = 'notes'): Promise<void> {
  if (ids.length === 0) return
  await warehouse.write([
    warehouse.db
      .deleteFrom(table as 'notes')
      .where('tenant_id', '=', 1)
      .where('id', 'in', [...ids])
      .compile(),
  ])
}

export const listed = (sandbox: Sandbox, resource = 'notes'): number =>
  sandbox.requests.filter((line) => line.resource === resource).length
