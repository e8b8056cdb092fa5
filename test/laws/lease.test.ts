/** One run at a time: of many that start together, one wins, and the others report who it is. */
import { beforeEach, describe, expect, it } from 'vitest'
import { Stamps, systemClock } from '../../src/engine/base/clock.js'
import { Skip, Stop } from '../../src/engine/base/errors.js'
import { fromMicros, toMicros } from '../../src/engine/base/timestamp.js'
import { template } from '../../src/sandbox/index.js'
import { configure } from '../support/harness/place.js'
import { Program, program } from '../support/harness/process.js'
import { known } from '../support/harness/runs.js'
import { sandboxOfFile } from '../support/harness/sandbox.js'
import { statusOf } from '../support/harness/status.js'
import {
  bothWarehouses,
  claimLease,
  kept,
  rowsOf,
  takeLease,
  type Warehouse,
  warehouses,
} from '../support/harness/warehouse.js'
import { through } from '../support/world/through.js'

const sandbox = await sandboxOfFile()
const ofNotes = { tenantId: 7, resource: 'notes' }

/** Holds the first request for notes until it is released. */
function hold(): { readonly reached: Promise<void>; readonly release: () => void } {
  let release = (): void => {}
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let reach = (): void => {}
  const reached = new Promise<void>((resolve) => {
    reach = resolve
  })
  sandbox.onRequest(async ({ resource }) => {
    if (resource !== 'notes') return
    reach()
    await released
  })
  return { reached, release }
}

describe.each(bothWarehouses())('$name', (kind) => {
  const place = kept(kind)
  let warehouse: Warehouse
  beforeEach(async () => {
    warehouse = await place.open()
  })
  const claim = (runId: string) => claimLease(warehouse, { runId, command: 'sync', leaseMs: 60_000 })

  it('of twenty simultaneous claims one wins, and the others are told who has it', async () => {
    const claims = await Promise.allSettled(Array.from({ length: 20 }, (_, i) => claim(`run-${i}`)))
    const won = claims.flatMap((claim, i) =>
      claim.status === 'fulfilled' ? [{ i, lease: claim.value }] : [],
    )
    expect(won).toHaveLength(1)
    const winner = won[0]!
    for (const claim of claims) {
      if (claim.status === 'fulfilled') continue
      expect(claim.reason).toBeInstanceOf(Stop)
      const { exitCode, message } = claim.reason as Stop
      expect(exitCode).toBe(4)
      expect(message).toContain(`run-${winner.i})`)
      expect(message).toContain(`pid ${process.pid}`)
    }
    await winner.lease.release()
    const next = await claim('next')
    expect(Number(next.fence.token)).toBeGreaterThan(Number(winner.lease.fence.token))
    await next.release()
  })

  it('a lease that expired is taken, and its former holder can no longer write', async () => {
    const first = await claim('first')
    const past = warehouse.db.updateTable('sync_lease').set({ expires_at: '2020-01-01T00:00:00.000000Z' })
    await warehouse.write([past.compile()])
    const second = await claim('second')
    const row = { name: 'mark', value: 'x' }
    const mark = warehouse.db.insertInto('sync_meta').values(row).compile()
    await expect(warehouse.under(first, 'first').write([mark])).rejects.toMatchObject({ exitCode: 4 })
    expect((await rowsOf(warehouse, 'sync_meta')).some((found) => found.name === 'mark')).toBe(false)
    await warehouse.under(second, 'second').write([mark])
    await first.release()
    // A release by a run that lost the lease leaves it with its holder.
    expect((await rowsOf(warehouse, 'sync_lease'))[0]).toMatchObject({ owner: 'second' })
    await second.release()
  })

  it('an expiry further away than a lease lasts was written under a wrong clock, and is void', async () => {
    const expires = (at: string) =>
      warehouse.db.updateTable('sync_lease').set({ host: 'elsewhere', expires_at: at }).compile()
    const first = await claim('first')
    await warehouse.write([expires(fromMicros(systemClock.nowMicros() + 59_000_000n))])
    await expect(claim('second')).rejects.toMatchObject({ exitCode: 4 })
    const leaseInStatus = async () =>
      (await statusOf(sandbox, warehouse, { nowMicros: systemClock.nowMicros() })).lease
    expect(await leaseInStatus()).toMatchObject({ run_id: 'first' })
    await warehouse.write([expires('2099-01-01T00:00:00.000000Z')])
    expect(await leaseInStatus()).toBeNull()
    const second = await claim('second')
    expect(Number(second.fence.token)).toBeGreaterThan(Number(first.fence.token))
    await second.release()
    await first.release()
  })

  const hour = 3_600_000_000n
  const orders = [-hour, 0n, hour].flatMap((former) =>
    [-hour, 0n, hour].map((next) => [former, next] as const),
  )
  it.each(orders)(
    'stamps of a killed holder whose clock is off by %i are earlier than those of one off by %i',
    async (former, next) => {
      const { dialect, db } = warehouse
      const claimAt = async (runId: string, by: bigint) => {
        const clock = { ...systemClock, nowMicros: () => systemClock.nowMicros() + by }
        const stamps = new Stamps(clock)
        const lease = await takeLease(dialect, { runId, command: 'sync', clock, leaseMs: 60_000, stamps })
        return { stamps, lease, clock }
      }
      const row = async () => (await rowsOf(warehouse, 'sync_lease'))[0]
      const killed = await claimAt('killed', former)
      const last = Array.from({ length: 100 }, () => killed.stamps.next()).at(-1)!
      expect(String((await row())?.stamps_from) < fromMicros(last)).toBe(true)
      // Its clock jumps: its stamps stay within what is on record.
      const jumping = new Stamps({ ...systemClock, nowMicros: () => killed.clock.nowMicros() + hour }, last)
      jumping.hold(toMicros(String((await row())?.stamps_until)))
      const jumped = jumping.next()
      for (const host of ['elsewhere', String((await row())?.host)]) {
        await warehouse.write([db.updateTable('sync_lease').set({ expires_at: null, host }).compile()])
        const held = await claimAt('next', next)
        const [first] = [held.stamps.next()]
        expect(first).toBeGreaterThan(last)
        if (host === 'elsewhere') expect(first).toBeGreaterThan(jumped)
        const from = toMicros(String((await row())?.stamps_from))
        expect(from).toBeLessThan(first)
        expect(from).toBeGreaterThan(last)
        await held.lease.release()
        // A listener's turn is in no run: its lease alone shows how far its stamps went.
        const after = await claimAt('after', -hour)
        expect(after.stamps.next()).toBeGreaterThan(held.stamps.newest)
        await after.lease.release()
      }
    },
  )

  it('stamps follow a clock that leaps, as after a machine slept, without waiting for a heartbeat', async () => {
    let leap = 0n
    const clock = { ...systemClock, nowMicros: () => systemClock.nowMicros() + leap }
    const stamps = new Stamps(clock)
    const lease = await takeLease(warehouse.dialect, {
      runId: 'slept',
      command: 'sync',
      clock,
      leaseMs: 3_600_000,
      stamps,
    })
    leap = 24n * hour
    const woken = clock.nowMicros()
    expect(stamps.next()).toBeLessThan(woken)
    while (stamps.next() < woken) await new Promise((resolve) => setTimeout(resolve, 10))
    const [row] = await rowsOf(warehouse, 'sync_lease')
    expect(toMicros(String(row?.stamps_until))).toBeGreaterThan(stamps.newest)
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

  it('work that only reads cannot write', async () => {
    const reading = warehouse.reading()
    const mark = warehouse.db.insertInto('sync_meta').values({ name: 'mark', value: 'x' }).compile()
    await expect(reading.write([mark])).rejects.toThrow('only reads')
    const page = [template('notes', 1, '2026-01-01T00:00:00Z')]
    const flat = warehouse.encode(known.byName.get('notes')!.flatten(1, page, false), ofNotes)
    const batch = { ...ofNotes, page: flat, syncedAt: '2026-01-02T00:00:00.000000Z', statements: [] }
    await expect(reading.apply(batch)).rejects.toThrow('only reads')
    expect(await rowsOf(warehouse, 'notes')).toEqual([])
    expect((await rowsOf(warehouse, 'sync_meta')).some(({ name }) => name === 'mark')).toBe(false)
  })

  // Whether its process lives is asked of the machine, whatever the database. test/laws/kill.test.ts kills on both.
  it.runIf(warehouses().includes(kind))(
    'a second process exits with code 4, and continues immediately when the first is dead',
    async () => {
      sandbox.reset()
      sandbox.store.addTenant({ id: 1 })
      sandbox.store.put(1, 'notes', template('notes', 1, '2026-01-01T00:00:00Z'))
      const address = await kind.viewed()
      const config = configure(sandbox, address, ['notes'])
      const { reached, release } = hold()
      const first = new Program(program, ['sync', '--config', config])
      await Promise.race([reached, first.ended.then(({ stderr }) => Promise.reject(stderr))])
      const second = await new Program(program, ['sync', '--config', config, '--json']).ended
      expect(second.code, second.stderr).toBe(4)
      expect(second.stdout).toContain(`pid ${first.child.pid}`)
      first.kill('SIGKILL')
      await first.ended
      release()
      const third = await new Program(program, ['sync', '--config', config]).ended
      expect(third.code, third.stderr).toBe(0)
    },
  )
})
