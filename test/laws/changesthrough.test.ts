/** `changes_through`: whatever holders do, in whatever order and by whatever clocks. */
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import type { Int64 } from '../../schema/resource.js'
import { through } from '../../schema/through.js'
import { Stamps, systemClock } from '../../src/engine/base/clock.js'
import { shardIndex } from '../../src/engine/base/shard.js'
import { fromMicros } from '../../src/engine/base/timestamp.js'
import { shardOf } from '../support/harness/leases.js'
import {
  bothWarehouses,
  changesThrough,
  endRun,
  kept,
  type Lease,
  startRun,
  takeLease,
  thisMachine,
  type Warehouse,
} from '../support/harness/warehouse.js'
import { randomFrom } from '../support/world/random.js'

const hour = 3_600_000_000n

/** `through` of changes_by_tenant. */
async function ofTenant({ db, dialect }: Warehouse, tenantId: Int64): Promise<string> {
  const { table } = dialect.views().sql
  const rule = through('t.id').replaceAll(/\{(\w+)\}/g, (_, name: string) => table(name))
  const id = sql`(select cast(${sql.lit(String(tenantId))} as bigint) as id)`
  const { rows } = await sql<{ through: string }>`select ${sql.raw(rule)} as through from ${id} t`.execute(db)
  return rows[0]!.through
}

const isHeldBy = (name: string, tenantId: Int64): boolean => {
  const shard = shardOf(name)
  return !shard || shardIndex(tenantId, shard.of) === shard.index
}

interface Holder {
  readonly lease: Lease
  readonly runId: string
  /** undefined: it stamps nothing. */
  readonly stamps: Stamps | undefined
}

/** Tenants of different shards of 2 and 3. */
const tenants = [0, 1, 2, 5]

describe.each(bothWarehouses())('$name', (kind) => {
  const place = kept(kind)

  it('of a tenant waits for the holder of its shard and of the whole warehouse, dead or alive, and for no other', async () => {
    const warehouse = await place.open()
    const { db } = warehouse
    const [early, noon, late] = ['01T00', '01T12', '02T00'].map((at) => `2026-01-${at}:00:00.000000Z`) as [
      string,
      string,
      string,
    ]
    const ids = [0, 1, 8, 1008, 1009, 1010, -1, -2, -1009, -1010, 1234567890123456789n, -9223372036854775808n]
    const names = [2, 8, 64, 1].flatMap((of) =>
      [0, 1, 7, 48, 63].filter((i) => i < of).map((i) => `${i}/${of}`),
    )
    for (const name of ['run', ...names]) {
      const dead = { owner: 'dead', host: 'elsewhere', expires_at: '2020-01-01T00:00:00.000000Z' }
      const gone = { owner: null, host: null, expires_at: null }
      const rows = [{ name, token: 1, ...dead, stamps_from: early, stamps_until: late }]
      const other = { name: '5/64', token: 1, ...gone, stamps_from: early, stamps_until: noon }
      await warehouse.write([
        db.deleteFrom('sync_lease').compile(),
        db
          .insertInto('sync_lease')
          .values([...rows, other])
          .compile(),
      ])
      expect(await changesThrough(warehouse)).toBe(early)
      for (const id of ids)
        expect((await ofTenant(warehouse, id)) === early, `${id} while ${name} is dead`).toBe(
          isHeldBy(name, id),
        )
    }
  })

  it.each([1, 2, 3])('never falls, and nothing is stamped below it, in sequence %i', async (seed) => {
    const warehouse = await place.open()
    const { db, dialect } = warehouse
    const random = randomFrom(seed)
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
    const names = kind.name === 'sqlite' ? ['run'] : ['run', '0/2', '1/2', '0/3']
    const holders = new Map<string, Holder>()
    let last = await changesThrough(warehouse)
    const settled = new Map<number, string>()
    for (const id of tenants) settled.set(id, await ofTenant(warehouse, id))

    const claim = async (name: string, number: number): Promise<void> => {
      const by = pick([-hour, 0n, hour])
      const clock = { ...systemClock, nowMicros: () => systemClock.nowMicros() + by }
      const stamps = random() < 0.7 ? new Stamps(clock) : undefined
      const runId = `run ${number}`
      const isBare = stamps === undefined && random() < 0.3
      const request = {
        runId,
        command: 'sync',
        clock,
        leaseMs: 3_600_000,
        stamps,
        isBare,
        shard: shardOf(name),
      }
      const lease = await takeLease(dialect, request).catch(() => undefined)
      if (!lease) return
      if (stamps) await warehouse.write([startRun(db, { run_id: runId, status: 'running' })])
      holders.set(name, { lease, runId, stamps })
      // Those who held overlapping names are fenced off.
      for (const other of holders.keys())
        if (other !== name && (other === 'run' || name === 'run' || other.slice(2) !== name.slice(2)))
          holders.delete(other)
    }
    const stamp = (name: string): void => {
      const next = holders.get(name)?.stamps?.next()
      if (next === undefined) return
      for (const id of tenants.filter((one) => isHeldBy(name, one)))
        expect(
          fromMicros(next) >= settled.get(id)!,
          `${name}: ${next} below ${settled.get(id)} of ${id}`,
        ).toBe(true)
      expect(fromMicros(next) >= last, `${name}: ${next} below ${last}`).toBe(true)
    }
    const end = async (name: string): Promise<void> => {
      const { lease, runId, stamps } = holders.get(name)!
      if (stamps && random() < 0.8)
        await warehouse.write([endRun(db, runId, { stamped_until: fromMicros(stamps.next()) })])
      holders.delete(name)
      await lease.release()
    }
    /** All machines have stopped. Some holders are dead; others sleep until somebody fences them off. */
    const kill = async (): Promise<void> => {
      const stopped = { expires_at: null, host: pick(['elsewhere', thisMachine()]) }
      const rows = db.updateTable('sync_lease').set(stopped).where('owner', 'is not', null)
      await warehouse.write([rows.compile()])
      if (random() < 0.5) holders.clear()
    }

    for (let i = 0; i < 60; i++) {
      const name = pick(names)
      const deed = random()
      if (deed < 0.1) await kill()
      if (!holders.has(name)) await claim(name, i)
      else if (deed < 0.6) for (let n = 0; n < 3; n++) stamp(name)
      else await end(name)
      const now = await changesThrough(warehouse)
      expect(now >= last, `step ${i}: ${now} after ${last}`).toBe(true)
      last = now
      for (const id of tenants) {
        const own = await ofTenant(warehouse, id)
        expect(
          own >= settled.get(id)! && own >= now,
          `step ${i}, ${id}: ${own} after ${settled.get(id)}`,
        ).toBe(true)
        settled.set(id, own)
      }
    }
    for (const { lease } of holders.values()) await lease.release()
  })
})
