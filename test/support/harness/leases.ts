/** Claims of a warehouse by name, as processes on several machines would make them. */
import { Stamps, systemClock } from '../../../src/engine/base/clock.js'
import type { Shard } from '../../../src/engine/base/shard.js'
import { claimLease, type Lease, rowsOf, takeLease, type Warehouse } from './warehouse.js'

/** `3/8`; `run` is the whole warehouse. */
export const shardOf = (name: string): Shard | undefined => {
  const [index = 0, of] = name.split('/').map(Number)
  return of === undefined ? undefined : { index, of }
}

export class Leases {
  readonly #held: Lease[] = []

  constructor(readonly warehouse: Warehouse) {}

  async claim(
    name = 'run',
    { command = 'sync', runId = `of ${name}`, leaseMs = 60_000 } = {},
  ): Promise<Lease> {
    const lease = await claimLease(this.warehouse, { runId, command, leaseMs, shard: shardOf(name) })
    this.#held.push(lease)
    return lease
  }

  /** By a machine whose clock is off by so many microseconds, and which stamps rows. */
  async stamping(name: string, by: bigint) {
    const clock = { ...systemClock, nowMicros: () => systemClock.nowMicros() + by }
    const stamps = new Stamps(clock)
    const request = { runId: `of ${name}`, command: 'sync', clock, leaseMs: 60_000, stamps }
    const lease = await takeLease(this.warehouse.dialect, { ...request, shard: shardOf(name) })
    this.#held.push(lease)
    return { lease, stamps, clock }
  }

  async row(name = 'run') {
    return (await rowsOf(this.warehouse, 'sync_lease')).find((row) => row.name === name)
  }

  async set(
    name: string,
    fields: { readonly host?: string; readonly expires_at?: string; readonly wanted_at?: string },
  ) {
    const row = this.warehouse.db.updateTable('sync_lease').set(fields).where('name', '=', name)
    await this.warehouse.write([row.compile()])
  }

  /** Its holder's machine is another one, and hasn't been heard of for as long as a lease lasts. */
  expire(name = 'run'): Promise<void> {
    return this.set(name, { host: 'elsewhere', expires_at: '2020-01-01T00:00:00.000000Z' })
  }

  commit(lease: Lease): Promise<number> {
    const row = this.warehouse.db.insertInto('sync_meta').values({ name: 'mark', value: 'x' })
    return this.warehouse.under(lease, 'x').write([row.onConflict((c) => c.doNothing()).compile()])
  }

  async release(): Promise<void> {
    for (const lease of this.#held.splice(0)) await lease.release()
  }
}
