/** A run under a time limit ends cleanly, and no cursor starves under a limit that ends every run. */
import { beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import { template } from '../../../src/sandbox/index.js'
import { type RunOptions, type RunReport, syncInOrder, timeLimit } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { kept, lastTurns, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { Between } from '../../support/world/between.js'

const resources = ['appointments', 'categories', 'customers', 'notes', 'statuses', 'vehicles']
const sandbox = await sandboxOfFile()
sandbox.store.addTenant({ id: 1 })
for (const resource of resources)
  sandbox.store.put(1, resource, template(resource, 1, '2026-01-01T00:00:00Z'))

describe.each(warehouses())('$name', (kind) => {
  const place = kept(kind)
  let warehouse: Warehouse
  beforeEach(async () => {
    warehouse = await place.open()
  })

  /** A run whose time is up after this many answered list requests, counted from 1. */
  async function limited(answers: number, mutant: RunOptions = {}): Promise<RunReport> {
    let end = (): void => {}
    const over = new Promise<void>((resolve) => {
      end = resolve
    })
    let asked = 0
    const around: RunOptions['around'] = (source) =>
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

  it('ends cleanly: what is done is stored, the rest is skipped, and both are recorded', async () => {
    const report = await limited(2)
    expect(report).toMatchObject({ status: 'partial', reason: 'time_limit' })
    expect(report.cursors).toHaveLength(resources.length)
    const skipped = report.cursors.filter(({ status }) => status === 'skipped')
    expect(skipped.length).toBeGreaterThanOrEqual(4)
    expect(skipped.every(({ reason }) => reason === 'time_limit')).toBe(true)
    expect(await rowsOf(warehouse, 'sync_runs')).toMatchObject([{ status: 'partial', reason: 'time_limit' }])
    expect(await rowsOf(warehouse, 'sync_run_cursors')).toHaveLength(resources.length)
    expect((await rowsOf(warehouse, 'sync_lease'))[0]).toMatchObject({ owner: null })
    // A limit that is reached when everything is done cuts nothing short.
    expect(await limited(100)).toMatchObject({ status: 'ok', reason: null })
  })

  it.each([
    ['continues with the cursors that have waited longest, so none starves', {}, true],
    ['would otherwise begin with the same ones each time', { timeLimited: false }, false],
  ])('%s', async (_, mutant, areAll) => {
    const seen = new Set<string>()
    for (let run = 0; run < 6; run++)
      for (const { status, resource } of (await limited(2, mutant)).cursors)
        if (status === 'ok') seen.add(resource)
    expect(seen.size === resources.length).toBe(areAll)
  })

  it('of two runs within one second, the later one had the last turn, whatever their ids', async () => {
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
  })
})
