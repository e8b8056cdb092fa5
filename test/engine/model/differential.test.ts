import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { resources } from '../../../schema/index.js'
import type { FlatPage, Tuple } from '../../../src/engine/model/flatten/batch.js'
import { compileFlatten } from '../../../src/engine/model/flatten/flatten.js'
import { placeOf, tablesOf } from '../../../src/engine/model/table.js'
import { extraText, reference } from '../../support/oracle/reference.js'
import { recordsOf } from '../../support/world/records.js'

const embedded = Object.values(resources).find((resource) => resource.embeddedAs !== undefined)!
const others = Object.values(resources).filter((r) => r !== embedded && r.list === 'records')

const printed = (value: unknown): string =>
  JSON.stringify(value, (_, item: unknown) => (typeof item === 'bigint' ? `${item}n` : item))
const sorted = (list: readonly unknown[]): string[] => list.map(printed).sort()

function comparable(flat: FlatPage): unknown {
  const withExtra = (tuple: Tuple, at: number): Tuple =>
    tuple.map((v, i) => (i === at && v !== null ? extraText(JSON.parse(exact(String(v)), bigints)) : v))
  return {
    records: sorted(flat.records.map((r) => [r.id, r.updatedAt, r.createdAt])),
    rows: Object.fromEntries(
      [...flat.rows].map(([table, tuples]) => {
        const resource = resources[table]
        const [root] = resource ? tablesOf(resource) : []
        return [table, sorted(tuples.map((t) => (root ? withExtra(t, placeOf(root, '_extra')) : t)))]
      }),
    ),
    quarantine: flat.quarantine.map((q) => `${q.recordId.replace(/^\?.*/, '?')} ${q.path} ${q.value}`).sort(),
    drift: flat.drift.map((d) => `${d.kind} ${d.path} ${d.detail}`).sort(),
    unstorable: flat.unstorable,
  }
}

const exact = (json: string): string => json.replace(/(?<=[:[,])-?\d{16,}(?=[,\]}])/g, '"$&n"')
const bigints = (_: string, value: unknown): unknown =>
  typeof value === 'string' && /^-?\d{16,}n$/.test(value) ? BigInt(value.slice(0, -1)) : value

describe.each(others.map((r) => [r.name, r] as const))('%s', (_, resource) => {
  const flatten = compileFlatten(resource, { embedded })
  test.each([false, true])('equals the plain reference, careful: %s', (careful) => {
    fc.assert(
      fc.property(recordsOf(resource, embedded, careful), (records) => {
        const expected = reference(resource, embedded, records)
        expect(comparable(flatten(records, careful))).toEqual({
          records: sorted(expected.records),
          rows: Object.fromEntries(Object.entries(expected.rows).map(([t, rows]) => [t, sorted(rows)])),
          quarantine: [...expected.quarantine].sort(),
          drift: [...expected.drift].sort(),
          unstorable: expected.unstorable,
        })
      }),
      { numRuns: 60 },
    )
  })
})
