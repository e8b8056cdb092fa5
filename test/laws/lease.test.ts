/**
 * Who may write. Of claims at the same moment one wins, and the others are told who it is. One run holds the whole warehouse;
 * on Postgres, each of several may hold a shard, and a command that needs the whole gets its turn. What holds in any order of
 * claims is in holders.test.ts.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Stamps, systemClock } from '../../src/engine/base/clock.js'
import { Skip, Stop } from '../../src/engine/base/errors.js'
import { fromMicros, toMicros } from '../../src/engine/base/timestamp.js'
import { Leases, shardOf } from '../support/harness/leases.js'
import { readHolders } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { statusOf } from '../support/harness/status.js'
import {
  bothWarehouses,
  claimLease,
  type Kind,
  kept,
  listenCommand,
  openLease,
  takeLease,
  type Warehouse,
  wantLease,
  wishes,
} from '../support/harness/warehouse.js'
import { through } from '../support/world/through.js'

const sandbox = await sandboxOfFile()
const hour = 3_600_000_000n
const refused = { exitCode: 4 }
let warehouse: Warehouse
let leases: Leases
afterEach(() => leases.release())

/** An emptied warehouse for each test. */
function warehouseOf(kind: Kind): void {
  const place = kept(kind)
  beforeEach(async () => {
    warehouse = await place.open()
    leases = new Leases(warehouse)
  })
}

describe.each(bothWarehouses())('$name', (kind) => {
  warehouseOf(kind)

  it('of twenty simultaneous claims one wins, and the others are told who has it', async () => {
    const claims = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) => leases.claim('run', { runId: `run-${i}` })),
    )
    const [winner, ...others] = claims.flatMap((claim, i) => (claim.status === 'fulfilled' ? [i] : []))
    expect(others).toEqual([])
    for (const claim of claims) {
      if (claim.status === 'fulfilled') continue
      expect(claim.reason).toBeInstanceOf(Stop)
      expect(claim.reason).toMatchObject({ ...refused, message: expect.stringContaining(`run-${winner})`) })
      expect(claim.reason.message).toContain(`pid ${process.pid}`)
    }
  })

  it('an expiry further away than a lease lasts was written under a wrong clock, and is void', async () => {
    const first = await leases.claim('run', { runId: 'first' })
    await leases.set('run', {
      host: 'elsewhere',
      expires_at: fromMicros(systemClock.nowMicros() + 59_000_000n),
    })
    await expect(leases.claim()).rejects.toMatchObject(refused)
    const leaseInStatus = async () =>
      (await statusOf(sandbox, warehouse, { nowMicros: systemClock.nowMicros() })).lease
    expect(await leaseInStatus()).toMatchObject({ run_id: 'first' })
    await leases.set('run', { expires_at: '2099-01-01T00:00:00.000000Z' })
    expect(await leaseInStatus()).toBeNull()
    expect(Number((await leases.claim()).fence.token)).toBeGreaterThan(Number(first.fence.token))
  })

  it('stamps follow a clock that leaps, as after a machine slept, without waiting for a heartbeat', async () => {
    let leap = 0n
    const clock = { ...systemClock, nowMicros: () => systemClock.nowMicros() + leap }
    const stamps = new Stamps(clock)
    const request = { runId: 'slept', command: 'sync', clock, leaseMs: 3_600_000, stamps }
    const lease = await takeLease(warehouse.dialect, request)
    leap = 24n * hour
    const woken = clock.nowMicros()
    expect(stamps.next()).toBeLessThan(woken)
    while (stamps.next() < woken) await new Promise((resolve) => setTimeout(resolve, 10))
    expect(toMicros(String((await leases.row())?.stamps_until))).toBeGreaterThan(stamps.newest)
    await lease.release()
  })

  it('a heartbeat that the database refuses because it is slow does not lose the lease', async () => {
    let beats = 0
    let isSlow = false
    const slow = through(warehouse, {
      transaction: (work) => {
        if (!isSlow) return warehouse.dialect.transaction(work)
        beats++
        return Promise.reject(new Skip('canceled by a statement time-out', { reason: 'failed' }))
      },
    })
    const lease = await claimLease(slow, { runId: 'slow', command: 'sync', leaseMs: 40 })
    isSlow = true
    while (beats < 3) await new Promise((resolve) => setTimeout(resolve, 10))
    expect(lease.lost.aborted).toBe(false)
    isSlow = false
    await lease.release()
  })
})

describe('an SQLite file', () => {
  warehouseOf(bothWarehouses()[0]!)

  it('has one shard, and says what to do for more', async () => {
    const lease = (name: string) => openLease({ warehouse, clock: systemClock, shard: shardOf(name) }, 'sync')
    await expect(lease('0/2')).rejects.toMatchObject({
      exitCode: 2,
      hint: expect.stringContaining('shopsync copy --to postgres://'),
    })
    await using only = await lease('0/1')
    await only.warehouse.write([])
    await expect(lease('0/1')).rejects.toMatchObject(refused)
  })
})

describe('shards', () => {
  warehouseOf(bothWarehouses()[1]!)

  it('of claims of all names at once, none overlap', async () => {
    const names = ['run', '0/2', '1/2', '0/3', '1/3', '2/3']
    const claims = await Promise.allSettled(names.map((name) => leases.claim(name)))
    const won = names.filter((_, i) => claims[i]?.status === 'fulfilled')
    expect([['run'], ['0/2', '1/2'], ['0/3', '1/3', '2/3']]).toContainEqual(won)
  })

  it('of many that start together, none begins later than the clock for the others', async () => {
    for (let index = 0; index < 16; index++) {
      const { stamps } = await leases.stamping(`${index}/16`, 0n)
      expect(stamps.next() - systemClock.nowMicros()).toBeLessThan(1_000_000n)
    }
    const [first, last] = [await leases.row('0/16'), await leases.row('15/16')]
    expect(last?.stamps_from).not.toBeNull()
    expect(String(last?.stamps_from) > String(first?.stamps_from)).toBe(true)
  })

  it('while a command waits for the whole warehouse, neither a shard nor a listener begins', async () => {
    await leases.claim('0/2')
    await wantLease(warehouse)
    const message = expect.stringMatching(/^Another command is waiting for /)
    for (const command of ['sync', listenCommand])
      await expect(leases.claim('1/2', { command })).rejects.toMatchObject({ ...refused, message })
    // Who waited and was killed is not waited for.
    await leases.set('run', { wanted_at: fromMicros(systemClock.nowMicros() - 16_000_000n) })
    await leases.commit(await leases.claim('1/2'))
  })

  it('a shard asks a listener for its own row: the listener hears of it, and no other shard', async () => {
    const listener = await leases.claim('run', { command: listenCommand })
    const before = await wishes(warehouse)
    const opening = openLease({ warehouse, clock: systemClock, shard: shardOf('0/2') }, 'sync')
    await expect.poll(() => wishes(warehouse)).not.toBe(before)
    expect(await leases.row()).toMatchObject({ wanted_at: null })
    await listener.release()
    await expect(leases.claim('run', { command: listenCommand })).rejects.toMatchObject(refused)
    await leases.claim('1/2')
    const lease = await opening
    expect(await leases.row('0/2')).toMatchObject({ owner: lease.runId, wanted_at: null })
    await lease[Symbol.asyncDispose]()
  })

  it('a listener takes turns beside shards, and makes room for a shard that wants its own', async () => {
    await leases.claim('0/2')
    const listener = await leases.claim('1/2', { command: listenCommand })
    const before = await wishes(warehouse, shardOf('1/2'))
    await wantLease(warehouse, '0/2')
    expect(await wishes(warehouse, shardOf('1/2'))).toBe(before)
    await wantLease(warehouse, '1/2')
    expect(await wishes(warehouse, shardOf('1/2'))).not.toBe(before)
    await listener.release()
    await expect(leases.claim('1/2', { command: listenCommand })).rejects.toThrow(/is waiting for/)
    await leases.commit(await leases.claim('1/2'))
  })

  it('those at work are shown by shard', async () => {
    await leases.claim('10/12')
    await leases.claim('9/12')
    const holders = await readHolders(warehouse.db, systemClock.nowMicros())
    expect(holders.map(({ shard, run_id }) => [shard, run_id])).toEqual([
      ['9/12', 'of 9/12'],
      ['10/12', 'of 10/12'],
    ])
  })
})
