/** A wait that the API demands and that is too long: what it ends, and what the run reports. */
import { beforeEach, describe, expect, it } from 'vitest'
import { template } from '../../../src/sandbox/index.js'
import { request } from '../../support/harness/requests.js'
import { sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { kept, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { HandClock } from '../../support/world/clocks.js'

const resources = ['appointments', 'categories', 'customers', 'notes', 'statuses', 'vehicles']
const clock = new HandClock('2026-03-02T12:00:20Z')
const sandbox = await sandboxOfFile()
const busy = await sandboxOfFile({ data: 'none', clock, rate: { limit: 40, window: 60 } })
for (const { store } of [sandbox, busy]) {
  store.addTenant({ id: 1 })
  for (const resource of resources) store.put(1, resource, template(resource, 1, '2026-01-01T00:00:00Z'))
}

const inDays = (days: number): string => String(Math.floor(Date.now() / 1000) + days * 86_400)
const spent = { 'X-RateLimit-Limit': '100', 'X-RateLimit-Remaining': '0' }
/** A 429 for one resource, with these headers on top of the sandbox's own. */
const refuse = (resource: string, set: Record<string, string>): void => {
  sandbox.resetRequests()
  const status = { kind: 'status', status: 429 } as const
  sandbox.script([{ when: { resource }, fault: [status, { kind: 'headers', set }] }])
}

describe.each(warehouses())('$name', (kind) => {
  const place = kept(kind)
  let warehouse: Warehouse
  beforeEach(async () => {
    warehouse = await place.open()
  })

  it('ends only the cursor that was told to wait, if the headers count free requests', async () => {
    refuse('notes', { 'Retry-After': '315360000' })
    const { cursors, ...report } = await sync(sandbox, warehouse, { resources })
    expect(report).toMatchObject({ status: 'partial', reason: null })
    const failed = cursors.filter(({ status }) => status !== 'ok')
    const told = { resource: 'notes', status: 'failed', reason: 'told_to_wait', requests: 1 }
    expect(failed).toMatchObject([told])
    expect(failed[0]?.error).toMatch(/wait 3650 d.*expected at most 1 h.*api\.maxWait/)
    expect(await rowsOf(warehouse, 'categories')).toHaveLength(1)
  })

  it('ends every cursor without another request if nothing remains until then; the next run tries again', async () => {
    refuse('notes', { ...spent, 'Retry-After': '86400', 'X-RateLimit-Reset': inDays(1) })
    const { cursors } = await sync(sandbox, warehouse, { resources, concurrency: 1 })
    const after = cursors.slice(cursors.findIndex(({ resource }) => resource === 'notes'))
    expect(after.map(({ reason, requests }) => [reason, requests])).toEqual([
      ['told_to_wait', 1],
      ['told_to_wait', 0],
      ['told_to_wait', 0],
    ])
    sandbox.script([])
    expect(await sync(sandbox, warehouse, { resources })).toMatchObject({ status: 'ok' })
  })

  it('is exit 3 and the reason of the run if the authorizations were told to wait', async () => {
    refuse('authorizations', { ...spent, 'Retry-After': '604800', 'X-RateLimit-Reset': inDays(7) })
    const stopped = { exitCode: 3, details: { code: 'told_to_wait' } }
    await expect(sync(sandbox, warehouse, { resources })).rejects.toMatchObject(stopped)
    expect(sandbox.requests).toHaveLength(1)
    expect(await rowsOf(warehouse, 'sync_runs')).toMatchObject([{ status: 'failed', reason: 'told_to_wait' }])
  })

  it('a run that begins in a window that others have used up waits for its end, and loses nothing', async () => {
    clock.micros = BigInt(Date.parse('2026-03-02T12:00:20Z')) * 1000n
    let status = 200
    while (status === 200)
      status = (await request(busy, `/api/v1/partners/${busy.partnerId}/authorizations`)).status
    const report = await sync(busy, warehouse, { resources, clock, leaseMs: 600_000 })
    expect([status, report]).toMatchObject([429, { status: 'ok', rate_limited: 1, retries: 1 }])
    const waited = Number(clock.micros / 1000n) - Date.parse('2026-03-02T12:01:00Z')
    expect(waited).toBeGreaterThan(0)
    expect(waited).toBeLessThan(30_000)
    for (const resource of resources) expect(await rowsOf(warehouse, resource)).toHaveLength(1)
  })
})
