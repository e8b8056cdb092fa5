/** A run of more lists than one statement records: all are on record, and none takes more memory than it has to. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { beforeEach, describe, expect, it } from 'vitest'
import { template } from '../../../src/sandbox/index.js'
import { carryOut } from '../../support/harness/commands.js'
import {
  type Begin,
  beginOf,
  type CursorReport,
  known,
  type Run,
  type RunOptions,
  runSync,
  sync,
} from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { kept, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'

setFlagsFromString('--allow-natives-syntax')
/** Whether V8 keeps both in one layout. */
const areAlike = runInNewContext('(a, b) => %HaveSameMap(a, b)') as (a: object, b: object) => boolean

const tenants = 41
const resources = ['notes', 'shops', 'statuses', 'vehicles', 'vendors']
const sandbox = await sandboxOfFile()

const nameOf = ({ tenant_id, resource }: Record<string, unknown> | CursorReport): string =>
  `${tenant_id} ${resource}`
const byName = <T extends Record<string, unknown> | CursorReport>(rows: readonly T[]): T[] =>
  rows.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))

describe.each(warehouses())('$name', (kind) => {
  const place = kept(kind)
  let warehouse: Warehouse
  /** The tenants, each with a note. */
  beforeEach(async () => {
    sandbox.reset()
    for (let id = 1; id <= tenants; id++) {
      sandbox.store.addTenant({ id })
      sandbox.store.put(id, 'notes', template('notes', id, '2026-01-01T00:00:00Z'))
    }
    warehouse = await place.open()
  })
  const run = (options: RunOptions = {}) => sync(sandbox, warehouse, { resources, ...options })
  const request = { mode: 'sync', job: null, tenants: null, resources } as const

  it('records every list as its document shows it', async () => {
    for (let i = 0; i < 2; i++) {
      const { run_id, cursors } = await run()
      expect(cursors).toHaveLength(tenants * resources.length)
      const rows = (await rowsOf(warehouse, 'sync_run_cursors')).filter((row) => row.run_id === run_id)
      expect(byName(rows)).toMatchObject(byName(cursors).map((cursor) => ({ ...cursor, mode: 'sync' })))
      for (const { started_at, finished_at, quarantined, books, records } of rows) {
        expect(String(started_at) <= String(finished_at)).toBe(true)
        expect({ quarantined, books }).toMatchObject({ quarantined: 0, books: { distinct: records } })
      }
      // In layouts of their own, they would take three times the memory.
      expect(cursors.filter((cursor) => !areAlike(cursors[0]!, cursor))).toEqual([])
    }
  })

  it('forgets the state of each list whose work ended well, and keeps the others', async () => {
    const chosen = { tenants: [6, 7, 8] }
    await run(chosen)
    sandbox.script([{ when: { tenant: 7, resource: 'notes' }, fault: { kind: 'status', status: 500 } }])
    const seen = new Set<Run>()
    const sizes: number[] = []
    const begin: Begin = (cursor, isNews) => {
      seen.add(cursor.run)
      sizes.push(cursor.run.cursors.size)
      expect(cursor.state?.status).toBe('ok')
      return beginOf(request)(cursor, isNews)
    }
    const report = await carryOut(sandbox, warehouse, (deps) =>
      runSync(deps, { ...request, ...chosen, begin }),
    )
    expect(sizes[0]).toBe(3 * resources.length)
    expect([...seen].map(({ cursors }) => [...cursors.keys()])).toEqual([['7 notes']])
    expect(report.cursors.filter(({ status }) => status === 'failed').map(nameOf)).toEqual(['7 notes'])
  })

  it('knows that a tenant answers, although its lists ended in an earlier part of a round', async () => {
    sandbox.store.switchOff('vehicles', 7)
    await run({ resources: ['notes'] })
    const tasksOf = (name: string) =>
      known.list.filter((one) => one.name === name).map((resource) => ({ tenantId: 7, resource }))
    const round = async () => ({
      tasks: tasksOf('notes'),
      limited: { tasks: tasksOf('vehicles'), requests: 10 },
      endsAt: Date.now() + 60_000,
      targetOf: () => 60_000,
    })
    const { cursors } = await carryOut(sandbox, warehouse, (deps) =>
      runSync(deps, { ...request, round, begin: beginOf(request) }),
    )
    const ends = cursors.map(({ resource, status }) => `${resource} ${status}`)
    expect(ends).toEqual(['notes ok', 'vehicles unavailable'])
  })
})
