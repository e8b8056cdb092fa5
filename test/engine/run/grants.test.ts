/** Which tenants are granted: the results of an odd list of authorizations, a revocation and a 404. */
import { beforeEach, describe, expect, it } from 'vitest'
import { type Fault, type Rule, template } from '../../../src/sandbox/index.js'
import { carryOut, forget } from '../../support/harness/commands.js'
import {
  type CursorReport,
  type RunOptions,
  type RunReport,
  readAuthorizations,
  syncInOrder,
} from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { sample } from '../../support/harness/size.js'
import { kept, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'

const sandbox = await sandboxOfFile()
/** Tenants 101 and 102, each with a note and a vehicle; and so many more, with nothing. */
function begin(more = 0): void {
  sandbox.reset()
  sandbox.store.shuffleTies = false
  for (let id = 101; id <= 102 + more; id++) sandbox.store.addTenant({ id })
  for (const tenant of [101, 102])
    for (const resource of ['notes', 'vehicles'])
      sandbox.store.put(tenant, resource, template(resource, tenant, '2026-01-01T00:00:00Z'))
}

const when = { resource: 'authorizations' } as const
const always = (fault: Fault | Fault[]): void => sandbox.script([{ when, fault }])
const of = (report: RunReport, tenant: number): CursorReport[] =>
  report.cursors.filter((cursor) => cursor.tenant_id === tenant)
const asked = (): number => sandbox.requests.filter(({ resource }) => resource === 'authorizations').length

const well = { status: 'ok', reason: null }
const incomplete = { status: 'partial', reason: 'grants_incomplete' }

describe.each(warehouses())('$name', (kind) => {
  const place = kept(kind)
  let warehouse: Warehouse
  beforeEach(async () => {
    begin()
    warehouse = await place.open()
  })

  async function run(expected: object, options: RunOptions = {}): Promise<RunReport> {
    sandbox.resetRequests()
    const report = await syncInOrder(sandbox, warehouse, { resources: ['notes', 'vehicles'], ...options })
    expect(report).toMatchObject(expected)
    return report
  }
  /** Whom the warehouse knows as revoked. */
  async function expectRevoked(...tenants: readonly number[]): Promise<void> {
    const revoked = (await rowsOf(warehouse, 'tenants')).filter((row) => row.revoked_at !== null)
    expect(revoked.map((row) => row.tenant_id)).toEqual(tenants)
  }
  /** Pages of authorizations of 20, and of 5. */
  const few = { resources: ['statuses'], pageSize: 20 }
  const small = { ...few, pageSize: 5 }
  const uncounted: Fault = { kind: 'total', remove: true }

  describe('a list of authorizations', () => {
    it('authorizations in a changing order revoke nobody: unseen tenants fail, the others are walked', async () => {
      begin(30)
      await run(well, few)
      sandbox.store.shuffleTies = true
      let short = 0
      for (let i = 0; i < 4; i++) {
        const { cursors, ...report } = await run({}, few)
        expect([asked(), cursors.length]).toEqual([4, 32])
        const failed = cursors.filter(({ status }) => status !== 'ok')
        expect(failed.filter(({ reason }) => reason !== 'grants_incomplete')).toEqual([])
        expect(report).toMatchObject(failed.length > 0 ? incomplete : well)
        short += failed.length
        await expectRevoked()
      }
      // In this order, one reading misses about seven tenants, and two together about two.
      expect(short).toBeGreaterThan(0)
      expect(short).toBeLessThan(4 * 6)
      sandbox.store.shuffleTies = false
      await run(well, few)
      expect(asked()).toBe(2)
    })

    const odd: [
      name: string,
      more: number,
      fault: Fault | Fault[],
      requests: number,
      reason: string | null,
    ][] = [
      ['a full last page, and then it again', 3, { kind: 'paging', beyond: 'last' }, 2, null],
      ['the total of the page', 5, { kind: 'total', page: true }, 4, 'grants_incomplete'],
      // Such a list doesn't show who is missing.
      ['a total capped at 5', 5, { kind: 'total', most: 5 }, 2, null],
      // Two pages, and one behind them.
      ['no total', 5, uncounted, 3, null],
      ['pages of 2 and no total', 5, [{ kind: 'paging', most: 2, offset: 'asked' }, uncounted], 5, null],
      ['total_pages of 1', 5, { kind: 'pages', to: 1 }, 2, null],
      ['total_pages of 0', 5, { kind: 'pages', to: 0 }, 2, null],
      ['total_pages rounded down', 5, { kind: 'pages', floor: true }, 2, null],
      ['pages of 2', 5, { kind: 'paging', most: 2 }, 4, null],
      ['a full last page, and then a refusal', 3, { kind: 'paging', beyond: 'refused' }, 2, null],
    ]
    it.each(sample(odd, 5))(
      'with %s: every tenant is walked, and nobody is revoked',
      async (_, more, fault, requests, reason) => {
        begin(more)
        always(fault)
        const { cursors } = await run({ reason }, small)
        expect(asked()).toBe(requests)
        expect(cursors).toHaveLength(2 + more)
        await expectRevoked()
      },
    )

    it.each<[how: string, fault: Fault]>([
      ['shows more than it counts', { kind: 'total', most: 5 }],
      ['has no total', uncounted],
    ])('that %s revokes nobody, since one may be missing', async (_, fault) => {
      begin(5)
      await run({}, small)
      sandbox.store.revoke(107)
      always(fault)
      await run(incomplete, small)
      await expectRevoked()
      sandbox.script([])
      await run({}, small)
      await expectRevoked(107)
    })

    it('that counts more than it shows fails the run, and everything granted is walked', async () => {
      always({ kind: 'total', by: 1 })
      const { cursors } = await run(incomplete)
      expect(cursors.map(({ status }) => status)).toEqual(['ok', 'ok', 'ok', 'ok'])
      expect(await rowsOf(warehouse, 'sync_runs')).toMatchObject([{ reason: 'grants_incomplete' }])
    })

    it('whose pages count differently is read again', async () => {
      begin(99)
      // Everything that the first page counts is shown; the second page counts one more, and a third one shows that none
      // follows.
      sandbox.script([{ when: { ...when, page: 2 }, times: 1, fault: { kind: 'total', by: 1 } }])
      expect(await carryOut(sandbox, warehouse, readAuthorizations)).toMatchObject({ total: 101 })
      expect(asked()).toBe(5)
    })

    it('that is empty once, or shows a tenant in one of two queries, revokes nobody', async () => {
      await run(well)
      sandbox.script([{ when, times: 1, fault: { kind: 'empty' } }])
      await run(well)
      expect(asked()).toBe(2)
      sandbox.script(
        [101, 102].map((to, i) => ({
          when: { ...when, nth: i + 1 },
          fault: { kind: 'alter', path: 'tenant_id', to, records: 'all' },
        })),
      )
      await run(well)
      await expectRevoked()
    })

    /** One authorization is at all of these places, as from a join without distinct. */
    const twice = (records: number[] | 'all', more: Rule['when'] = {}): Rule => ({
      when: { ...when, ...more },
      fault: [
        { kind: 'alter', path: 'id', to: 7, records },
        { kind: 'alter', path: 'tenant_id', to: 101, records },
      ],
    })

    it('that always shows an authorization twice is settled by a second reading, and every tenant is walked', async () => {
      begin(1)
      sandbox.script([twice([0, 2])])
      for (let i = 0; i < 2; i++) {
        const notices: [string, Record<string, unknown>][] = []
        await run(well, { notices })
        expect(asked()).toBe(2)
        expect(notices.find(([text]) => text.includes('shows some of them twice'))?.[1]).toEqual({
          places: 1,
        })
      }
      // Nothing shows whether the second place is that of a missing tenant.
      sandbox.script([])
      await run(well)
      sandbox.script([twice([0, 2])])
      const report = await run(incomplete)
      expect(of(report, 103)[0]).toMatchObject({ status: 'failed', reason: 'grants_incomplete' })
      expect(of(report, 102)[0]).toMatchObject({ status: 'ok' })
      // The total is reached, but tenants 102 and 103 aren't shown.
      sandbox.script([twice('all')])
      await run(incomplete)
      await expectRevoked()
    })

    it('whose pages overlap hides an authorization: pages of another size show it', async () => {
      begin(5)
      // The last place on the first page, and the first on the second.
      sandbox.script([twice([4], { page: 1, perPage: 5 }), twice([0], { page: 2, perPage: 5 })])
      const { cursors } = await run(well, small)
      expect(cursors).toHaveLength(7)
    })

    it('with unknown fields has drift; unreadable ones are in quarantine and revoke nobody', async () => {
      await run(well)
      always({ kind: 'fields', name: 'plan', value: 'gold', records: 'all' })
      await run(well)
      const drift = { resource: 'authorizations', path: 'plan', kind: 'unknown_field' }
      expect(await rowsOf(warehouse, 'sync_drift')).toMatchObject([drift])
      always({ kind: 'alter', path: 'tenant_id', to: 'x', records: [0] })
      const report = await run({ status: 'partial', reason: 'record_unstorable' })
      expect(of(report, 101)[0]).toMatchObject({ status: 'failed', reason: 'grants_incomplete' })
      expect(of(report, 102)[0]).toMatchObject({ status: 'ok' })
      await expectRevoked()
      const unreadable = { tenant_id: 0, resource: 'authorizations', path: 'tenant_id', value: '"x"' }
      expect(await rowsOf(warehouse, 'sync_quarantine')).toMatchObject([unreadable])
      sandbox.script([])
      await run(well)
      expect(await rowsOf(warehouse, 'sync_quarantine')).toEqual([])
    })
  })

  it('a revocation counts once it was confirmed, and is then reported in every run until the tenant is granted again', async () => {
    await run(well)
    sandbox.store.revoke(101)
    const left = { status: 'skipped', reason: 'revoked', requests: 0, completeness: 'unproven' }
    for (const requests of [2, 1]) {
      const report = await run({ status: 'partial', reason: null })
      expect(asked()).toBe(requests)
      expect(of(report, 101)).toMatchObject([left, left])
      expect(of(report, 101)[0]?.error).toContain('Tenant 101 is no longer granted')
      expect(of(report, 102).every(({ status }) => status === 'ok')).toBe(true)
    }
    await expectRevoked(101)
    const states = (await rowsOf(warehouse, 'sync_cursors')).filter((row) => row.tenant_id === 101)
    const kept = { status: 'skipped', reason: 'revoked', completeness: 'proven' }
    expect(states).toMatchObject([kept, kept])
    // One that is named costs only the query for the grants.
    await run({ status: 'failed', requests: 1 }, { tenants: [101] })
    sandbox.store.grant(101)
    await run(well)
    expect(asked()).toBe(1)
    await expectRevoked()
  })

  it('a tenant in exceptTenants is neither walked nor reported, whether granted or revoked; a mistyped one leaves no run', async () => {
    await run(well)
    const except = { exceptTenants: [101] }
    expect(of(await run({ ...well, requests: 3 }, except), 101)).toEqual([])
    sandbox.store.revoke(101)
    await run({ ...well, requests: 3 }, except)
    expect(await rowsOf(warehouse, 'notes')).toHaveLength(2)
    const before = await rowsOf(warehouse, 'sync_runs')
    await expect(run({}, { ...except, tenants: [101] })).rejects.toThrow('sync.exceptTenants')
    await expect(run({}, { tenants: [9] })).rejects.toThrow('Tenant 9 is not granted')
    expect(await rowsOf(warehouse, 'sync_runs')).toEqual(before)
  })

  it('without any grants, the run fails until there are grants again or the tenants are forgotten', async () => {
    for (const tenant of [101, 102]) sandbox.store.revoke(tenant)
    const none = { status: 'failed', reason: 'no_grants' }
    await run({ ...none, cursors: [] })
    for (const tenant of [101, 102]) sandbox.store.grant(tenant)
    await run(well)
    for (const tenant of [101, 102]) sandbox.store.revoke(tenant)
    for (let i = 0; i < 2; i++) {
      const { cursors } = await run(none)
      expect(new Set(cursors.map(({ reason }) => reason))).toEqual(new Set(['revoked']))
    }
    await forget(sandbox, warehouse, 101)
    await run(none)
    await forget(sandbox, warehouse, 102)
    await run({ ...well, cursors: [] })
    sandbox.store.grant(101)
    await run(well)
  })

  describe('a 404', () => {
    it('a resource that answered once and now returns 404 has failed, documented or not, and its watermark stays', async () => {
      const before = await run(well)
      for (const resource of ['notes', 'vehicles']) sandbox.store.switchOff(resource, 101)
      for (let i = 0; i < 2; i++) {
        const report = await run({ status: 'partial' })
        const gone = of(before, 101).map(({ watermark }) => ({ status: 'failed', reason: 'gone', watermark }))
        expect(of(report, 101)).toMatchObject(gone)
        expect(of(report, 101)[0]?.error).toContain('has answered before')
        // At the beginning, and again for both resources.
        expect(asked()).toBe(2)
      }
      await expectRevoked()
      for (const resource of ['notes', 'vehicles']) sandbox.store.switchOn(resource, 101)
      await run(well)
    })

    it('of a tenant that is revoked during its first load is none of a resource that is not offered', async () => {
      sandbox.onRequest(({ tenant, resource }) => {
        if (tenant === 101 && resource === 'vehicles') sandbox.store.revoke(101)
      })
      const report = await run({ status: 'partial' })
      const vehicles = of(report, 101).find(({ resource }) => resource === 'vehicles')
      expect(vehicles).toMatchObject({ status: 'skipped', reason: 'revoked' })
      await expectRevoked(101)
    })

    it('of a resource that is not offered says so once something else of its tenant has answered', async () => {
      sandbox.store.switchOff('vehicles', 101)
      const only = { resources: ['vehicles'] }
      expect(of(await run({}, only), 101)).toMatchObject([{ status: 'failed', reason: 'unreachable' }])
      await run(well, { resources: ['notes'] })
      expect(of(await run(well, only), 101)).toMatchObject([{ status: 'unavailable', reason: null }])
      expect(asked()).toBe(2)
      // A resource that wasn't offered before either casts no doubt on the tenant.
      await run(well, only)
      expect(asked()).toBe(1)
    })
  })
})
