/** A forgotten tenant stays out, granted or not, until someone lets it back in. */

import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { systemClock } from '../../../src/engine/base/clock.js'
import { adopt } from '../../../src/features/adopt/work.js'
import { forgetTenant, liftTenant } from '../../../src/features/forget/work.js'
import { statusText } from '../../../src/features/health/words.js'
import { makePlan } from '../../../src/features/plan/work.js'
import { runVerify } from '../../../src/features/reconcile/verifywork.js'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { type Place, place } from '../../support/harness/place.js'
import { type CursorChoice, type Dependencies, depsOf, runSync, sync } from '../../support/harness/runs.js'
import { statusOf } from '../../support/harness/status.js'
import {
  contents,
  forgottenTenants,
  migrate,
  open,
  reopen,
  rowsOf,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { begun } from '../../support/world/begins.js'
import { copyInto } from '../../support/world/copying.js'
import { interposed } from '../../support/world/interposed.js'

let shops: Sandbox
beforeAll(async () => {
  shops = await createSandbox({ tenants: 2, scale: 0.02, seed: 6 })
})
afterAll(() => shops.close())

const resources = ['notes', 'customers', 'categories']
const all: CursorChoice = { tenants: null, resources }
type Work<T> = (deps: Dependencies) => Promise<T>

async function with_<T>(warehouse: Warehouse, work: Work<T>, notices?: [string, Record<string, unknown>][]) {
  const { deps, close } = await depsOf(shops, warehouse, notices ? { notices } : {})
  try {
    return await work(deps)
  } finally {
    await close()
  }
}

const forget = (warehouse: Warehouse, tenant = 101) => with_(warehouse, (deps) => forgetTenant(deps, tenant))

/** A run whose configuration names tenants. */
const configured = (deps: Dependencies, tenants: readonly number[] | 'all'): Dependencies => ({
  ...deps,
  config: { ...deps.config, sync: { ...deps.config.sync, tenants } },
})

/** Tables with a row of the tenant. */
async function traces(warehouse: Warehouse, tenant = 101): Promise<string[]> {
  const found = new Set<string>()
  for (const { name } of warehouse.tables)
    for (const row of await rowsOf(warehouse, name)) if (row.tenant_id === tenant) found.add(name)
  return [...found]
}

const statusNow = (warehouse: Warehouse, options = {}) =>
  statusOf(shops, warehouse, { resources, nowMicros: systemClock.nowMicros(), ...options })

describe.each(warehouses())('$name', (kind) => {
  let warehouse: Warehouse
  beforeEach(async () => {
    warehouse = await open(kind)
    await sync(shops, warehouse, { resources })
    return () => warehouse.close()
  })

  it('runs of every kind leave it out, and status counts it', async () => {
    expect(await statusNow(warehouse)).toMatchObject({ forgotten: 0 })
    await forget(warehouse)
    for (const mode of ['sync', 'full', 'reconcile'] as const) {
      const report = await sync(shops, warehouse, { resources, mode })
      expect(report).toMatchObject({ status: 'ok', reason: null })
      expect(new Set(report.cursors.map(({ tenant_id }) => tenant_id))).toEqual(new Set([102]))
    }
    const plan = await with_(warehouse, (deps) => makePlan(deps, { mode: 'sync', job: null, ...all }, 0))
    expect(plan.tenants.map(({ tenant_id }) => tenant_id)).toEqual([102])
    const verified = await with_(warehouse, (deps) => runVerify(deps, all, { full: false, sample: 0 }))
    expect(new Set(verified.cursors.map(({ tenant_id }) => tenant_id))).toEqual(new Set([102]))
    expect(await traces(warehouse)).toEqual(['sync_forgotten'])
    const status = await statusNow(warehouse)
    expect(status).toMatchObject({ healthy: true, forgotten: 1, tenants: [{ tenant_id: 102 }] })
    expect(statusText(status)).toContain('Forgotten and left out: 1 tenant ')
  })

  it('nothing of its authorization is kept, whatever that contains', async () => {
    await forget(warehouse)
    const when = { resource: 'authorizations' }
    shops.script([
      { when, fault: { kind: 'alter', path: 'writable', to: 'perhaps', records: 'all' } },
      { when, fault: { kind: 'fields', name: 'plan', value: 'gold', records: 'all' } },
    ])
    await sync(shops, warehouse, { resources })
    shops.script([])
    expect(await traces(warehouse)).toEqual(['sync_forgotten'])
  })

  it('is left out with one warning if sync.tenants names it', async () => {
    await forget(warehouse)
    const notices: [string, Record<string, unknown>][] = []
    const request = { mode: 'sync', job: null, tenants: null, resources } as const
    const report = await with_(
      warehouse,
      (deps) => runSync(configured(deps, [101, 102]), begun(request)),
      notices,
    )
    expect(report.status).toBe('ok')
    expect(new Set(report.cursors.map(({ tenant_id }) => tenant_id))).toEqual(new Set([102]))
    expect(notices.filter(([text]) => /forgotten/.test(text))).toEqual([
      [expect.any(String), expect.objectContaining({ tenant_id: [101] })],
    ])
    const alone = await with_(warehouse, (deps) => runSync(configured(deps, [101]), begun(request)))
    expect(alone).toMatchObject({ status: 'ok', cursors: [] })
    expect(await statusNow(warehouse, { tenants: [101] })).toMatchObject({ healthy: true })
    expect(await traces(warehouse)).toEqual(['sync_forgotten'])
  })

  it('is a usage error if someone names it, with the way out', async () => {
    await forget(warehouse)
    const typed = { tenants: [101], resources, isTyped: true }
    const refusal = { exitCode: 2, hint: expect.stringContaining('shopsync forget --tenant 101 --lift') }
    const ask = [
      (deps: Dependencies) => runSync(deps, begun({ mode: 'sync', job: null, ...typed })),
      (deps: Dependencies) => makePlan(deps, { mode: 'sync', job: null, ...typed }, 0),
      (deps: Dependencies) => runVerify(deps, typed, { full: false, sample: 0 }),
    ]
    for (const work of ask) await expect(with_<unknown>(warehouse, work)).rejects.toMatchObject(refusal)
  })

  it('comes back completely after it was let back in, while it is granted', async () => {
    const before = await contents(warehouse)
    await forget(warehouse)
    await sync(shops, warehouse, { resources })
    expect(await with_(warehouse, (deps) => liftTenant(deps, 101))).toEqual({ tenant_id: 101, lifted: true })
    expect(await forgottenTenants(warehouse)).toEqual(new Set())
    await expect(with_(warehouse, (deps) => liftTenant(deps, 101))).rejects.toMatchObject({ exitCode: 2 })
    await sync(shops, warehouse, { resources })
    expect(await contents(warehouse)).toEqual(before)
  })

  it('stays out from the first erased row on, wherever the erasure is interrupted', async () => {
    const end = new AbortController()
    const { deps, close } = await depsOf(shops, warehouse)
    let steps = 0
    const step = (): void => {
      if (++steps === 4) end.abort(new Error('cut short'))
    }
    const slow = interposed(warehouse, {
      write: (sound) => (statements) => {
        step()
        return sound(statements)
      },
      transaction: (sound) => (work) => {
        step()
        return sound(work)
      },
    })
    await expect(forgetTenant({ ...deps, warehouse: slow, signal: end.signal }, 101)).rejects.toThrow(
      'cut short',
    )
    await close()
    expect((await traces(warehouse)).length).toBeGreaterThan(1)
    const { cursors } = await sync(shops, warehouse, { resources })
    expect(new Set(cursors.map(({ tenant_id }) => tenant_id))).toEqual(new Set([102]))
    await forget(warehouse)
    expect(await traces(warehouse)).toEqual(['sync_forgotten'])
  })

  it('a warehouse in which everyone is forgotten lacks nobody', async () => {
    for (const tenant of [101, 102]) await forget(warehouse, tenant)
    expect(await sync(shops, warehouse, { resources })).toMatchObject({
      status: 'ok',
      reason: null,
      cursors: [],
    })
    expect(await statusNow(warehouse)).toMatchObject({ healthy: true, forgotten: 2, cursors: [] })
  })

  it('a copy includes it', async () => {
    const address = kind.address()
    const from = await reopen(address)
    await migrate(from)
    await sync(shops, from, { resources })
    await forget(from)
    await from.close()
    for (const other of warehouses()) {
      const to = other.address()
      expect(await copyInto(address, to)).toMatchObject({ status: 'ok' })
      const copy = await reopen(to)
      expect(await forgottenTenants(copy)).toEqual(new Set([101]))
      const { cursors } = await sync(shops, copy, { resources })
      expect(new Set(cursors.map(({ tenant_id }) => tenant_id))).toEqual(new Set([102]))
      await copy.close()
    }
  })

  it('another source knows nobody who was forgotten; the same one at a new address does', async () => {
    await forget(warehouse)
    const to = (partnerId: string) => ({ baseUrl: shops.url, partnerId })
    await with_(warehouse, (deps) => adopt(deps, to('43'), true))
    expect(await forgottenTenants(warehouse)).toEqual(new Set([101]))
    await with_(warehouse, (deps) => adopt(deps, to('44'), false))
    expect(await forgottenTenants(warehouse)).toEqual(new Set())
  })
})

describe('the commands', () => {
  let here: Place
  beforeAll(async () => {
    here = await place()
    here.configure({ sync: { resources: ['notes'] } })
    expect((await here.run('sync')).code).toBe(0)
    const { stdout } = await here.run('forget', '--tenant', '101', '--yes')
    expect(stdout).toContain('shopsync forget --tenant 101 --lift')
  })
  afterAll(() => here.remove())

  it.each([
    ['sync'],
    ['reconcile'],
    ['verify'],
    ['plan'],
    ['status'],
    ['runs'],
    ['report'],
    ['quarantine', 'list'],
    ['why', 'notes', '1'],
  ])('%s refuses its id', async (...words) => {
    const { code, stderr, stdout } = await here.run(...words, '--tenant', '101')
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toMatch(
      /Tenant 101 was forgotten and is left out[\s\S]*shopsync forget --tenant 101 --lift/,
    )
  })

  it('forget again is harmless', async () => {
    expect(await here.run('forget', '--tenant', '101', '--yes')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Tenant 101 was forgotten before: there was nothing more to erase.'),
    })
  })

  it("check doesn't request it, and finds nothing wrong", async () => {
    here.configure({ sync: { resources: ['notes'], tenants: [101, 102] } })
    here.sandbox.resetRequests()
    const { code, stdout } = await here.run('check')
    expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.not.stringContaining('tenant 101') })
    expect(here.sandbox.requests.filter(({ path }) => path.includes('/tenants/101/'))).toEqual([])
  })

  it('forget --lift lets it back in, and the next sync loads it', async () => {
    here.configure({ sync: { resources: ['notes'] } })
    expect(await here.run('forget', '--tenant', '102', '--lift')).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/Tenant 102 was not forgotten[\s\S]*Expected one of 101/),
    })
    const lifted = await here.run('forget', '--tenant', '101', '--lift')
    expect(lifted).toMatchObject({ code: 0, stdout: expect.stringContaining('no longer forgotten') })
    const { cursors } = (await here.run('sync', '--json')).json<{ cursors: { tenant_id: number }[] }>()
    expect(cursors.map(({ tenant_id }) => tenant_id).sort()).toEqual([101, 102])
  })
})
