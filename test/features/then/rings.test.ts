/** What runs after a run is told of rings: gathered, and again if its range ended below their stamps. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { features } from '../../../src/main.js'
import type { CallOptions } from '../../support/harness/call.js'
import { sendEvent } from '../../support/harness/listening.js'
import { type Place, place } from '../../support/harness/place.js'
import { eventBody } from '../../support/harness/receiver.js'
import { until } from '../../support/harness/scheduler.js'
import { type Up, upHere } from '../../support/harness/uphere.js'
import { reopen, rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'

interface Told {
  readonly tenants: readonly number[]
  readonly tables: readonly { readonly name: string; readonly rows_upserted: number }[]
  readonly changes_from: string | null
  readonly changes_through: string
}
/** What a listener gives those who look while it listens. */
type Context = Parameters<NonNullable<(typeof features)[number]['whileListening']>>[0]

const keeping = { command: ['sh', '-c', 'cat > told.tmp; mv told.tmp told.json'] }

describe.each(warehouses())('$name', (kind) => {
  let here: Place
  let warehouse: Warehouse
  let file = ''
  const [tenant, other] = [102, 101]

  beforeEach(async () => {
    const { url, schema } = await kind.migrated()
    here = await place({ tenants: 2, repairOrders: 6 })
    warehouse = await reopen({ url, schema })
    file = join(here.folder, 'told.json')
    here.configure({
      warehouse: kind.name === 'sqlite' ? { url } : { url, schema },
      sync: { resources: ['customers', 'shops'] },
      then: [keeping],
    })
    expect((await here.run('sync')).code).toBe(0)
    take()
  })
  afterEach(async () => {
    await warehouse.close()
    await here.remove()
  })

  /** The document of the last telling. */
  const take = (): Told => {
    const document = JSON.parse(readFileSync(file, 'utf8')) as Told
    rmSync(file)
    return document
  }
  /** What is kept of what the entry was told. */
  const accepted = async (): Promise<unknown> =>
    (await rowsOf(warehouse, 'sync_meta')).find(({ name }) => name === 'then')?.['value']
  const change = (of: number, resource: string, name: string): number => {
    const [id = 0] = here.sandbox.store.ids(of, resource)
    here.sandbox.store.change(of, resource, id, { [name]: `changed in ${resource}` })
    return id
  }
  const ringsOf = async (resource: string): Promise<number> =>
    (await rowsOf(warehouse, 'sync_run_cursors')).filter(
      (row) => row['mode'] === 'events' && row['resource'] === resource,
    ).length
  const listening = (more: Pick<CallOptions, 'env' | 'more'> = {}): Promise<Up> =>
    upHere(['listen', '--port', '0'], {
      cwd: here.folder,
      ...more,
      env: { API_SECRET: here.sandbox.secret, ...more.env },
    })
  const end = async (up: Up): Promise<void> => expect((await up.end()).code).toBe(0)

  it('what a listener told before its range covered it is told again', async () => {
    // It rings customers, while its turn waits for a list that brings nothing. Other requests wait for the first response.
    let isHeld = true
    here.sandbox.onRequest(async ({ resource }) => {
      while (isHeld && resource === 'shops') await new Promise((resolve) => setTimeout(resolve, 20))
    })
    const ringing = await listening({ env: { SHOPSYNC_THEN: '1' } })
    const send = async (type: string, record: number, of = tenant): Promise<void> => {
      const event = `${type.toLowerCase()}.updated`
      const body = eventBody({ id: `${type} of ${of}`, type, event, record, tenant: of })
      expect(await sendEvent(ringing.url, here.sandbox.secret, body)).toBe(200)
    }
    await send('Customer', here.sandbox.store.ids(other, 'customers')[0]!, other)
    await until(async () => (await ringsOf('customers')) === 1)
    await send('Shop', here.sandbox.store.ids(tenant, 'shops')[0]!)
    await send('Customer', change(tenant, 'customers', 'first_name'))
    await until(async () => (await ringsOf('customers')) === 2)
    // It looks when it starts, and then once a minute.
    const before = await accepted()
    const telling = await listening()
    await until(async () => (await accepted()) !== before)
    await end(telling)
    const first = take()
    isHeld = false
    await until(async () => (await ringsOf('shops')) > 0)
    await end(ringing)
    expect((await here.run('sync')).code).toBe(0)
    const second = take()
    const told = { tenants: [tenant], tables: [{ name: 'customers' }] }
    expect([first, second]).toMatchObject([told, { ...told, changes_from: first.changes_through }])
    const row = (await rowsOf(warehouse, 'customers')).find(
      ({ first_name }) => first_name === 'changed in customers',
    )
    const stamp = String(row?.['_synced_at'])
    expect(stamp >= first.changes_through && stamp < second.changes_through, stamp).toBe(true)
    expect((await here.run('sync')).code).toBe(0)
    expect(existsSync(file)).toBe(false)
  })

  it('what is rung is told once in `thenEvery`, all together, and a clock that is set back delays nothing', async () => {
    let context: Context | undefined
    const peek = async (given: Context): Promise<void> => {
      context ??= given
    }
    const up = await listening({ more: [{ whileListening: peek }] })
    await until(() => context !== undefined)
    const { clock } = context!
    let ahead = 0
    Object.assign(context!, {
      clock: { ...clock, nowMicros: () => clock.nowMicros() + BigInt(ahead) * 1_000_000n },
    })
    const ring = async (of: number, resource: string, name: string): Promise<void> => {
      change(of, resource, name)
      const flags = ['--tenant', String(of), '--resource', resource]
      expect((await here.run('events', 'ring', ...flags)).code).toBe(0)
    }
    /** As the listener looks once a minute. */
    const look = async (seconds: number): Promise<void> => {
      ahead = seconds
      for (const { whileListening } of features) await whileListening?.(context!)
    }
    const toldAt = async (seconds: number): Promise<Told> => {
      const before = await accepted()
      await look(seconds)
      await until(async () => (await accepted()) !== before)
      return take()
    }
    const silentAt = async (seconds: number): Promise<void> => {
      await look(seconds)
      expect(existsSync(file)).toBe(false)
    }
    await silentAt(0)
    await ring(tenant, 'customers', 'first_name')
    const first = await toldAt(1)
    expect(first).toMatchObject({ tenants: [tenant], tables: [{ name: 'customers' }] })
    await ring(other, 'customers', 'last_name')
    await silentAt(290)
    await ring(other, 'shops', 'name')
    const second = await toldAt(302)
    expect(second).toMatchObject({ tenants: [other], changes_from: first.changes_through })
    expect(second.tables.map(({ name }) => name)).toEqual(['customers', 'shops'])
    await silentAt(900)
    await ring(tenant, 'customers', 'last_name')
    const third = await toldAt(-3600)
    expect(third).toMatchObject({ tenants: [tenant], tables: first.tables })
    await end(up)
  })
})
