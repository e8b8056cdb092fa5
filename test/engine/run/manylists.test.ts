/** A run of more lists than one statement records: all are on record, and none takes more memory than it has to. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, it } from 'vitest'
import { template } from '../../../src/sandbox/index.js'
import {
  type Begin,
  type CursorReport,
  depsOf,
  known,
  type Run,
  runSync,
  sync,
} from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { open, rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { beginOf } from '../../support/world/begins.js'

setFlagsFromString('--allow-natives-syntax')
/** Whether V8 keeps both in one layout. */
const areAlike = runInNewContext('(a, b) => %HaveSameMap(a, b)') as (a: object, b: object) => boolean

const tenants = 41
const resources = ['notes', 'shops', 'statuses', 'vehicles', 'vendors']
const sandbox = await sandboxOfFile()

/** Adds the tenants, each with a note. */
function fill(): void {
  sandbox.reset()
  for (let id = 1; id <= tenants; id++) {
    sandbox.store.addTenant({ id })
    sandbox.store.put(id, 'notes', template('notes', id, '2026-01-01T00:00:00Z'))
  }
}

const nameOf = ({ tenant_id, resource }: Record<string, unknown> | CursorReport): string =>
  `${tenant_id} ${resource}`
const byName = <T extends Record<string, unknown> | CursorReport>(rows: readonly T[]): T[] =>
  rows.toSorted((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))

describe.each(warehouses())('$name', (kind) => {
  it('records every list as its document shows it', async () => {
    fill()
    const warehouse = await open(kind)
    for (let i = 0; i < 2; i++) {
      const { run_id, cursors } = await sync(sandbox, warehouse, { resources })
      expect(cursors).toHaveLength(tenants * resources.length)
      const rows = (await rowsOf(warehouse, 'sync_run_cursors')).filter((row) => row.run_id === run_id)
      expect(byName(rows)).toMatchObject(byName(cursors).map((cursor) => ({ ...cursor, mode: 'sync' })))
      for (const { started_at, finished_at, quarantined, books, records } of rows) {
        expect(String(started_at) <= String(finished_at)).toBe(true)
        expect({ quarantined, books }).toMatchObject({ quarantined: 0, books: { distinct: records } })
      }
      // In layouts of their own, they would take three times the memory.
      const [first] = cursors
      expect(cursors.filter((cursor) => first === undefined || !areAlike(first, cursor))).toEqual([])
    }
    await warehouse.close()
  })

  it('forgets the state of each list whose work ended well, and keeps the others', async () => {
    fill()
    const warehouse = await open(kind)
    const chosen = { tenants: [6, 7, 8], resources }
    await sync(sandbox, warehouse, chosen)
    const { deps, close } = await depsOf(sandbox, warehouse)
    sandbox.script([{ when: { tenant: 7, resource: 'notes' }, fault: { kind: 'status', status: 500 } }])
    const request = { mode: 'sync', job: null, ...chosen } as const
    const seen = new Set<Run>()
    const sizes: number[] = []
    const begin: Begin = (cursor, isNews) => {
      seen.add(cursor.run)
      sizes.push(cursor.run.cursors.size)
      expect(cursor.state?.status).toBe('ok')
      return beginOf(request)(cursor, isNews)
    }
    const report = await runSync(deps, { ...request, begin })
    await close()
    expect(sizes[0]).toBe(3 * resources.length)
    expect([...seen].map(({ cursors }) => [...cursors.keys()])).toEqual([['7 notes']])
    expect(report.cursors.filter(({ status }) => status === 'failed').map(nameOf)).toEqual(['7 notes'])
    await warehouse.close()
  })

  it('knows that a tenant answers, although its lists ended in an earlier part of a round', async () => {
    fill()
    sandbox.store.switchOff('vehicles', 7)
    const warehouse = await open(kind)
    await sync(sandbox, warehouse, { resources: ['notes'] })
    const { deps, close } = await depsOf(sandbox, warehouse)
    const tasksOf = (name: string) =>
      known.list.filter((one) => one.name === name).map((resource) => ({ tenantId: 7, resource }))
    const request = { mode: 'sync', job: null, tenants: null, resources } as const
    const round = async () => ({
      tasks: tasksOf('notes'),
      limited: { tasks: tasksOf('vehicles'), requests: 10 },
      endsAt: Date.now() + 60_000,
      targetOf: () => 60_000,
    })
    const report = await runSync(deps, { ...request, round, begin: beginOf(request) })
    await close()
    expect(report.cursors.map(({ resource, status }) => `${resource} ${status}`)).toEqual([
      'notes ok',
      'vehicles unavailable',
    ])
    await warehouse.close()
  })

  it('works once on a tenant that the choice names twice', async () => {
    fill()
    const warehouse = await open(kind)
    for (let i = 0; i < 2; i++) {
      const { cursors, requests } = await sync(sandbox, warehouse, { resources, tenants: [3, 3] })
      expect(byName(cursors).map(nameOf)).toEqual(resources.map((resource) => `3 ${resource}`))
      expect(requests).toBe(1 + resources.length)
    }
    await warehouse.close()
  })
})
