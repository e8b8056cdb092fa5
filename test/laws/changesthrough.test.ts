/** `changes_through`: whatever holders do, in whatever order and by whatever clocks. */
import { describe, expect, it } from 'vitest'
import { Stamps, systemClock } from '../../src/engine/base/clock.js'
import { fromMicros } from '../../src/engine/base/timestamp.js'
import { changesThrough } from '../../src/engine/warehouse/changesthrough.js'
import { thisMachine } from '../../src/engine/warehouse/holderprocess.js'
import { type Lease, takeLease } from '../../src/engine/warehouse/lease.js'
import { endRun, startRun } from '../../src/engine/warehouse/runs.js'
import { randomFrom } from '../support/random.js'
import { bothWarehouses, open } from '../support/warehouse.js'

const hour = 3_600_000_000n

interface Holder {
  readonly lease: Lease
  readonly runId: string
  /** undefined: it stamps nothing. */
  readonly stamps: Stamps | undefined
}

describe.each(bothWarehouses())('$name', (kind) => {
  it.each([1, 2, 3])('never falls, and nothing is stamped below it, in sequence %i', async (seed) => {
    const warehouse = await open(kind)
    const { db, dialect } = warehouse
    const random = randomFrom(seed)
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!
    const names = kind.name === 'sqlite' ? ['run'] : ['run', '0/2', '1/2', '0/3']
    const holders = new Map<string, Holder>()
    let through = await changesThrough(warehouse)

    const claim = async (name: string, number: number): Promise<void> => {
      const by = pick([-hour, 0n, hour])
      const clock = { ...systemClock, nowMicros: () => systemClock.nowMicros() + by }
      const stamps = random() < 0.7 ? new Stamps(clock) : undefined
      const [index = 0, of] = name.split('/').map(Number)
      const request = {
        ...{ runId: `run ${number}`, command: 'sync', clock, leaseMs: 3_600_000, stamps },
        isBare: stamps === undefined && random() < 0.3,
        shard: of === undefined ? undefined : { index, of },
      }
      const lease = await takeLease(dialect, request).catch(() => undefined)
      if (!lease) return
      if (stamps) await warehouse.write([startRun(db, { run_id: request.runId, status: 'running' })])
      holders.set(name, { lease, runId: request.runId, stamps })
      // Those who held overlapping names are fenced off.
      for (const other of holders.keys())
        if (other !== name && (other === 'run' || name === 'run' || other.slice(2) !== name.slice(2)))
          holders.delete(other)
    }
    const stamp = (name: string): void => {
      const next = holders.get(name)?.stamps?.next()
      if (next !== undefined)
        expect(fromMicros(next) >= through, `${name}: ${next} below ${through}`).toBe(true)
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
      expect(now >= through, `step ${i}: ${now} after ${through}`).toBe(true)
      through = now
    }
    for (const { lease } of holders.values()) await lease.release()
    await warehouse.close()
  })
})
