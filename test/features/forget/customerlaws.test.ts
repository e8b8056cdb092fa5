/**
 * What keeps a forgotten customer away: entries, and pages that are compared with them. Which records are entered when they
 * come is in closure.test.ts.
 */
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { resources } from '../../../schema/index.js'
import { Bug, Stop } from '../../../src/engine/base/errors.js'
import { nothingForgotten } from '../../../src/engine/model/forgotten.js'
import { copied } from '../../support/harness/clones.js'
import { forgetPersons } from '../../support/harness/commands.js'
import { model } from '../../support/harness/model.js'
import type { Address } from '../../support/harness/place.js'
import { type Dependencies, depsOf, syncInOrder } from '../../support/harness/runs.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { sized } from '../../support/harness/size.js'
import { pagesToThreads } from '../../support/harness/thread.js'
import {
  type Batch,
  bothWarehouses,
  type Dialect,
  type Kind,
  openLease,
  readForgottenRecords,
  reopen,
  rowsOf,
  sqliteBothWays,
  Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { books, forgettable, leaks, markCustomer } from '../../support/world/forgotten.js'
import { sessionOf } from '../../support/world/through.js'

const sandbox = await sandboxOfFile({ tenants: 1, repairOrders: sized(3, 6), seed: 3 })
const { store } = sandbox
const person = markCustomer(sandbox, 101)
const persons = [{ tenantId: 101, id: person.customer }]

/** A process of its own, as far as what it remembers goes. */
async function inProcess<T>(address: Address, work: (deps: Dependencies) => Promise<T>): Promise<T> {
  const warehouse = await reopen(address, model(resources))
  const { deps, close } = await depsOf(sandbox, warehouse, { known: warehouse.model })
  try {
    return await work(deps)
  } finally {
    await close()
    await warehouse.close()
  }
}
const sync = (address: Address, how: { full?: boolean; mode?: 'full' } = {}) =>
  inProcess(address, ({ warehouse }) => {
    const lists = sized(forgettable, null)
    return syncInOrder(sandbox, warehouse, { known: warehouse.model, resources: lists, ...how })
  })
const forget = (address: Address, instead: (dialect: Dialect) => Dialect = (usual) => usual) =>
  inProcess(address, (deps) => {
    const warehouse = new Warehouse({ dialect: instead(deps.warehouse.dialect), model: deps.warehouse.model })
    return forgetPersons({ ...deps, warehouse }, persons)
  })
const rows = (address: Address, table: string) =>
  inProcess(address, ({ warehouse }) => rowsOf(warehouse, table))

/** A page of one record, prepared with what the warehouse knows to be forgotten then. */
function batchOf(warehouse: Warehouse, resource: string, id: number) {
  const record = JSON.parse(JSON.stringify(store.get(101, resource, id))) as object
  const flat = warehouse.model.byName.get(resource)!.flatten(101, [record], false)
  const key = { tenantId: 101, resource }
  const page = warehouse.encode(flat, key)
  const shown = JSON.stringify([...flat.rows.values()])
  return { ...key, page, shown, syncedAt: '2030-01-01T00:00:00.000000Z', statements: [] }
}

/** Puts an order of the customer that isn't known yet, and a note of it, for one test. */
function newOrder(): void {
  onTestFinished(() => {
    for (const [list, id] of [
      ['notes', 900_501],
      ['repair_orders', 900_500],
    ] as const)
      store.remove(101, list, id)
  })
  store.put(101, 'notes', { ...store.get(101, 'notes', 901_101), id: 900_501, repair_order_id: 900_500 })
  store.change(101, 'notes', 900_501, { description: 'zqmark-early' })
  store.put(101, 'repair_orders', { ...store.get(101, 'repair_orders', person.orders[0] ?? 0), id: 900_500 })
  store.change(101, 'repair_orders', 900_500, {})
}

/** Fails at the n-th statement of a transaction, but for those that only concern the lease. */
function dyingAt(n: number, isLast: (text: string) => boolean = () => false) {
  let count = 0
  const dying = (dialect: Dialect): Dialect => ({
    ...dialect,
    transaction: (work) =>
      dialect.transaction((session) => {
        const run: typeof session.run = (query) => {
          const isOfLease = query.sql.includes('sync_lease') && !query.sql.includes('coalesce(forgotten')
          if (!isOfLease && (count++ >= n || isLast(query.sql))) throw new Stop('killed', { exitCode: 1 })
          return session.run(query)
        }
        return work(sessionOf(session, { run }))
      }),
  })
  return { dying, isDead: () => count > n }
}

/** Warehouses of the source as it is in the beginning: each test has a copy. */
const templates = new Map<string, Address>()
beforeAll(async () => {
  for (const kind of bothWarehouses()) {
    const address = await kind.migrated()
    await sync(address)
    templates.set(kind.name, address)
  }
})
const synced = ({ name, threadFrom = Number.POSITIVE_INFINITY }: Kind): Promise<Address> =>
  copied({ ...templates.get(name)!, threadFrom })

const throughThread = sqliteBothWays().slice(0, 1)
const kinds = bothWarehouses().map((kind) => [kind.name, kind] as const)
describe.each([...throughThread, ...kinds])('%s', (_, kind) => {
  it('one that was prepared before an entry is prepared again', async () => {
    const address = await synced(kind)
    await forget(address)
    newOrder()
    await inProcess(address, async (deps) => {
      await using lease = await openLease(deps, 'sync')
      await readForgottenRecords(lease.warehouse)
      const note = batchOf(lease.warehouse, 'notes', 900_501)
      expect(note.shown).toContain('early')
      const threads = pagesToThreads()
      await lease.warehouse.apply(batchOf(lease.warehouse, 'repair_orders', 900_500))
      await lease.warehouse.apply(note)
      expect(pagesToThreads() > threads).toBe(kind.threadFrom === 0)
    })
    const note = (await rows(address, 'notes')).find(({ id }) => id === 900_501)
    expect(note).toMatchObject({ description: null })
    expect(JSON.stringify(await leaks(address))).not.toContain('early')
  })

  it.runIf(kind.name === 'sqlite')(
    'one that is prepared again with the same set ends as an error of ours',
    async () => {
      await inProcess(await synced(kind), async (deps) => {
        await using lease = await openLease(deps, 'sync')
        const batch = batchOf(lease.warehouse, 'notes', 901_101)
        let asked = 0
        function again() {
          if (++asked > 3) throw new Error('asked again and again')
          return { ...page, rows: new Map() }
        }
        const page: Batch['page'] = {
          ...batch.page,
          forgotten: { ...nothingForgotten, generation: 7, again },
        }
        await expect(lease.warehouse.apply({ ...batch, page })).rejects.toBeInstanceOf(Bug)
      })
    },
  )

  /** For what is above the dialects. */
  const test = it.runIf(warehouses().includes(kind))
  test('from the first statement that empties a row on, nothing new comes, whatever becomes of the rest', async () => {
    const address = await synced(kind)
    // Emptying begins behind the entries.
    let isBegun = false
    const { dying } = dyingAt(Number.POSITIVE_INFINITY, (text) => {
      isBegun ||=
        /update .*"(repair_orders|customers)"|delete from/.test(text) && !text.includes('insert into')
      return isBegun
    })
    await expect(forget(address, dying)).rejects.toThrow('killed')
    person.update()
    await sync(address)
    await sync(address, { full: true, mode: 'full' })
    expect((await leaks(address)).filter((text) => text.endsWith('-again'))).toEqual([])
  })

  test('killed at any statement and repeated, it ends the same', async () => {
    const ofKill = async (n: number) => {
      const address = await synced(kind)
      const { dying, isDead } = dyingAt(n)
      await forget(address, dying).catch((error: unknown) => {
        if (!isDead()) throw error
      })
      if (isDead()) await forget(address)
      expect(await leaks(address), `killed at ${n}`).toEqual([])
      const entries = await rows(address, 'sync_forgotten_records')
      const [receipt] = entries.flatMap((row) => row.receipt ?? [])
      const { tables, kept } = typeof receipt === 'string' ? JSON.parse(receipt) : receipt
      return {
        isDead: isDead(),
        end: {
          entries: entries.map(({ since, receipt: _, ...row }) => row),
          tables: tables.toSorted((a: { table: string }, b: { table: string }) =>
            a.table < b.table ? -1 : 1,
          ),
          kept,
          books: await books(address, person),
        },
      }
    }
    const { end: wanted } = await ofKill(Number.POSITIVE_INFINITY)
    const step = sized(kind.name === 'sqlite' ? 40 : 120, 1)
    let killed = 0
    for (let isDead = true; isDead; killed++) {
      const ended = await ofKill(killed * step)
      expect(ended.end, `killed at ${killed * step}`).toEqual(wanted)
      ;({ isDead } = ended)
    }
    expect(killed).toBeGreaterThan(2)
  })
})
