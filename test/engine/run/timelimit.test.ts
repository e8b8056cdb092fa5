/** A run under a time limit ends cleanly, and no cursor starves under a limit that ends every run. */
import { describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import { template } from '../../../src/sandbox/index.js'
import { type RunOptions, type RunReport, syncInOrder, timeLimit } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { lastTurns, open, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'

const resources = ['appointments', 'categories', 'customers', 'notes', 'statuses', 'vehicles']
const sandbox = await sandboxOfFile()
sandbox.store.addTenant({ id: 1 })
for (const resource of resources)
  sandbox.store.put(1, resource, template(resource, 1, '2026-01-01T00:00:00Z'))

/** A run whose time is up after this many answered list requests, counted from 1. */
async function limited(warehouse: Warehouse, answers: number, mutant: RunOptions = {}): Promise<RunReport> {
  let end = (): void => {}
  const over = new Promise<void>((resolve) => {
    end = resolve
  })
  let asked = 0
  const around = (source: ConstructorParameters<typeof Between>[0]): Between =>
    new Between(source, async (_request, ask) => {
      const answer = await ask()
      if (++asked === answers) {
        end()
        await new Promise(setImmediate)
      }
      return answer
    })
  const clock = { ...systemClock, sleep: () => over }
  using limit = timeLimit(1, { clock, signal: new AbortController().signal })
  const { signal, timeLimited } = limit
  return await syncInOrder(sandbox, warehouse, { resources, around, signal, timeLimited, ...mutant })
}

const done = (report: RunReport): string[] =>
  report.cursors.flatMap(({ status, resource }) => (status === 'ok' ? [resource] : [])).sort()

describe.each(warehouses())('$name', (kind) => {
  it('ends cleanly: what is done is stored, the rest is skipped, and both are recorded', async () => {
    const warehouse = await open(kind)
    const report = await limited(warehouse, 2)
    expect(report).toMatchObject({ status: 'partial', reason: 'time_limit' })
    expect(report.cursors).toHaveLength(resources.length)
    const skipped = report.cursors.filter(({ status }) => status === 'skipped')
    expect(skipped.length).toBeGreaterThanOrEqual(4)
    expect(skipped.every(({ reason }) => reason === 'time_limit')).toBe(true)
    expect(await rowsOf(warehouse, 'sync_runs')).toMatchObject([{ status: 'partial', reason: 'time_limit' }])
    expect(await rowsOf(warehouse, 'sync_run_cursors')).toHaveLength(resources.length)
    expect((await rowsOf(warehouse, 'sync_lease'))[0]).toMatchObject({ owner: null })
    await warehouse.close()
  })

  it('continues with the cursors that have waited longest, so none starves', async () => {
    const warehouse = await open(kind)
    const seen = new Set<string>()
    for (let run = 0; run < 6; run++)
      for (const resource of done(await limited(warehouse, 2))) seen.add(resource)
    expect([...seen].sort()).toEqual(resources)
    await warehouse.close()
  })

  it('of two runs within one second, the later one had the last turn, whatever their ids', async () => {
    const warehouse = await open(kind)
    const { db } = warehouse
    for (const [run_id, at] of [
      ['20260101T000000-ffffff', '2026-01-01T00:00:00.100000Z'],
      ['20260101T000000-000000', '2026-01-01T00:00:00.200000Z'],
    ] as const) {
      const end = { run_id, tenant_id: 1, resource: 'notes', step: 1, requests: 1, started_at: at }
      await warehouse.write([
        db.insertInto('sync_runs').values({ run_id, mode: 'sync', started_at: at }).compile(),
        db.insertInto('sync_run_cursors').values(end).compile(),
      ])
    }
    const [turn] = (await lastTurns(warehouse, 'sync')).values()
    expect(turn).toMatch(/ 2026-01-01T00:00:00.200000Z$/)
    await warehouse.close()
  })

  it('would notice a run that begins with the same cursors each time', async () => {
    const warehouse = await open(kind)
    const seen = new Set<string>()
    for (let run = 0; run < 6; run++)
      for (const resource of done(await limited(warehouse, 2, { timeLimited: false }))) seen.add(resource)
    expect(seen.size).toBeLessThan(resources.length)
    await warehouse.close()
  })

  it('a limit that is reached when everything is done cuts nothing short', async () => {
    const warehouse = await open(kind)
    expect(await limited(warehouse, 100)).toMatchObject({ status: 'ok', reason: null })
    await warehouse.close()
  })
})
