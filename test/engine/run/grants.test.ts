/** Which tenants are granted: the results of an odd list of authorizations, a revocation and a 404. */
import { beforeEach, describe, expect, it } from 'vitest'
import { forgetTenant } from '../../../src/features/forget/work.js'
import { type Rule, template } from '../../../src/sandbox/index.js'
import {
  type CursorReport,
  depsOf,
  type RunOptions,
  type RunReport,
  readAuthorizations,
  sync,
  syncInOrder,
} from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { someOf } from '../../support/harness/size.js'
import { kept, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'

const sandbox = await sandboxOfFile()
beforeEach(() => {
  sandbox.reset()
  for (const id of [101, 102]) sandbox.store.addTenant({ id })
  for (const tenant of [101, 102])
    for (const resource of ['notes', 'vehicles'])
      sandbox.store.put(tenant, resource, template(resource, tenant, '2026-01-01T00:00:00Z'))
})

const revokedOf = async (warehouse: Warehouse): Promise<unknown[]> =>
  (await rowsOf(warehouse, 'tenants')).filter((row) => row.revoked_at !== null).map((row) => row.tenant_id)
const of = (report: RunReport, tenant: number): CursorReport[] =>
  report.cursors.filter((cursor) => cursor.tenant_id === tenant)
const asked = (): number => sandbox.requests.filter(({ resource }) => resource === 'authorizations').length

async function run(warehouse: Warehouse, options: RunOptions = {}): Promise<RunReport> {
  sandbox.resetRequests()
  return syncInOrder(sandbox, warehouse, { resources: ['notes', 'vehicles'], ...options })
}

async function forget(warehouse: Warehouse, tenantId: number): Promise<void> {
  const { deps, close } = await depsOf(sandbox, warehouse)
  await forgetTenant(deps, tenantId)
  await close()
}

describe.each(warehouses())('$name', (kind) => {
  const place = kept(kind)
  let warehouse: Warehouse
  beforeEach(async () => {
    warehouse = await place.open()
  })

  it('a mistyped tenant leaves no run behind', async () => {
    await run(warehouse)
    const before = await rowsOf(warehouse, 'sync_runs')
    await expect(run(warehouse, { tenants: [9] })).rejects.toThrow('Tenant 9 is not granted')
    expect(await rowsOf(warehouse, 'sync_runs')).toEqual(before)
  })

  it('authorizations in a changing order revoke nobody: unseen tenants fail, the others are walked', async () => {
    for (let id = 103; id <= 132; id++) sandbox.store.addTenant({ id })
    const few = { resources: ['statuses'], pageSize: 20 }
    expect((await run(warehouse, few)).status).toBe('ok')
    sandbox.store.shuffleTies = true
    let short = 0
    for (let i = 0; i < 4; i++) {
      const report = await run(warehouse, few)
      const failed = report.cursors.filter(({ status }) => status !== 'ok')
      expect(asked()).toBe(4)
      expect(report.cursors).toHaveLength(32)
      expect(new Set(failed.map(({ status, reason }) => `${status} ${reason}`))).toEqual(
        new Set(failed.length > 0 ? ['failed grants_incomplete'] : []),
      )
      expect([report.status, report.reason]).toEqual(
        failed.length > 0 ? ['partial', 'grants_incomplete'] : ['ok', null],
      )
      short += failed.length
      expect(await revokedOf(warehouse)).toEqual([])
    }
    // In this order, one reading misses about seven tenants, and two together about two.
    expect(short).toBeGreaterThan(0)
    expect(short).toBeLessThan(4 * 6)
    sandbox.store.shuffleTies = false
    expect(await run(warehouse, few)).toMatchObject({ status: 'ok', reason: null })
    expect(asked()).toBe(2)
  })

  it('a list that counts more authorizations than it shows fails the run, and everything granted is walked', async () => {
    sandbox.script([{ when: { resource: 'authorizations' }, fault: { kind: 'total', by: 1 } }])
    const report = await run(warehouse)
    expect(report).toMatchObject({ status: 'partial', reason: 'grants_incomplete' })
    expect(report.cursors.map(({ status }) => status)).toEqual(['ok', 'ok', 'ok', 'ok'])
    expect((await rowsOf(warehouse, 'sync_runs'))[0]).toMatchObject({ reason: 'grants_incomplete' })
  })

  it('a list whose pages count differently is read again', async () => {
    for (let id = 103; id <= 201; id++) sandbox.store.addTenant({ id })
    // Everything that the first page counts is shown; the second page counts one more.
    sandbox.script([
      { when: { resource: 'authorizations', page: 2 }, times: 1, fault: { kind: 'total', by: 1 } },
    ])
    const { deps, close } = await depsOf(sandbox, warehouse)
    expect(await readAuthorizations(deps)).toMatchObject({ total: 101 })
    // The second page counts one more than exist; a third one shows that none follows.
    expect(asked()).toBe(5)
    await close()
  })

  const all = { resource: 'authorizations' } as const
  const odd = [
    ['total_pages of 1', 29, [{ when: all, fault: { kind: 'pages', to: 1 } }], 2, null],
    ['total_pages of 0', 29, [{ when: all, fault: { kind: 'pages', to: 0 } }], 2, null],
    ['total_pages rounded down', 29, [{ when: all, fault: { kind: 'pages', floor: true } }], 2, null],
    ['pages of 8', 29, [{ when: all, fault: { kind: 'paging', most: 8 } }], 4, null],
    ['a full last page', 18, [], 2, null],
    [
      'a full last page, and then it again',
      18,
      [{ when: all, fault: { kind: 'paging', beyond: 'last' } }],
      2,
      null,
    ],
    [
      'a full last page, and then a refusal',
      18,
      [{ when: all, fault: { kind: 'paging', beyond: 'refused' } }],
      2,
      null,
    ],
    // Such a list doesn't show who is missing.
    ['a total capped at 20', 29, [{ when: all, fault: { kind: 'total', most: 20 } }], 2, null],
    [
      'the total of the page',
      29,
      [{ when: all, fault: { kind: 'total', page: true } }],
      4,
      'grants_incomplete',
    ],
  ] as const
  it.each(someOf(2, odd))(
    'authorizations with %s: every tenant is walked, and nobody is revoked',
    async (_, more, rules, requests, reason) => {
      for (let id = 103; id < 103 + more; id++) sandbox.store.addTenant({ id })
      sandbox.script(rules)
      const report = await run(warehouse, { resources: ['statuses'], pageSize: 20 })
      expect(asked()).toBe(requests)
      expect(new Set(report.cursors.map((cursor) => cursor.tenant_id)).size).toBe(2 + more)
      expect(report.reason).toBe(reason)
      expect(await revokedOf(warehouse)).toEqual([])
    },
  )

  it('authorizations that show more than they count revoke nobody, since one may be missing', async () => {
    for (let id = 103; id <= 130; id++) sandbox.store.addTenant({ id })
    const few = { resources: ['statuses'], pageSize: 20 }
    await run(warehouse, few)
    sandbox.store.revoke(130)
    sandbox.script([{ when: all, fault: { kind: 'total', most: 20 } }])
    expect(await run(warehouse, few)).toMatchObject({ status: 'partial', reason: 'grants_incomplete' })
    expect(await revokedOf(warehouse)).toEqual([])
    sandbox.script([])
    await run(warehouse, few)
    expect(await revokedOf(warehouse)).toEqual([130])
  })

  it('a list without a total grants what it shows to its end, and revokes nobody', async () => {
    for (let id = 103; id <= 130; id++) sandbox.store.addTenant({ id })
    sandbox.script([{ when: { resource: 'authorizations' }, fault: { kind: 'total', remove: true } }])
    const few = { resources: ['statuses'], pageSize: 20 }
    const first = await run(warehouse, few)
    expect(first).toMatchObject({ status: 'ok', reason: null })
    expect(first.cursors).toHaveLength(30)
    // Two pages, and one behind them.
    expect(asked()).toBe(3)
    sandbox.store.revoke(130)
    expect(await run(warehouse, few)).toMatchObject({ status: 'partial', reason: 'grants_incomplete' })
    expect(await revokedOf(warehouse)).toEqual([])
    sandbox.script([])
    await run(warehouse, few)
    expect(await revokedOf(warehouse)).toEqual([130])
  })

  it('a source that serves fewer authorizations than requested, without a total, is read to its end', async () => {
    for (let id = 103; id <= 130; id++) sandbox.store.addTenant({ id })
    sandbox.script([
      {
        when: { resource: 'authorizations' },
        fault: [
          { kind: 'paging', most: 7, offset: 'asked' },
          { kind: 'total', remove: true },
        ],
      },
    ])
    expect((await run(warehouse, { resources: ['statuses'] })).cursors).toHaveLength(30)
  })

  it('a tenant that one of two queries shows is granted', async () => {
    await run(warehouse)
    sandbox.script(
      [101, 102].map((to, i) => ({
        when: { resource: 'authorizations', nth: i + 1 },
        fault: { kind: 'alter', path: 'tenant_id', to, records: 'all' },
      })),
    )
    expect(await run(warehouse)).toMatchObject({ status: 'ok', reason: null })
    expect(await revokedOf(warehouse)).toEqual([])
  })

  /** One authorization is at both places, as from a join without distinct. */
  const twice = (places: number[], when: Rule['when'] = {}): Rule => ({
    when: { resource: 'authorizations', ...when },
    fault: [
      { kind: 'alter', path: 'id', to: 7, records: places },
      { kind: 'alter', path: 'tenant_id', to: 101, records: places },
    ],
  })

  it('an authorization that is always listed twice is settled by a second reading, and every tenant is walked', async () => {
    sandbox.store.addTenant({ id: 103 })
    sandbox.script([twice([0, 2])])
    for (let i = 0; i < 2; i++) {
      const notices: [string, Record<string, unknown>][] = []
      expect(await run(warehouse, { notices })).toMatchObject({ status: 'ok', reason: null })
      expect(asked()).toBe(2)
      expect(notices.find(([text]) => text.includes('shows some of them twice'))?.[1]).toEqual({ places: 1 })
    }
    // Nothing shows whether the second place is that of a missing tenant.
    sandbox.script([])
    expect(await run(warehouse)).toMatchObject({ status: 'ok' })
    sandbox.script([twice([0, 2])])
    const report = await run(warehouse)
    expect(report).toMatchObject({ status: 'partial', reason: 'grants_incomplete' })
    expect(of(report, 103)[0]).toMatchObject({ status: 'failed', reason: 'grants_incomplete' })
    expect(of(report, 102)[0]).toMatchObject({ status: 'ok' })
    expect(await revokedOf(warehouse)).toEqual([])
  })

  it('pages of a hundred that overlap hide an authorization: pages of another size show it', async () => {
    for (let id = 103; id <= 201; id++) sandbox.store.addTenant({ id })
    // The last place on the first page, and the first on the second.
    sandbox.script([twice([99], { page: 1, perPage: 100 }), twice([0], { page: 2, perPage: 100 })])
    const report = await run(warehouse, { resources: ['statuses'] })
    expect(report).toMatchObject({ status: 'ok', reason: null })
    expect(report.cursors).toHaveLength(101)
  })

  it('a list that is empty once revokes nobody', async () => {
    await run(warehouse)
    sandbox.script([{ when: { resource: 'authorizations' }, times: 1, fault: { kind: 'empty' } }])
    expect(await run(warehouse)).toMatchObject({ status: 'ok', reason: null })
    expect(asked()).toBe(2)
    expect(await revokedOf(warehouse)).toEqual([])
  })

  it('a revocation counts once it was confirmed, and is then reported in every run until the tenant is granted again', async () => {
    await run(warehouse)
    sandbox.store.revoke(101)
    for (const requests of [2, 1, 1]) {
      const report = await run(warehouse)
      expect(report).toMatchObject({ status: 'partial', reason: null })
      expect(asked()).toBe(requests)
      expect(of(report, 101)).toMatchObject([
        { status: 'skipped', reason: 'revoked', requests: 0, completeness: 'unproven' },
        { status: 'skipped', reason: 'revoked', requests: 0, completeness: 'unproven' },
      ])
      expect(of(report, 101)[0]?.error).toContain('Tenant 101 is no longer granted')
      expect(of(report, 102).every(({ status }) => status === 'ok')).toBe(true)
    }
    expect(await revokedOf(warehouse)).toEqual([101])
    const states = (await rowsOf(warehouse, 'sync_cursors')).filter((row) => row.tenant_id === 101)
    expect(states).toMatchObject([
      { status: 'skipped', reason: 'revoked', completeness: 'proven' },
      { status: 'skipped', reason: 'revoked', completeness: 'proven' },
    ])
    sandbox.store.grant(101)
    expect(await run(warehouse)).toMatchObject({ status: 'ok' })
    expect(asked()).toBe(1)
    expect(await revokedOf(warehouse)).toEqual([])
  })

  it('a revoked tenant that is named costs only the query for the grants', async () => {
    await run(warehouse)
    sandbox.store.revoke(101)
    await run(warehouse)
    const report = await run(warehouse, { tenants: [101] })
    expect(report).toMatchObject({ status: 'failed', requests: 1 })
    expect(sandbox.requests).toHaveLength(1)
  })

  it('a tenant in exceptTenants is neither walked nor reported, whether granted or revoked', async () => {
    await run(warehouse)
    const except = { exceptTenants: [101] }
    const granted = await run(warehouse, except)
    expect(granted).toMatchObject({ status: 'ok', requests: 3 })
    expect(of(granted, 101)).toEqual([])
    sandbox.store.revoke(101)
    const revoked = await run(warehouse, except)
    expect(revoked).toMatchObject({ status: 'ok', requests: 3 })
    expect(await rowsOf(warehouse, 'notes')).toHaveLength(2)
    await expect(run(warehouse, { ...except, tenants: [101] })).rejects.toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('sync.exceptTenants'),
    })
  })

  it('without any grants, the run fails until there are grants again or the tenants are forgotten', async () => {
    expect(await run(warehouse)).toMatchObject({ status: 'ok' })
    for (const tenant of [101, 102]) sandbox.store.revoke(tenant)
    for (let i = 0; i < 2; i++) {
      const report = await run(warehouse)
      expect(report).toMatchObject({ status: 'failed', reason: 'no_grants' })
      expect(new Set(report.cursors.map(({ reason }) => reason))).toEqual(new Set(['revoked']))
    }
    const reasons = (await rowsOf(warehouse, 'sync_runs')).map(({ reason }) => reason)
    expect(reasons.filter((reason) => reason === 'no_grants')).toHaveLength(2)
    await forget(warehouse, 101)
    expect(await run(warehouse)).toMatchObject({ status: 'failed', reason: 'no_grants' })
    await forget(warehouse, 102)
    expect(await run(warehouse)).toMatchObject({ status: 'ok', reason: null, cursors: [] })
    sandbox.store.grant(101)
    expect(await run(warehouse)).toMatchObject({ status: 'ok', reason: null })
  })

  it('reports that a partner was never granted anything', async () => {
    for (const tenant of [101, 102]) sandbox.store.revoke(tenant)
    expect(await run(warehouse)).toMatchObject({ status: 'failed', reason: 'no_grants', cursors: [] })
  })

  it('a resource that answered once and now returns 404 has failed, documented or not, and its watermark stays', async () => {
    const before = await run(warehouse)
    for (const resource of ['notes', 'vehicles']) sandbox.store.switchOff(resource, 101)
    for (let i = 0; i < 2; i++) {
      const report = await run(warehouse)
      expect(report.status).toBe('partial')
      expect(of(report, 101)).toMatchObject(
        of(before, 101).map(({ watermark }) => ({ status: 'failed', reason: 'gone', watermark })),
      )
      expect(of(report, 101)[0]?.error).toContain('has answered before')
      // At the beginning, and again for both resources.
      expect(asked()).toBe(2)
    }
    expect(await revokedOf(warehouse)).toEqual([])
    sandbox.store.switchOn('notes', 101)
    sandbox.store.switchOn('vehicles', 101)
    expect(await run(warehouse)).toMatchObject({ status: 'ok' })
  })

  it('a tenant that is revoked during its first load has no resource that is not offered', async () => {
    sandbox.onRequest(({ tenant, resource }) => {
      if (tenant === 101 && resource === 'vehicles') sandbox.store.revoke(101)
    })
    const report = await run(warehouse)
    expect(report.status).toBe('partial')
    expect(of(report, 101).find(({ resource }) => resource === 'vehicles')).toMatchObject({
      status: 'skipped',
      reason: 'revoked',
    })
    expect(await revokedOf(warehouse)).toEqual([101])
  })

  it('a resource that is not offered is judged the same by itself as in a whole run', async () => {
    sandbox.store.switchOff('vehicles', 101)
    await run(warehouse, { resources: ['notes'] })
    const alone = await run(warehouse, { resources: ['vehicles'] })
    expect(alone).toMatchObject({ status: 'ok' })
    expect(of(alone, 101)).toMatchObject([{ status: 'unavailable', reason: null }])
    expect(asked()).toBe(2)
    // A resource that wasn't offered before either casts no doubt on the tenant.
    await run(warehouse, { resources: ['vehicles'] })
    expect(asked()).toBe(1)
  })

  it('a resource with a 404 is not called absent while nothing else of its tenant has answered', async () => {
    sandbox.store.switchOff('vehicles', 101)
    const alone = await run(warehouse, { resources: ['vehicles'] })
    expect(of(alone, 101)).toMatchObject([{ status: 'failed', reason: 'unreachable' }])
  })

  it('unknown fields of authorizations are drift; unreadable ones are in quarantine and revoke nobody', async () => {
    await run(warehouse)
    const when = { resource: 'authorizations' }
    sandbox.script([{ when, fault: { kind: 'fields', name: 'plan', value: 'gold', records: 'all' } }])
    expect(await run(warehouse)).toMatchObject({ status: 'ok' })
    expect(await rowsOf(warehouse, 'sync_drift')).toMatchObject([
      { resource: 'authorizations', path: 'plan', kind: 'unknown_field' },
    ])
    sandbox.script([{ when, fault: { kind: 'alter', path: 'tenant_id', to: 'x', records: [0] } }])
    const report = await run(warehouse)
    expect(report).toMatchObject({ status: 'partial', reason: 'record_unstorable' })
    expect(of(report, 101)[0]).toMatchObject({ status: 'failed', reason: 'grants_incomplete' })
    expect(of(report, 102)[0]).toMatchObject({ status: 'ok' })
    expect(await revokedOf(warehouse)).toEqual([])
    expect(await rowsOf(warehouse, 'sync_quarantine')).toMatchObject([
      { tenant_id: 0, resource: 'authorizations', path: 'tenant_id', value: '"x"' },
    ])
    sandbox.script([])
    expect(await run(warehouse)).toMatchObject({ status: 'ok' })
    expect(await rowsOf(warehouse, 'sync_quarantine')).toEqual([])
  })
})

const alone = kept(warehouses()[0]!)

it('if one reading lacks an authorization and one shows it twice, each authorization counts once', async () => {
  const warehouse = await alone.open()
  await sync(sandbox, warehouse, { resources: ['notes'] })
  // Both records on the page are the same authorization: the total is reached, but tenant 102 isn't shown.
  sandbox.script([
    {
      when: { resource: 'authorizations' },
      fault: [
        { kind: 'alter', path: 'id', to: 7, records: 'all' },
        { kind: 'alter', path: 'tenant_id', to: 101, records: 'all' },
      ],
    },
  ])
  const report = await sync(sandbox, warehouse, { resources: ['notes'] })
  expect(report).toMatchObject({ status: 'partial', reason: 'grants_incomplete' })
  expect(await revokedOf(warehouse)).toEqual([])
})
