/** An interrupted copy continues and equals the original in the end; an unsuitable target is refused and left alone. */
import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { copied } from '../../support/harness/clones.js'
import { databaseAt, onServer } from '../../support/harness/databases.js'
import { Desk } from '../../support/harness/desk.js'
import type { Address } from '../../support/harness/place.js'
import { sandboxOfFile } from '../../support/harness/sandbox.js'
import { refusal } from '../../support/harness/server.js'
import { sized } from '../../support/harness/size.js'
import {
  bothWarehouses,
  claimLease,
  type Kind,
  migrate,
  openAt,
  plannedChanges,
  postgresUrl,
  reopen,
  type Warehouse,
  warehouses,
} from '../../support/harness/warehouse.js'
import { copyInto, everything, opener, rich } from '../../support/world/copying.js'
import { copySuite, cutShort, look, original } from '../../support/world/copysuite.js'
import { through } from '../../support/world/through.js'
import { keptWarehouse } from '../../support/world/upgrades.js'

const sandbox = await sandboxOfFile()
const [sqlite] = bothWarehouses() as [Kind, Kind]

await copySuite({ moments: sized(3, 120) })

describe.each(bothWarehouses())('into $name', (kind) => {
  /** For what is above the dialects. */
  const test = it.runIf(warehouses().includes(kind))
  let from: Address
  beforeAll(async () => {
    from = await original(sandbox, sqlite)
  })

  test('is refused by every other command until it is complete', async () => {
    const to = kind.address()
    await cutShort(from, to)
    const half = await reopen(to, rich)
    await half.write([half.db.deleteFrom('sync_cursors').compile()])
    await half.close()
    const desk = new Desk(sandbox, to, ['notes'])
    for (const words of ['migrate', 'sync', 'plan', 'report --out /dev/null']) {
      const { code, stderr } = await desk.run(words)
      expect([words, code]).toEqual([words, 2])
      expect(stderr).toMatch(/is an unfinished copy of sqlite:[\s\S]*shopsync copy/)
    }
    expect(await refusal(copyInto(await copied(from), to))).toMatchObject({
      exitCode: 2,
      message: expect.stringMatching(/is an unfinished copy of sqlite:.*, expected a copy of sqlite:/),
    })
    expect(await copyInto(from, to)).toMatchObject({ status: 'ok', resumed: true })
  })

  it('is refused if the target holds something else, and nothing is touched', async () => {
    const to = kind.name === 'sqlite' ? await copied(from) : await original(sandbox, kind)
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
    await (await openAt(to, rich)).close()
    expect(await refusal(copyInto(await keptWarehouse(sqlite), to))).toMatchObject({
      exitCode: 2,
      message: expect.stringContaining('has newer tables than'),
    })
    expect(await copyInto(from, to)).toMatchObject({ status: 'ok' })
    expect(await look(to)).toEqual(await look(from))
  })

  test("doesn't wait if another process holds either side (exit 4)", async () => {
    const to = kind.address()
    for (const held of [from, to]) {
      const holder = await openAt(held, rich)
      const lease = await claimLease(holder, { runId: 'other', command: 'sync', leaseMs: 60_000 })
      expect(await refusal(copyInto(from, to))).toMatchObject({ exitCode: 4 })
      await lease.release()
      await holder.close()
    }
    expect(await copyInto(from, to)).toMatchObject({ status: 'ok' })
    for (const side of [from, to])
      expect(await new Desk(sandbox, side, []).rows('sync_lease')).toMatchObject([{ owner: null }])
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
    const from = await keptWarehouse(sqlite)
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
  const language = `locale_provider icu icu_locale 'en-US' locale 'C'`
  await onServer(postgresUrl(), `create database ${name} template template0 ${language}`)
  const to = { url: databaseAt(postgresUrl(), name), schema: 'shopsync' }
  const from = await original(sandbox, sqlite)
  const warehouse = await reopen(from, rich)
  const drift = { resource: 'notes', kind: 'unknown_value', detail: '', tenant_id: 1 }
  const words = ['a', 'B', 'c', '_', 'é', 'Z', '🛠', '\ue000', ''].map((path) => ({ ...drift, path }))
  await warehouse.write([warehouse.db.insertInto('sync_drift').values(words).compile()])
  await warehouse.close()
  await cutShort(from, to)
  expect(await copyInto(from, to)).toMatchObject({ status: 'ok', resumed: true })
})
