/** What a snapshot stores of the small business of test/support/world/business.ts, computed by hand. */
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rowsOf, type Warehouse, warehouses } from '../../support/harness/warehouse.js'
import { type BusinessPlace, businessIn } from '../../support/world/business.js'

describe.each(warehouses())('$name', (kind) => {
  let warehouse: Warehouse
  let run: BusinessPlace['run']
  beforeAll(async () => {
    ;({ warehouse, run } = await businessIn(kind))
  })
  afterAll(() => warehouse.close())

  it("a snapshot stores the shops' state, and replaces one from the same day", async () => {
    const taken = async (): Promise<number[][]> =>
      (await rowsOf(warehouse, 'daily_snapshots')).map(({ day: _day, taken_at: _at, ...row }) =>
        Object.values(row).map(Number),
      )
    const expected = [
      [1, 1, 833, 2, 1, 1, 355, 1, 8000, 4, 15_997, 0, 10_000, 0, 5997, 1, 16_000, 16_000, 6000, 6000, -3, 0],
      [1, 2, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0],
      [
        2, 1, 833, 2, 1, 0, 0, 1, 0, 2, 819_311, 0, 0, 0, 819_311, 1, 819_311, 819_311, 819_311, 819_311, 0,
        0,
      ],
      [2, 2, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
    ]
    expect((await run(['snapshot'])).stdout).toContain('4 shops')
    expect(await taken()).toEqual(expected)
    const table = sql.raw(warehouse.dialect.views().sql.table('daily_snapshots'))
    await sql`update ${table} set stock_cents = 1`.execute(warehouse.db)
    expect((await run(['snapshot', '--json'])).json()).toMatchObject({ status: 'ok', shops: 4 })
    expect((await taken()).slice(-4)).toEqual(expected)
    for (const { day, taken_at } of await rowsOf(warehouse, 'daily_snapshots')) {
      const apart = Date.parse(String(taken_at)) - Date.parse(`${day}T12:00:00Z`)
      expect([day, Math.abs(apart) < 36 * 3_600_000]).toEqual([day, true])
    }
    expect((await run(['forget', '--tenant', '2', '--yes'])).code).toBe(0)
    expect((await taken()).every(([tenant]) => tenant === 1)).toBe(true)
  })
})
