/** An interrupted copy continues and equals the original in the end; an unsuitable target is refused and left alone. */
import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { beforeAll, describe, expect, it } from 'vitest'
import { shopsync } from '../../support/harness/call.js'
import { type Address, configure } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { refusal } from '../../support/harness/server.js'
import {
  bothWarehouses,
  claimLease,
  migrate,
  plannedChanges,
  postgresUrl,
  reopen,
  rowsOf,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { copyInto, everything, opener, rich } from '../../support/world/copying.js'
import { Crash, copySuite, look, original } from '../../support/world/copysuite.js'
import { through } from '../../support/world/through.js'
import { keptWarehouse } from '../../support/world/upgrades.js'

const sandbox = await sandboxOfFile()

await copySuite({ moments: 3 })

describe.each(bothWarehouses())('into $name', (kind) => {
  /** For what is above the dialects. */
  const test = it.runIf(warehouses().includes(kind))
  let from: Address
  beforeAll(async () => {
    from = await original(sandbox, bothWarehouses()[0]!)
  })

  test('is refused by every other command until it is complete', async () => {
    const to = kind.address()
    const begun = copyInto(from, to, {
      onProgress: ({ pass }) => {
        if (pass === 'comparing') throw new Crash()
      },
    })
    await expect(begun).rejects.toThrow(Crash)
    const half = await reopen(to, rich)
    await half.write([half.db.deleteFrom('sync_cursors').compile()])
    await half.close()
    const config = configure(sandbox, to, ['notes'])
    for (const words of [['migrate'], ['sync'], ['plan'], ['report', '--out', '/dev/null']]) {
      const refused = await shopsync([...words, '--config', config])
      expect([words, refused.code]).toEqual([words, 2])
      expect(refused.stderr).toMatch(/is an unfinished copy of sqlite:[\s\S]*shopsync copy/)
    }
    const stranger = await original(sandbox, bothWarehouses()[0]!)
    expect(await refusal(copyInto(stranger, to))).toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(/is an unfinished copy of sqlite:.*, expected a copy of sqlite:/),
    })
    expect(await copyInto(from, to)).toMatchObject({ status: 'ok', resumed: true })
  })

  it('is refused if the target holds something else, and nothing is touched', async () => {
    const to = await original(sandbox, kind)
    const before = await look(to)
    const refused = await refusal(copyInto(from, to))
    expect(refused).toMatchObject({ exitCode: 2, hint: expect.stringContaining('--to-schema') })
    expect(refused.message).toMatch(/has \d+ rows in \d+ tables \(.*notes 9.*\), expected an empty warehouse/)
    expect(await look(to)).toEqual(before)
    expect(await refusal(copyInto(to, to))).toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('Both sides are'),
    })
    expect(await refusal(copyInto(kind.address(), kind.address()))).toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('There is no warehouse yet'),
    })
  })

  test('accepts a target made by migrate, unless the original is older', async () => {
    const to = kind.address()
    const made = await reopen(to, rich)
    await migrate(made)
    expect(await copyInto(from, to)).toMatchObject({ status: 'ok' })
    expect(await look(to)).toEqual(await look(from))
    await made.close()
    const newer = kind.address()
    const empty = await reopen(newer, rich)
    await migrate(empty)
    await empty.close()
    expect(await refusal(copyInto(await keptWarehouse(bothWarehouses()[0]!), newer))).toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('has newer tables than'),
    })
  })

  test("doesn't wait if another process holds either side (exit 4)", async () => {
    const to = kind.address()
    for (const held of [from, to]) {
      const holder = await reopen(held, rich)
      await migrate(holder)
      const lease = await claimLease(holder, { runId: 'other', command: 'sync', leaseMs: 60_000 })
      expect(await refusal(copyInto(from, to))).toMatchObject({ exitCode: 4 })
      await lease.release()
      await holder.close()
    }
    expect(await copyInto(from, to)).toMatchObject({ status: 'ok' })
    for (const side of [from, to]) {
      const warehouse = await reopen(side, rich)
      expect(await rowsOf(warehouse, 'sync_lease')).toMatchObject([{ owner: null }])
      await warehouse.close()
    }
  })

  test("reports it if the copy doesn't equal the original in the end, and doesn't finish it", async () => {
    const to = kind.address()
    const spoil = async (how?: { readonly existing?: boolean }): Promise<Warehouse> => {
      const warehouse = await opener(to)(how)
      const { bulk } = warehouse.dialect
      return through(warehouse, {
        bulk: {
          ...bulk,
          scan: async function* (held, table, rowsAtOnce) {
            for await (const rows of bulk.scan(held, table, rowsAtOnce))
              yield table.name === 'notes' ? rows.map((row) => row.with(3, 'other')) : rows
          },
        },
      })
    }
    const report = await copyInto(from, to, { openTarget: spoil })
    expect(report.status).toBe('differs')
    expect(report.tables.filter(({ equal }) => !equal)).toMatchObject([
      { table: 'notes', rows: 9, original: { rows: 9 } },
    ])
    expect(await copyInto(from, to)).toMatchObject({ status: 'ok', resumed: true })
  })

  it('copies a warehouse of 0.2.0 as it is, and the next run upgrades it', async () => {
    const from = await keptWarehouse(bothWarehouses()[0]!)
    const to = kind.address()
    expect(await copyInto(from, to)).toMatchObject({ status: 'ok', quarantined: 0 })
    const [mine, theirs] = [await reopen(from, rich), await reopen(to, rich)]
    // The lease is made again. Missing columns and tables, and what follows from that; the types have different names,
    // and all indexes are made.
    const lacking = async (warehouse: Warehouse): Promise<unknown[]> =>
      (await plannedChanges(warehouse))
        .filter(({ kind, table }) => kind !== 'index' && table !== 'sync_lease')
        .map(({ table, column, refills }) => [table, column?.name, refills(1)])
    expect(await lacking(theirs)).toEqual(await lacking(mine))
    for (const warehouse of [mine, theirs]) await migrate(warehouse)
    // What forget still has to look for stays with each file.
    const compared = async (warehouse: Warehouse) => {
      const { sync_meta: meta = [], sync_cursors: cursors = [], ...others } = await everything(warehouse)
      return {
        ...others,
        meta: meta.filter(({ name }) => name !== 'tenant_traces'),
        // Without when each was migrated.
        cursors: cursors.map(({ refill, ...cursor }) => [cursor, String(refill).replace(/ \(2.*/, '')]),
      }
    }
    expect(await compared(theirs)).toEqual(await compared(mine))
    await mine.close()
    await theirs.close()
  })
})

it('compares in the same order with a database of another language', async () => {
  const name = `copy_${randomBytes(6).toString('hex')}`
  const client = new pg.Client({ connectionString: postgresUrl() })
  await client.connect()
  await client.query(
    `create database ${name} template template0 locale_provider icu icu_locale 'en-US' locale 'C'`,
  )
  await client.end()
  const url = new URL(postgresUrl())
  url.pathname = `/${name}`
  const to = { url: url.href, schema: 'shopsync' }
  const from = await original(sandbox, bothWarehouses()[0]!)
  const warehouse = await reopen(from, rich)
  const words = ['a', 'B', 'c', '_', 'é', 'Z', '🛠', '\ue000', '']
  const drift = { resource: 'notes', kind: 'unknown_value', detail: '', tenant_id: 1 }
  await warehouse.write(
    words.map((path) =>
      warehouse.db
        .insertInto('sync_drift')
        .values({ ...drift, path })
        .compile(),
    ),
  )
  await warehouse.close()
  const half = copyInto(from, to, {
    onProgress: ({ pass }) => {
      if (pass === 'comparing') throw new Crash()
    },
  })
  await expect(half).rejects.toThrow(Crash)
  expect(await copyInto(from, to)).toMatchObject({ status: 'ok', resumed: true })
})
