/** A wait that the API demands and that is too long: what it ends, and what the run reports. */
import { describe, expect, it } from 'vitest'
import { template } from '../../../src/sandbox/index.js'
import { emptySandbox, request } from '../../support/harness/requests.js'
import { sync } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { open, rowsOf, warehouses } from '../../support/harness/warehouse.js'
import { HandClock } from '../../support/world/clocks.js'

const resources = ['appointments', 'categories', 'customers', 'notes', 'statuses', 'vehicles']
const sandbox = await sandboxOfFile()

function fill(): void {
  sandbox.reset()
  sandbox.store.addTenant({ id: 1 })
  for (const resource of resources)
    sandbox.store.put(1, resource, template(resource, 1, '2026-01-01T00:00:00Z'))
}

const inAWeek = Math.floor(Date.now() / 1000) + 7 * 86_400
const tomorrow = Math.floor(Date.now() / 1000) + 86_400

/** A 429 for one resource, with these headers on top of the sandbox's own. */
const refuse = (resource: string, set: Record<string, string>): void =>
  sandbox.script([
    {
      when: { resource },
      fault: [
        { kind: 'status', status: 429 },
        { kind: 'headers', set },
      ],
    },
  ])

const spent = { 'X-RateLimit-Limit': '100', 'X-RateLimit-Remaining': '0' }

describe.each(warehouses())('$name', (kind) => {
  it('ends only the cursor that was told to wait, if the headers count free requests', async () => {
    fill()
    refuse('notes', { 'Retry-After': '315360000' })
    const warehouse = await open(kind)
    const report = await sync(sandbox, warehouse, { resources })
    expect(report).toMatchObject({ status: 'partial', reason: null })
    const failed = report.cursors.filter(({ status }) => status !== 'ok')
    expect(failed).toMatchObject([
      { resource: 'notes', status: 'failed', reason: 'told_to_wait', requests: 1 },
    ])
    expect(failed[0]?.error).toMatch(/wait 3650 d.*expected at most 1 h.*api\.maxWait/)
    expect(await rowsOf(warehouse, 'categories')).toHaveLength(1)
    await warehouse.close()
  })

  it('ends every cursor without another request if nothing remains until then; the next run tries again', async () => {
    fill()
    refuse('notes', { ...spent, 'Retry-After': '86400', 'X-RateLimit-Reset': String(tomorrow) })
    const warehouse = await open(kind)
    const report = await sync(sandbox, warehouse, { resources: ['notes', ...resources], concurrency: 1 })
    const told = report.cursors.filter(({ reason }) => reason === 'told_to_wait')
    expect(told.length).toBeGreaterThan(0)
    const after = report.cursors.slice(report.cursors.findIndex(({ resource }) => resource === 'notes'))
    expect(after.map(({ reason, requests }) => [reason, requests])).toEqual(
      after.map((_, i) => ['told_to_wait', i === 0 ? 1 : 0]),
    )
    sandbox.script([])
    expect(await sync(sandbox, warehouse, { resources })).toMatchObject({ status: 'ok' })
    await warehouse.close()
  })

  it('is exit 3 and the reason of the run if the authorizations were told to wait', async () => {
    fill()
    refuse('authorizations', { ...spent, 'Retry-After': '604800', 'X-RateLimit-Reset': String(inAWeek) })
    const warehouse = await open(kind)
    let requests = 0
    const off = sandbox.onRequest(() => {
      requests++
    })
    await expect(sync(sandbox, warehouse, { resources })).rejects.toMatchObject({
      exitCode: 3,
      details: { code: 'told_to_wait' },
    })
    off()
    expect(requests).toBe(1)
    expect(await rowsOf(warehouse, 'sync_runs')).toMatchObject([{ status: 'failed', reason: 'told_to_wait' }])
    await warehouse.close()
  })

  it('a run that begins in a window that others have used up waits for its end, and loses nothing', async () => {
    const clock = new HandClock('2026-03-02T12:00:20Z')
    const busy = await emptySandbox({ tenants: 0, clock, rate: { limit: 40, window: 60 } })
    busy.store.addTenant({ id: 1 })
    for (const resource of resources)
      busy.store.put(1, resource, template(resource, 1, '2026-01-01T00:00:00Z'))
    let status = 200
    while (status === 200)
      status = (await request(busy, `/api/v1/partners/${busy.partnerId}/authorizations`)).status
    expect(status).toBe(429)
    const warehouse = await open(kind)
    const report = await sync(busy, warehouse, { resources, clock, leaseMs: 600_000 })
    expect(report).toMatchObject({ status: 'ok', rate_limited: 1, retries: 1 })
    expect(clock.micros).toBeGreaterThan(BigInt(Date.parse('2026-03-02T12:01:00Z')) * 1000n)
    expect(clock.micros).toBeLessThan(BigInt(Date.parse('2026-03-02T12:01:30Z')) * 1000n)
    for (const resource of resources) expect(await rowsOf(warehouse, resource)).toHaveLength(1)
    await warehouse.close()
  })
})
