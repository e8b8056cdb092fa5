/**
 * Whoever holds the lease, in whatever order and by whatever clocks: one holder a tenant, who alone commits, and whose stamps
 * are later than those of all before; and nothing is stamped below `changes_through`.
 */
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import type { Int64 } from '../../schema/resource.js'
import { through } from '../../schema/through.js'
import { Stamps, systemClock } from '../../src/engine/base/clock.js'
import { shardIndex } from '../../src/engine/base/shard.js'
import { fromMicros } from '../../src/engine/base/timestamp.js'
import { Leases, shardOf } from '../support/harness/leases.js'
import {
  bothWarehouses,
  changesThrough,
  isOfShard,
  kept,
  type Lease,
  startRun,
  takeLease,
  updateRun,
  type Warehouse,
} from '../support/harness/warehouse.js'
import { randomFrom } from '../support/world/random.js'

const hour = 3_600_000_000n

/** `through` of changes_by_tenant, and whether the tenant is of that shard. */
async function ofTenant({ db, dialect }: Warehouse, tenantId: Int64, name = 'run') {
  const { table } = dialect.views().sql
  const rule = through('t.id').replaceAll(/\{(\w+)\}/g, (_, name: string) => table(name))
  const id = sql`(select cast(${sql.lit(String(tenantId))} as bigint) as id)`
  const isOf = sql`case when ${isOfShard(sql.ref('t.id'), shardOf(name) ?? { index: 0, of: 1 })} then 1 end`
  const { rows } = await sql<{ through: string; is_of: number | null }>`
    select ${sql.raw(rule)} as through, ${isOf} as is_of from ${id} t`.execute(db)
  return rows[0]!
}

const isHeldBy = (name: string, tenantId: Int64): boolean => {
  const shard = shardOf(name)
  return !shard || shardIndex(tenantId, shard.of) === shard.index
}

/** Shards of another number are in each other's way, whichever tenants they have. */
const areApart = (one: string, other: string): boolean =>
  one !== other && one !== 'run' && other !== 'run' && one.split('/')[1] === other.split('/')[1]

interface Holder {
  readonly name: string
  readonly lease: Lease
  readonly runId: string
  /** undefined: it stamps nothing. */
  readonly stamps: Stamps | undefined
  /** Where its stamps begin; without requests, it stamps what it rewrites with that. */
  readonly from: string
  /** Its clock jumps by an hour. */
  readonly leap: () => void
}

/** Of different shards of 2 and 3. */
const tenants = [0, 1, 2, 5]

class Holders {
  /** By name, those who may commit, awake or asleep. */
  readonly able = new Map<string, Holder>()
  /** Those whose lease another one has taken, while they slept. */
  readonly fenced: Holder[] = []
  readonly #asleep = new Set<string>()
  readonly #tokens = new Map<string, number>()
  /** By tenant, the newest stamp of all holders, and what is settled. */
  readonly #newest = new Map<number, bigint>()
  readonly #settled = new Map<number, string>()
  readonly #leases: Leases
  #through = ''

  constructor(
    private readonly warehouse: Warehouse,
    private readonly random: () => number,
    /** Whether its own clock, and not the holders', says when a lease is over. */
    private readonly hasClock: boolean,
  ) {
    this.#leases = new Leases(warehouse)
  }

  pick = <T>(list: readonly T[]): T | undefined => list[Math.floor(this.random() * list.length)]

  async claim(name: string, runId: string): Promise<void> {
    let by = this.pick([-hour, 0n, hour])!
    const clock = { ...systemClock, nowMicros: () => systemClock.nowMicros() + by }
    const leap = (): void => {
      by += hour
    }
    const stamps = this.random() < 0.7 ? new Stamps(clock) : undefined
    const isBare = stamps === undefined && this.random() < 0.3
    const asked = { runId, command: 'sync', clock, leaseMs: 3_600_000, stamps, isBare, shard: shardOf(name) }
    const before = [...this.able.values()].filter((one) => !areApart(one.name, name))
    const lease = await takeLease(this.warehouse.dialect, asked).catch((error: unknown) => {
      expect(error).toMatchObject({ exitCode: 4 })
      return undefined
    })
    const isFree = before.every((one) => this.#asleep.has(one.name))
    if (this.hasClock) expect(lease !== undefined, `${runId} claims ${name}`).toBe(isFree)
    if (!lease) return
    expect(Number(lease.fence.token), name).toBeGreaterThan(this.#tokens.get(name) ?? 0)
    this.#tokens.set(name, Number(lease.fence.token))
    for (const one of before) {
      this.able.delete(one.name)
      this.#asleep.delete(one.name)
      this.fenced.push(one)
      // Its stamps stay within what is on record.
      one.leap()
      this.#note(one)
    }
    const from = String((await this.#leases.row(name))?.stamps_from)
    this.able.set(name, { name, lease, runId, stamps, from, leap })
    if (stamps)
      await this.warehouse.write([startRun(this.warehouse.db, { run_id: runId, status: 'running' })])
    this.stamp(name)
  }

  /** Gives a stamp. */
  #note({ name, stamps }: Holder): bigint | undefined {
    const next = stamps?.next()
    for (const id of tenants.filter((one) => next !== undefined && isHeldBy(name, one)))
      if (next! > (this.#newest.get(id) ?? 0n)) this.#newest.set(id, next!)
    return next
  }

  stamp(name: string): void {
    const newest = new Map(this.#newest)
    const next = this.#note(this.able.get(name)!)
    if (next === undefined) return
    expect(fromMicros(next) >= this.#through, `${name}: ${next} below ${this.#through}`).toBe(true)
    for (const id of tenants.filter((one) => isHeldBy(name, one))) {
      const settled = this.#settled.get(id) ?? ''
      expect(fromMicros(next) >= settled, `${name}: ${next} of ${id} below ${settled}`).toBe(true)
      expect(next, `${name}, tenant ${id}`).toBeGreaterThan(newest.get(id) ?? 0n)
    }
  }

  /** A holder whose lease nobody has taken commits, also one that slept; the others never again. */
  async commit(): Promise<void> {
    for (const { lease } of this.able.values()) await this.#leases.commit(lease)
    const woken = this.pick(this.fenced)
    if (woken) await expect(this.#leases.commit(woken.lease)).rejects.toMatchObject({ exitCode: 4 })
  }

  async sleep(name: string): Promise<void> {
    await this.#leases.expire(name)
    if (this.able.has(name)) this.#asleep.add(name)
  }

  /** One that was fenced off gives nothing back: it is no longer its own. */
  async end(one: Holder): Promise<void> {
    const { name, lease, runId, stamps } = one
    const { db } = this.warehouse
    if (stamps && this.able.get(name) === one && this.random() < 0.8)
      await this.warehouse.write([updateRun(db, runId, { stamped_until: fromMicros(this.#note(one)!) })])
    if (this.able.get(name) === one) {
      this.able.delete(name)
      this.#asleep.delete(name)
    } else this.fenced.splice(this.fenced.indexOf(one), 1)
    await lease.release()
  }

  /** `changes_through`, of all and of each tenant, never falls. */
  async look(step: string): Promise<void> {
    const now = await changesThrough(this.warehouse)
    expect(now >= this.#through, `${step}: ${now} after ${this.#through}`).toBe(true)
    this.#through = now
    for (const { name, from } of this.able.values()) expect(now <= from, `${step}, ${name}`).toBe(true)
    for (const id of tenants) {
      const { through: own } = await ofTenant(this.warehouse, id)
      const least = [this.#settled.get(id) ?? '', now].sort()[1]!
      expect(own >= least, `${step}, tenant ${id}: ${own} after ${least}`).toBe(true)
      this.#settled.set(id, own)
    }
  }
}

describe.each(bothWarehouses())('$name', (kind) => {
  const place = kept(kind)

  it('a tenant waits for the holder of its shard and of the whole warehouse, dead or alive, and for no other', async () => {
    const warehouse = await place.open()
    const { db } = warehouse
    const [early, noon, late] = ['01T00', '01T12', '02T00'].map((at) => `2026-01-${at}:00:00.000000Z`)
    const ids = [0, 1, 8, 1008, 1009, 1010, -1, -2, -1009, -1010, 1234567890123456789n, -9223372036854775808n]
    const names = [2, 8, 64, 1].flatMap((of) =>
      [0, 1, 7, 48, 63].filter((i) => i < of).map((i) => `${i}/${of}`),
    )
    for (const name of ['run', ...names]) {
      const dead = { owner: 'dead', host: 'elsewhere', expires_at: '2020-01-01T00:00:00.000000Z' }
      const gone = { owner: null, host: null, expires_at: null }
      const row = { name, token: 1, ...dead, stamps_from: early!, stamps_until: late! }
      const other = { name: '5/64', token: 1, ...gone, stamps_from: early!, stamps_until: noon! }
      const rows = db.insertInto('sync_lease').values([row, other])
      await warehouse.write([db.deleteFrom('sync_lease').compile(), rows.compile()])
      expect(await changesThrough(warehouse)).toBe(early)
      for (const id of ids) {
        const found = await ofTenant(warehouse, id, name)
        const asked = [found.through === early, found.is_of === 1]
        expect(asked, `${id} while ${name} is dead`).toEqual([isHeldBy(name, id), isHeldBy(name, id)])
      }
    }
  })

  // Mostly shards that work beside each other.
  const names = kind.name === 'sqlite' ? ['run'] : ['run', '0/2', '1/2', '0/3', '1/2', '0/2']
  it.each([1, 2, 3])(
    'one holder a tenant commits, and stamps later than all before, in sequence %i',
    async (seed) => {
      const random = randomFrom(seed)
      const holders = new Holders(await place.open(), random, kind.name === 'postgres')
      for (let i = 0; i < 60; i++) {
        const name = holders.pick(names)!
        const deed = random()
        if (deed < 0.1) for (const one of names) await holders.sleep(one)
        else if (deed < 0.3) await holders.sleep(name)
        const holder = holders.able.get(name)
        if (!holder || deed < 0.4) await holders.claim(name, `run ${i}`)
        else if (deed < 0.7) for (let n = 0; n < 3; n++) holders.stamp(name)
        else await holders.end(holders.pick([holder, holder, holder, ...holders.fenced])!)
        await holders.commit()
        await holders.look(`step ${i}`)
      }
      for (const one of [...holders.able.values(), ...holders.fenced]) await one.lease.release()
    },
  )
})
