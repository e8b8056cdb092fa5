/** A value on its way from SQLite to Postgres and back: nothing changes silently, and what is almost equal isn't equal. */
import Sqlite from 'better-sqlite3'
import fc from 'fast-check'
import { sql } from 'kysely'
import { beforeAll, expect, it } from 'vitest'
import type { Address } from '../../support/harness/place.js'
import { known } from '../../support/harness/runs.js'
import { bothWarehouses, reopen, rowsOf, type Warehouse } from '../../support/harness/warehouse.js'
import { copyInto, cutShort } from '../../support/world/copying.js'

const table = 'repair_orders'
const model = known

/** What a person may have written into a SQLite file, which accepts anything anywhere; what Postgres has of it, or why not. */
const odd: readonly (readonly [column: string, written: unknown, kept: unknown, reason?: string])[] = [
  ['odometer', 1.5, null, 'not a whole number'],
  ['supply_fee_cents', 'x', null, 'not the text of an integer'],
  ['shop_id', 9_223_372_036_854_775_807n, '9223372036854775807'],
  ['taxable', 2, null, 'not a boolean'],
  ['detail', 'a\u0000b', 'a\ufffdb'],
  ['detail', Buffer.from('x'), null, 'not a text'],
  ['closed_at', '2026-01-02T03:04:05+01:00', '2026-01-02T02:04:05.000000Z'],
  ['closed_at', 'yesterday', null, 'not a timestamp with a zone'],
  ['labor_tax_rate', 'x', null, 'not the text of a number'],
  ['_extra', 5n, '5'],
  ['_extra', '{"a":', null, 'not JSON'],
  ['_extra', '{"a":1e200000}', null, 'a number that numeric cannot hold'],
  ['_extra', '{"a":"1e200000"}', '{"a": "1e200000"}'],
  ['_extra', '{"a":"x\\u0000y"}', '{"a": "x\ufffdy"}'],
  [
    '_extra',
    '{"a":"\\ud800","b":"\\\\u0000","c":"\\ud83d\\udee0"}',
    '{"a": "\ufffd", "b": "\\\\u0000", "c": "🛠"}',
  ],
]

/** JSON texts, and something that is almost equal: it may be a double's neighbor, or the same letters. */
const near: readonly (readonly [text: string, almost: string])[] = [
  ['{"a":1}', '{"a":"1"}'],
  ['{"a":"1"}', '{"a":"=1"}'],
  ['{"a":1e400}', `{"a":1${'0'.repeat(399)}1}`],
  ['{"a":0.1}', '{"a":0.10000000000000000001}'],
  ['{"a":null}', '{"a":"null"}'],
  ['{"__proto__":1}', '{}'],
  ['{"b":1.10,"a":1e2}', '{"b":1.1,"a":101}'],
  ['{"a b": [1.10, "c, d: \\" e"], "f": {}}', '{"a b":[1.10,"c,d: \\" e"],"f":{}}'],
]
const doubles = fc.sample(fc.double({ noNaN: true, noDefaultInfinity: true }), 200)

const [sqlite, postgres] = bothWarehouses()
let from: Address
let to: Address
let copied: Warehouse
const extras = async (): Promise<ReadonlyMap<number, string | null>> => {
  const { rows } = await sql<{ id: string; text: string | null }>`select id, _extra::text as text
    from ${sql.id(to.schema, table)}`.execute(copied.db)
  return new Map(rows.map(({ id, text }) => [Number(id), text]))
}
const rowOf = async (id: number): Promise<Record<string, unknown> | undefined> =>
  (await rowsOf(copied, table)).find((row) => Number(row.id) === id)

beforeAll(async () => {
  from = await sqlite!.migrated()
  to = postgres!.address()
  const file = new Sqlite(from.url.slice('sqlite:'.length))
  const at = '2026-01-01T00:00:00.000000Z'
  const put = (id: number, column: string, value: unknown): unknown =>
    file
      .prepare(
        `insert into ${table} (tenant_id, id, updated_at, _synced_at, ${column}) values (1, ?, ?, ?, ?)`,
      )
      .run(id, at, at, value)
  for (const [i, [column, value]] of odd.entries()) put(i, column, value)
  for (const [i, [text]] of near.entries()) put(100 + i, '_extra', text)
  for (const [i, value] of doubles.entries()) put(1000 + i, 'labor_tax_rate', value)
  file.close()
  await cutShort(from, to, model)
  copied = await reopen(to)
})

it('what is almost equal is copied again, and what differs in writing is equal', async () => {
  const before = await extras()
  for (const [i, [, almost]] of near.entries()) {
    const spoil = sql`update ${sql.id(to.schema, table)} set _extra = ${sql.lit(almost)}::jsonb where id = ${100 + i}`
    await spoil.execute(copied.db)
  }
  expect(await extras()).not.toEqual(before)
  expect(await copyInto(from, to, { model })).toMatchObject({ status: 'ok', resumed: true })
  expect(await extras()).toEqual(before)
})

it.each(odd.map(([column, written, kept, reason], id) => ({ column, written, kept, reason, id })))(
  '$column: $written is converted, or in quarantine with a reason',
  async ({ column, kept, reason, id }) => {
    const found = column === '_extra' ? (await extras()).get(id) : (await rowOf(id))?.[column]
    const entries = (await rowsOf(copied, 'sync_quarantine')).filter((row) => row.record_id === String(id))
    expect([found, entries.map((row) => row.reason)]).toEqual([kept, reason === undefined ? [] : [reason]])
  },
)

it('numbers that fit a double and JSON come back as they were, without the spaces of jsonb', async () => {
  const again = sqlite!.address()
  expect(await copyInto(to, again, { model })).toMatchObject({ status: 'ok', quarantined: 0 })
  const file = new Sqlite(again.url.slice('sqlite:'.length), { readonly: true })
  const read = (column: string, first: number): unknown[] =>
    file
      .prepare(`select ${column} from ${table} where id >= ? and id < 10 * ? order by id`)
      .pluck()
      .all(first, first)
  expect(read('labor_tax_rate', 1000)).toEqual(doubles.map((value) => value + 0))
  const texts = read('_extra', 100)
  expect(texts.slice(0, 2)).toEqual(near.slice(0, 2).map(([text]) => text))
  expect(texts.at(-1)).toBe('{"f":{},"a b":[1.10,"c, d: \\" e"]}')
  file.close()
})
