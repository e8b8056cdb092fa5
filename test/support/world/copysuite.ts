/**
 * Interrupted copies: the law that test/features/copy/copying.test.ts tries at some moments, and in `npm run test:long` at
 * many.
 */
import { beforeAll, describe, expect, it } from 'vitest'
import type { Model } from '../../../src/engine/model/resourcemodel.js'
import { type Sandbox, template } from '../../../src/sandbox/index.js'
import type { Address } from '../harness/place.js'
import { sync } from '../harness/runs.js'
import { sandboxOfFile } from '../harness/sandbox.js'
import { bothWarehouses, type Kind, migrate, reopen, rowsOf, type Warehouse } from '../harness/warehouse.js'
import { copyInto, everything, opener, rich } from './copying.js'
import { atEachMoment, Crash } from './through.js'

const time = (n: number): string => `2026-03-01T00:${String(n).padStart(2, '0')}:00.000000Z`
const put = (sandbox: Sandbox, id: number, more: object = {}): void =>
  sandbox.store.put(1, 'notes', { ...template('notes', id, time(id)), ...more })

/** A small one, so that every moment of its copy can be tried. */
export async function original(sandbox: Sandbox, kind: Kind): Promise<Address> {
  sandbox.reset()
  sandbox.store.addTenant({ id: 1 })
  for (let id = 1; id <= 9; id++) put(sandbox, id)
  sandbox.store.put(1, 'repair_orders', template('repair_orders', 1, time(1)))
  const address = kind.address()
  const warehouse = await reopen(address, rich)
  await migrate(warehouse)
  await sync(sandbox, warehouse, { known: rich, resources: ['notes', 'repair_orders'] })
  await warehouse.close()
  return address
}

async function change(sandbox: Sandbox, address: Address): Promise<void> {
  put(sandbox, 3, { description: 'changed', updated_at: time(30) })
  put(sandbox, 40)
  sandbox.store.remove(1, 'notes', 5)
  const warehouse = await reopen(address, rich)
  const options = { known: rich, resources: ['notes', 'repair_orders'] }
  // Like history that is thinned out.
  await warehouse.write([warehouse.db.deleteFrom('sync_requests').compile()])
  await sync(sandbox, warehouse, options)
  await sync(sandbox, warehouse, { ...options, mode: 'reconcile', acceptDeletes: true })
  await warehouse.close()
}

export const look = async (address: Address): Promise<Awaited<ReturnType<typeof everything>>> => {
  const warehouse = await reopen(address, rich)
  const all = await everything(warehouse)
  await warehouse.close()
  return all
}

/** A copy that dies when its rows are there, and nothing is compared yet. */
export const cutShort = (from: Address, to: Address, model: Model = rich): Promise<void> =>
  expect(
    copyInto(from, to, {
      model,
      onProgress: ({ pass }) => {
        if (pass === 'comparing') throw new Crash()
      },
    }),
  ).rejects.toThrow(Crash)

/** From the nth moment on, nothing reaches the target any more. */
function crashing(address: Address, at: number, onMoment: (n: number) => void = () => {}) {
  let n = 0
  const moment = (): void => {
    onMoment(++n)
    if (n >= at) throw new Crash(`at moment ${at}`)
  }
  return async (how?: { readonly existing?: boolean }): Promise<Warehouse> => {
    return atEachMoment(await opener(address)(how), moment)
  }
}

/** Whether the target knows that it is an unfinished copy. */
async function isMarked(address: Address): Promise<boolean> {
  const warehouse = await reopen(address, rich)
  const names = (await warehouse.has('sync_meta')) ? await rowsOf(warehouse, 'sync_meta') : []
  await warehouse.close()
  return names.some(({ name }) => name === 'copy')
}

/** What the operating system does for a process that died: nobody with its pid holds the lease. */
async function bury(address: Address): Promise<void> {
  const warehouse = await reopen(address, rich)
  const there = await warehouse.has('sync_lease')
  if (there) await warehouse.write([warehouse.db.updateTable('sync_lease').set({ owner: null }).compile()])
  await warehouse.close()
}

/** `moments`: how many are tried into SQLite, and a third of them into Postgres, where each statement takes longer. */
export async function copySuite({ moments: some }: { readonly moments: number }): Promise<void> {
  const sandbox = await sandboxOfFile()
  const ways = bothWarehouses().flatMap((kind) =>
    bothWarehouses()
      .filter((other) => other.name === 'sqlite' || kind.name === 'sqlite')
      .map((other) => [`${kind.name} to ${other.name}`, kind, other] as const),
  )

  describe.each(ways)('%s', (_way, kind, other) => {
    let from: Address
    let wanted: unknown
    let moments = 0
    beforeAll(async () => {
      from = await original(sandbox, kind)
      wanted = await look(from)
      const whole = crashing(other.address(), Number.POSITIVE_INFINITY, (n) => {
        moments = n
      })
      await copyInto(from, other.address(), { openTarget: whole })
    })

    it('is the same after a crash at any moment, and again', { timeout: 3_600_000 }, async () => {
      expect(moments).toBeGreaterThan(100)
      // There are many statements on the same table and on similar tables: one of this many stands for its neighbors.
      const step = Math.max(1, Math.floor(moments / (other.name === 'sqlite' ? some : some / 3)))
      for (let at = 1; at <= moments; at += step) {
        const to = other.address()
        // At the last moments, only the lease is left to release.
        await copyInto(from, to, { openTarget: crashing(to, at) }).catch((error: unknown) => {
          if (!(error instanceof Crash)) throw error
        })
        await bury(from)
        await bury(to)
        const isFinished = !(await isMarked(to)) && at > moments / 2
        if (!isFinished)
          expect((await copyInto(from, to)).status, `after moment ${at} of ${moments}`).toBe('ok')
        expect(await look(to), `after moment ${at} of ${moments}`).toEqual(wanted)
      }
    })

    it('equals the current original if that continued meanwhile', async () => {
      const to = other.address()
      const late = Math.floor(moments * 0.9)
      await expect(copyInto(from, to, { openTarget: crashing(to, late) })).rejects.toThrow(Crash)
      await bury(from)
      await bury(to)
      await change(sandbox, from)
      expect(await copyInto(from, to)).toMatchObject({ status: 'ok', resumed: true })
      expect(await look(to)).toEqual(await look(from))
    })
  })
}
