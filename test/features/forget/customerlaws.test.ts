/**
 * What keeps a forgotten customer away: entries, and pages that are compared with them. Which records are entered when they
 * come is in closure.test.ts.
 */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import type { CompiledQuery } from 'kysely'
import { describe, expect, it } from 'vitest'
import { resources } from '../../../schema/index.js'
import { Bug, Stop } from '../../../src/engine/base/errors.js'
import { nothingForgotten } from '../../../src/engine/model/forgotten.js'
import { createSandbox, type Sandbox } from '../../../src/sandbox/index.js'
import { forgetPersons, liftPersons } from '../../support/harness/commands.js'
import { model } from '../../support/harness/model.js'
import type { Address } from '../../support/harness/place.js'
import { depsOf, syncInOrder } from '../../support/harness/runs.js'
import { scratch } from '../../support/harness/scratch.js'
import { sized } from '../../support/harness/size.js'
import { pagesToThreads } from '../../support/harness/thread.js'
import {
  bothWarehouses,
  claimLease,
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
import { EventBench } from '../../support/world/events.js'
import {
  books,
  forgettable,
  leaks,
  type MarkedCustomer,
  markCustomer,
  marker,
} from '../../support/world/forgotten.js'

interface Shop {
  readonly sandbox: Sandbox
  readonly person: MarkedCustomer
  readonly address: Address
  /** A process of its own, as far as what it remembers goes. */
  process<T>(work: (warehouse: Warehouse, known: ReturnType<typeof model>) => Promise<T>): Promise<T>
  sync(only?: readonly string[], full?: boolean): Promise<string>
  forget(warehouse?: Warehouse): Promise<void>
  lift(): Promise<void>
  row(table: string, id: number, column?: string): Promise<Record<string, unknown> | undefined>
}

async function inShop(kind: Kind, work: (shop: Shop) => Promise<void>): Promise<void> {
  const sandbox = await createSandbox({ tenants: 1, repairOrders: sized(3, 6), seed: 3 })
  const person = markCustomer(sandbox, 101)
  const address = await kind.migrated()
  const process: Shop['process'] = async (task) => {
    const known = model(resources)
    const warehouse = await reopen(address, known)
    try {
      return await task(warehouse, known)
    } finally {
      await warehouse.close()
    }
  }
  const persons = [{ tenantId: 101, id: person.customer }]
  const acting = (task: (deps: Parameters<typeof forgetPersons>[0]) => Promise<unknown>) =>
    process(async (warehouse, known) => {
      const { deps, close } = await depsOf(sandbox, warehouse, { known })
      await task(deps).finally(close)
    })
  try {
    await work({
      sandbox,
      person,
      address,
      process,
      sync: (only, full) =>
        process(async (warehouse, known) => {
          const report = await syncInOrder(sandbox, warehouse, {
            known,
            resources: only ?? usual(),
            ...(full && { full, mode: 'full' as const }),
          })
          return report.status
        }),
      forget: async (given) => {
        if (!given) return void (await acting((deps) => forgetPersons(deps, persons)))
        const { deps, close } = await depsOf(sandbox, given, { known: given.model })
        await forgetPersons(deps, persons).finally(close)
      },
      lift: async () => void (await acting((deps) => liftPersons(deps, persons))),
      row: (table, id) =>
        process(async (warehouse) =>
          (await rowsOf(warehouse, table)).find((row) => Number(row['id'] ?? row['record_id']) === id),
        ),
    })
  } finally {
    await sandbox.close()
  }
}

/** The lists of a sync that names none; null for all. */
const usual = (): readonly string[] | null => sized(forgettable, null)

const entry = async ({ process }: Shop, resource: string, id: number): Promise<unknown> =>
  process(
    async (warehouse) =>
      (await rowsOf(warehouse, 'sync_forgotten_records')).find(
        (row) => row['resource'] === resource && Number(row['record_id']) === id,
      )?.['state'],
  )

/** A page of one record, prepared with what the warehouse knows to be forgotten then. */
const pageOf =
  ({ sandbox }: Shop, warehouse: Warehouse) =>
  (resource: string, id: number) => {
    const record = JSON.parse(JSON.stringify(sandbox.store.get(101, resource, id))) as object
    const flat = warehouse.model.byName.get(resource)?.flatten(101, [record], false)
    if (!flat) throw new Error('no page')
    const shown = JSON.stringify([...flat.rows.values()])
    return {
      shown,
      batch: { tenantId: 101, resource, page: warehouse.encode(flat, { tenantId: 101, resource }) },
    }
  }

/** Puts an order of the customer that isn't known yet, and a note of it. */
function newOrder({ sandbox: { store }, person }: Shop): void {
  store.put(101, 'notes', { ...store.get(101, 'notes', 901_101), id: 900_501, repair_order_id: 900_500 })
  store.change(101, 'notes', 900_501, { description: `${marker}-early` })
  store.put(101, 'repair_orders', { ...store.get(101, 'repair_orders', person.orders[0] ?? 0), id: 900_500 })
  store.change(101, 'repair_orders', 900_500, {})
}

describe.each(bothWarehouses())('$name', (kind) => {
  /** For what is above the dialects. */
  const test = it.runIf(warehouses().includes(kind))
  test('after --lift, the next sync stores what the source has', async () => {
    await inShop(kind, async (shop) => {
      const { person, sandbox } = shop
      // Far behind the watermark: an increment doesn't show them.
      const longAgo = BigInt(Date.parse('2026-02-03T04:05:06Z')) * 1000n
      for (const [resource, ids] of person.records)
        for (const id of ids) sandbox.store.change(101, resource, id, {}, longAgo)
      const other = sandbox.store.ids(101, 'customers').find((id) => id !== person.customer) ?? 0
      sandbox.store.change(101, 'customers', other, {})
      await shop.sync()
      const all = (): Promise<unknown> =>
        shop.process(async (warehouse) => {
          const found: Record<string, unknown> = {}
          for (const { name } of warehouse.model.tables)
            found[name] = (await rowsOf(warehouse, name)).map(({ _synced_at, ...row }) => row)
          return found
        })
      const before = await all()
      await shop.forget()
      expect(await all()).not.toEqual(before)
      await shop.lift()
      await shop.sync()
      expect(await all()).toEqual(before)
      expect(await shop.process((warehouse) => rowsOf(warehouse, 'sync_forgotten_records'))).toEqual([])
      await expect(shop.lift()).rejects.toMatchObject({ exitCode: 2 })
    })
  })

  test('an event of a forgotten customer brings nothing back', async () => {
    await inShop(kind, async (shop) => {
      await shop.sync()
      await shop.forget()
      newOrder(shop)
      shop.person.update()
      await shop.process(async (warehouse, known) => {
        const events = await EventBench.open(shop.sandbox, warehouse)
        for (const resource of ['customers', 'repair_orders', 'notes'])
          await events.put({ tenant: 101, resource, id: shop.person.records.get(resource)?.[0] ?? 0 })
        expect(await events.turn({ known })).toEqual({ by: 'done' })
        expect(new Set(await events.states())).toEqual(new Set(['settled']))
        await events.inbox.close()
      })
      expect(await entry(shop, 'repair_orders', 900_500)).toBe('hidden')
      expect(await shop.row('customers', shop.person.customer)).toMatchObject({ last_name: null })
      await shop.forget()
      expect(await leaks(shop.address)).toEqual([])
    })
  })

  test('a customer who is only known by an order is forgotten before they arrive', async () => {
    await inShop(kind, async (shop) => {
      await shop.sync(['repair_orders'])
      expect(await shop.row('customers', shop.person.customer)).toBeUndefined()
      await shop.forget()
      await shop.sync()
      expect(await leaks(shop.address)).toEqual([])
      expect(await shop.row('customers', shop.person.customer)).toMatchObject({
        last_name: null,
        _extra: null,
      })
      expect(await entry(shop, 'vehicles', shop.person.vehicle)).toBe('hidden')
    })
  })

  test('what no table has is emptied too: whose it is is not known', async () => {
    await inShop(kind, async (shop) => {
      const { store } = shop.sandbox
      store.put(101, 'notes', { ...store.get(101, 'notes', 901_101), id: undefined })
      await shop.sync(['customers', 'repair_orders', 'notes'])
      const inQuarantine = () =>
        shop.process(async (warehouse) =>
          (await rowsOf(warehouse, 'sync_quarantine')).filter((row) => row['resource'] === 'notes'),
        )
      expect(JSON.stringify(await inQuarantine())).toContain(marker)
      await shop.forget()
      expect(await inQuarantine()).toMatchObject([
        { value: null, reason: expect.stringContaining('erased on request') },
      ])
      expect(await leaks(shop.address)).toEqual([])
    })
  })

  test('waits for no other writer, and does nothing while one is at work', async () => {
    await inShop(kind, async (shop) => {
      await shop.sync(['customers'])
      await shop.process(async (warehouse) => {
        const lease = await claimLease(warehouse, { runId: 'another', command: 'sync', leaseMs: 60_000 })
        await expect(shop.forget()).rejects.toMatchObject({ exitCode: 4 })
        await lease.release()
      })
      expect(await shop.row('customers', shop.person.customer)).not.toMatchObject({ last_name: null })
      expect(await entry(shop, 'customers', shop.person.customer)).toBeUndefined()
    })
  })

  test('from the first statement that empties a row on, nothing new comes, whatever becomes of the rest', async () => {
    await inShop(kind, async (shop) => {
      await shop.sync()
      await shop.process(async (warehouse, known) => {
        // Emptying begins behind the entries.
        let isBegun = false
        const { dialect } = dyingAt(warehouse.dialect, Number.POSITIVE_INFINITY, (text) => {
          isBegun ||=
            /update .*"(repair_orders|customers)"|delete from/.test(text) && !text.includes('insert into')
          return isBegun
        })
        await expect(shop.forget(new Warehouse({ dialect, model: known }))).rejects.toThrow('killed')
      })
      shop.person.update()
      await shop.sync()
      await shop.sync(undefined, true)
      expect((await leaks(shop.address)).filter((text) => text.endsWith('-again'))).toEqual([])
    })
  })

  it('killed at any statement and repeated, it ends the same; nothing comes back meanwhile', async () => {
    await inShop(kind, async (shop) => {
      const { person, address } = shop
      await shop.sync()
      const path = address.url.replace(/^sqlite:/, '')
      const isFile = address.url.startsWith('sqlite:')
      const kept = join(scratch(), 'kept.db')
      if (isFile) copyFileSync(path, kept)
      const end = async (): Promise<unknown> => {
        expect(await leaks(address)).toEqual([])
        const entries = await shop.process((warehouse) => rowsOf(warehouse, 'sync_forgotten_records'))
        const of = entries.map(({ since: _, receipt: _r, ...row }) => row)
        const receipt = entries.find((row) => row['receipt'] !== null)?.['receipt']
        const { tables, kept: also } = (typeof receipt === 'string' ? JSON.parse(receipt) : receipt) as {
          tables: { table: string }[]
          kept: object[]
        }
        const sorted = [...tables].sort((a, b) => (a.table < b.table ? -1 : 1))
        return { of, tables: sorted, also, books: isFile ? await books(address, person) : null }
      }
      let wanted: unknown
      let killed = 0
      // In Postgres, each beginning is a sync of its own.
      const step = sized(isFile ? 40 : 120, 1)
      for (let n = Number.POSITIVE_INFINITY; ; n = n === Number.POSITIVE_INFINITY ? 0 : n + step) {
        if (isFile) copyFileSync(kept, path)
        else if (killed > 0) {
          await shop.lift()
          await shop.sync()
        }
        const ran = await shop.process(async (warehouse, known) => {
          const { dialect, isDead } = dyingAt(warehouse.dialect, n)
          const mortal = new Warehouse({ dialect, model: known })
          await shop.forget(mortal).catch((error: unknown) => {
            if (!isDead()) throw error
          })
          return !isDead()
        })
        if (n === Number.POSITIVE_INFINITY) {
          wanted = await end()
          killed++
          continue
        }
        await shop.forget()
        expect(await end(), `killed at ${n}`).toEqual(wanted)
        if (ran) break
        killed++
      }
      expect(killed).toBeGreaterThan(isFile ? 3 : 1)
    })
  })
})

const throughThread = sqliteBothWays().slice(0, 1)
describe.each([...throughThread, ...bothWarehouses().map((kind) => [kind.name, kind] as const)])(
  'pages: %s',
  (_, kind) => {
    it('one that was prepared before an entry is prepared again', async () => {
      await inShop(kind, async (shop) => {
        await shop.sync()
        await shop.forget()
        newOrder(shop)
        await shop.process(async (warehouse) => {
          const { deps, close } = await depsOf(shop.sandbox, warehouse, { known: warehouse.model })
          await using lease = await openLease({ ...deps, warehouse }, 'sync')
          await readForgottenRecords(lease.warehouse)
          const page = pageOf(shop, lease.warehouse)
          const syncedAt = '2030-01-01T00:00:00.000000Z'
          const notes = page('notes', 900_501)
          expect(notes.shown).toContain('early')
          const threads = pagesToThreads()
          await lease.warehouse.apply({ ...page('repair_orders', 900_500).batch, syncedAt, statements: [] })
          await lease.warehouse.apply({ ...notes.batch, syncedAt, statements: [] })
          expect(pagesToThreads() > threads).toBe(kind.threadFrom === 0)
          await close()
        })
        expect(await shop.row('notes', 900_501)).toMatchObject({ description: null })
        expect(JSON.stringify(await leaks(shop.address))).not.toContain('early')
      })
    })

    it.runIf(kind.name === 'sqlite')(
      'one that is prepared again with the same set ends as an error of ours',
      async () => {
        await inShop(kind, async (shop) => {
          await shop.sync()
          await shop.process(async (warehouse) => {
            const { deps, close } = await depsOf(shop.sandbox, warehouse, { known: warehouse.model })
            await using lease = await openLease({ ...deps, warehouse }, 'sync')
            const { batch } = pageOf(shop, lease.warehouse)('notes', 901_101)
            let asked = 0
            const page: typeof batch.page = {
              ...batch.page,
              forgotten: { ...nothingForgotten, generation: 7, again },
            }
            function again() {
              if (++asked > 3) throw new Error('asked again and again')
              return { ...page, rows: new Map() }
            }
            const syncedAt = '2030-01-01T00:00:00.000000Z'
            const applied = lease.warehouse.apply({ ...batch, page, syncedAt, statements: [] })
            await expect(applied).rejects.toBeInstanceOf(Bug)
            await close()
          })
        })
      },
    )
  },
)

/** Fails at the n-th statement of a transaction. */
function dyingAt(
  dialect: Dialect,
  n: number,
  isLast: (text: string) => boolean = () => false,
): { readonly dialect: Dialect; isDead(): boolean } {
  let count = 0
  const transaction: Dialect['transaction'] = (work) =>
    dialect.transaction((session) =>
      work(
        new Proxy(session, {
          get: (target, name) => {
            const member: unknown = Reflect.get(target, name, target)
            if (typeof member !== 'function') return member
            if (name !== 'run') return member.bind(target) as unknown
            return (query: CompiledQuery) => {
              if (query.sql.includes('sync_lease') && !query.sql.includes('coalesce(forgotten'))
                return target.run(query)
              if (count++ >= n || isLast(query.sql)) throw new Stop('killed', { exitCode: 1 })
              return target.run(query)
            }
          },
        }),
      ),
    )
  return { dialect: { ...dialect, transaction }, isDead: () => count > n }
}
