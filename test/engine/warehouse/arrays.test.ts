/** Every value must reach Postgres in binary form as it would in text, which the server itself reads. */
import fc from 'fast-check'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Kind } from '../../../schema/resource.js'
import { fromMicros } from '../../../src/engine/base/timestamp.js'
import type { Value } from '../../../src/engine/model/flatten/batch.js'
import { postgresOfRun } from '../../support/harness/clones.js'
import { binaryArrays } from '../../support/harness/warehouse.js'

const { url } = postgresOfRun()
const seconds = fc.bigInt({ min: -62_135_596_800n, max: 253_402_300_799n })
const micros = fc.bigInt({ min: 0n, max: 999_999n })
const money = fc.integer({ min: -9_999_999, max: 99_999_999 }).map((n) => n / 10_000)

const kinds: [kind: Kind, type: string, values: fc.Arbitrary<Value>][] = [
  ['id', 'bigint', fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })],
  ['integer', 'bigint', fc.maxSafeInteger()],
  ['number', 'numeric', fc.oneof(money, fc.double({ noNaN: true, noDefaultInfinity: true }))],
  ['boolean', 'boolean', fc.boolean()],
  ['text', 'text', fc.string({ unit: 'grapheme', maxLength: 80 }).filter((s) => !s.includes('\0'))],
  ['timestamp', 'timestamptz', fc.tuple(seconds, micros).map(([s, m]) => fromMicros(s * 1_000_000n + m))],
  ['day', 'date', seconds.map((s) => fromMicros(s * 1_000_000n).slice(0, 10))],
  ['json', 'jsonb', fc.constantFrom('{"a":[1,"é“"]}', '[]', '"x"', '12.50')],
]

describe('postgres', () => {
  const client = new pg.Client({ connectionString: url, options: '-c TimeZone=UTC' })
  beforeAll(() => client.connect())
  afterAll(() => client.end())

  it.each(kinds)('reads %s in binary as in text', async (kind, type, values) => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.option(values), { maxLength: 40 }), async (list) => {
        const texts = list.map((value) => (value === null ? null : String(value)))
        const tuples = list.map((value) => [value])
        const { rows } = await client.query(
          `select a::text as a, b::${type}::text as b from unnest($1::${type}[], $2::text[]) as u(a, b)`,
          [binaryArrays(tuples, [kind])[0], texts],
        )
        expect(rows).toHaveLength(list.length)
        for (const row of rows) expect(row.a).toBe(kind === 'number' ? plain(row.a, row.b) : row.b)
      }),
      { numRuns: 60 },
    )
  })

  /** `1e21` as text has fewer zeros after the point than a number that was written out; the value is the same. */
  const plain = (a: string, b: string): string => (Number(a) === Number(b) && trim(a) === trim(b) ? a : b)
  const trim = (text: string): string => (text?.includes('.') ? text.replace(/\.?0+$/, '') : text)
})
