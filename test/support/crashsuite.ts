/**
 * Law 3 (crash): stop after any statement, run again, and the warehouse is the same as after a run that nobody
 * disturbed. Once as a crash, after which nothing more happens; once as a connection that is lost, after which the
 * same run goes on, not knowing whether its last commit was heard.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Retry } from '../../src/errors.js'
import { type Sandbox, serviceTemplate, template } from '../../src/sandbox/index.js'
import type { Applied, Batch } from '../../src/warehouse/batch.js'
import type { Session } from '../../src/warehouse/dialect.js'
import { Warehouse } from '../../src/warehouse/warehouse.js'
import { registersAgree } from './registers.js'
import { type RunOptions, syncInOrder } from './run.js'
import { sandboxOfFile } from './sandbox.js'
import { through, watched, wipe } from './through.js'
import { contents, describeBothWays, open, rowsOf } from './warehouse.js'

const options: RunOptions = {
  resources: ['repair_orders', 'notes'],
  pageSizes: [4, 3],
  readAhead: 0,
  overlapMs: 0,
}
const time = (n: number): string => `2026-03-01T00:00:${String(n).padStart(2, '0')}.000000Z`

function fill(sandbox: Sandbox): void {
  sandbox.reset()
  sandbox.store.addTenant({ id: 1 })
  for (let id = 1; id <= 10; id++) sandbox.store.put(1, 'notes', template('notes', id, time(id)))
  for (let id = 1; id <= 3; id++)
    sandbox.store.put(1, 'repair_orders', template('repair_orders', id, time(id)))
}

/** New versions with other children, and one that goes to quarantine in part. */
function change(sandbox: Sandbox): void {
  for (const id of [2, 3]) {
    const order = template('repair_orders', id, time(20 + id))
    sandbox.store.put(1, 'repair_orders', { ...order, services: [serviceTemplate(1000 + id, time(20 + id))] })
  }
  for (const id of [1, 2, 4, 5, 6])
    sandbox.store.put(1, 'notes', { ...template('notes', id, time(30 + id)), description: `new ${id}` })
  sandbox.store.put(1, 'notes', { ...template('notes', 7, time(40)), repair_order_id: 1.5 })
}

/** Everything that must be the same: all rows, and how far every cursor has come. */
async function state(warehouse: Warehouse): Promise<unknown> {
  await registersAgree(warehouse, 2)
  const cursors = await rowsOf(warehouse, 'sync_cursors')
  const quarantine = await rowsOf(warehouse, 'sync_quarantine')
  return {
    rows: await contents(warehouse),
    cursors: cursors.map(({ tenant_id, resource, watermark, status, walk, last_error }) => [
      tenant_id,
      resource,
      watermark,
      status,
      walk,
      last_error,
    ]),
    parts: await rowsOf(warehouse, 'sync_walk_parts'),
    registers: await rowsOf(warehouse, 'sync_registers'),
    quarantine: quarantine.map(({ record_id, path, value }) => [record_id, path, value]),
    revoked: (await rowsOf(warehouse, 'tenants')).map((row) => [row.tenant_id, row.revoked_at]),
  }
}

type Fault = (n: number) => void

/**
 * A warehouse whose n-th moment calls the fault: before and after each statement, and after each commit; for a page that
 * the writer thread stores, after its commit alone (test/laws/kill.test.ts ends that thread in the middle).
 */
function disturbed(warehouse: Warehouse, fault: Fault, Kind = Warehouse): Warehouse {
  let n = 0
  const moment = (): void => fault(++n)
  const { offload, transaction } = warehouse.dialect
  return through(
    warehouse,
    {
      ...(offload && { offload: after(offload, moment) }),
      transaction: async <T>(work: (session: Session) => Promise<T>): Promise<T> => {
        const result = await transaction((session) => work(watched(session, moment)))
        moment()
        return result
      },
    },
    Kind,
  )
}

/** A call after whose promise is kept something may happen. */
const after =
  <A extends unknown[], R>(call: (...given: A) => Promise<R> | undefined, moment: () => void) =>
  (...given: A): Promise<R> | undefined =>
    call(...given)?.then((result) => {
      moment()
      return result
    })

class Crash extends Error {}

/** From the n-th moment on nothing works any more. */
const crashAt =
  (at: number): Fault =>
  (n) => {
    if (n >= at) throw new Crash(`crash at moment ${at}`)
  }

/** At the n-th moment the connection breaks; it works again at once. */
const lostAt =
  (at: number): Fault =>
  (n) => {
    if (n === at) throw new Retry(`connection lost at moment ${at}`)
  }

/** What the operating system does for a process that died: nobody with its pid holds the lease. */
const bury = (warehouse: Warehouse): Promise<number> =>
  warehouse.write([warehouse.db.updateTable('sync_lease').set({ owner: null }).compile()])

interface CrashSuite {
  /** On a server, one moment of so many: its statements are the same, and each takes longer. */
  readonly every: number
}

/** The law, to be called by a test file. */
export async function crashSuite({ every }: CrashSuite): Promise<void> {
  const sandbox = await sandboxOfFile()
  describeBothWays((kind) => {
    const wanted: unknown[] = []
    const moments: number[] = []
    let warehouse: Warehouse
    beforeAll(async () => {
      warehouse = await open(kind)
      fill(sandbox)
      for (const before of [() => {}, () => change(sandbox)]) {
        before()
        let last = 0
        const counting = disturbed(warehouse, (n) => {
          last = n
        })
        expect((await syncInOrder(sandbox, counting, options)).status).toBe('ok')
        moments.push(last)
        wanted.push(await state(warehouse))
      }
    })
    afterAll(() => warehouse.close())

    /** Disturbs the first load, or the run after the change, at every moment in turn. */
    async function everywhere(phase: 0 | 1, disturb: (at: number) => Promise<void>): Promise<void> {
      const most = moments[phase] ?? 0
      expect(most).toBeGreaterThan(kind.threadFrom === 0 ? 30 : 60)
      const step = kind.name === 'sqlite' ? 1 : every
      for (let at = 1; at <= most; at += step) {
        await wipe(warehouse)
        fill(sandbox)
        if (phase === 1) {
          await syncInOrder(sandbox, warehouse, options)
          change(sandbox)
        }
        await disturb(at)
        expect(await state(warehouse), `after moment ${at} of ${most}`).toEqual(wanted[phase])
      }
    }

    describe.each([
      ['a first load', 0],
      ['a run with changes', 1],
    ] as const)('%s', (_name, phase) => {
      it('is the same after a crash at any moment and another run', { timeout: 300_000 }, () =>
        everywhere(phase, async (at) => {
          await syncInOrder(sandbox, disturbed(warehouse, crashAt(at)), options).catch((error) => {
            if (!(error instanceof Crash)) throw error
          })
          await bury(warehouse)
          expect((await syncInOrder(sandbox, warehouse, options)).status).toBe('ok')
        }),
      )

      it('is the same when the connection is lost at any moment', { timeout: 300_000 }, () =>
        everywhere(phase, async (at) => {
          const report = await syncInOrder(sandbox, disturbed(warehouse, lostAt(at)), options)
          expect(report.status).toBe('ok')
        }),
      )
    })

    it('would notice progress that is committed before its rows', { timeout: 300_000 }, async () => {
      /** The mutant: a walk's progress and verdict do not wait for the rows that they speak of. */
      class Eager extends Warehouse {
        override async apply(batch: Batch): Promise<Applied> {
          await this.write(batch.statements, batch.fence)
          return super.apply({ ...batch, statements: [] })
        }
      }
      const law = everywhere(0, async (at) => {
        await syncInOrder(sandbox, disturbed(warehouse, crashAt(at), Eager), options).catch((error) => {
          if (!(error instanceof Crash)) throw error
        })
        await bury(warehouse)
        await syncInOrder(sandbox, warehouse, options)
      })
      await expect(law).rejects.toThrow(/after moment/)
    })
  })
}
