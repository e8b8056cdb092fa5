/**
 * What makes a copy equal the original (docs/warehouse.md, Moving a warehouse): one function of it is broken at a time.
 */

import type * as tables from '../../../src/features/copy/copiedtables.js'
import type * as bring from '../../../src/features/copy/copyrows.js'
import type * as target from '../../../src/features/copy/copytarget.js'
import type * as stream from '../../../src/features/copy/stream.js'
import { breaking } from './breakage.js'
import { both, type Promised } from './promise.js'

const copying = 'test/features/copy/copying.test.ts'

const part = {
  promise: 'a copy of some tenants has nothing of others',
  test: 'test/features/copy/parts.test.ts',
  name: 'the copies of all tenants have the rows of the warehouse, and nobody else’s',
  on: both,
} as const

export const copy: readonly Promised[] = [
  {
    promise: 'a copy has everything',
    broken: "doesn't copy quarantine",
    breakage: breaking<typeof tables>('src/features/copy/copiedtables.ts').function(
      'copiedTables',
      (sound) =>
        async (...given) => {
          const found = await sound(...given)
          return { ...found, tables: found.tables.filter(({ name }) => name !== 'sync_quarantine') }
        },
    ),
    test: 'test/features/copy/copy.test.ts',
    name: 'every table is the same',
    on: both,
  },
  {
    promise: 'both sides are compared',
    broken: 'compares the original with itself',
    breakage: breaking<typeof bring>('src/features/copy/copyrows.ts').function(
      'compareTable',
      (sound) =>
        async (...given) => {
          const { source } = await sound(...given)
          return { source, target: source }
        },
    ),
    test: copying,
    name: "reports it if the copy doesn't equal the original",
    on: both,
  },
  {
    promise: 'an interrupted copy continues',
    broken: 'leaves every existing row as it is',
    breakage: breaking<typeof stream>('src/features/copy/stream.ts').function(
      'changesOf',
      (sound) => (sides) => sound({ ...sides, isSame: () => true }),
    ),
    test: copying,
    name: 'equals the current original if that continued meanwhile',
    on: both,
  },
  {
    promise: 'nothing else is touched',
    broken: 'copies into a warehouse that holds something else',
    breakage: breaking<typeof target>('src/features/copy/copytarget.ts').function(
      'checkTarget',
      (sound) =>
        (...given) =>
          sound(...given).catch(() => ({ isBegun: false, hasTables: true })),
    ),
    test: copying,
    name: 'is refused if the target holds something else, and nothing is touched',
    on: both,
  },
  {
    ...part,
    broken: 'copies the rows of every tenant',
    breakage: breaking<typeof tables>('src/features/copy/copiedtables.ts').function(
      'isNotCopied',
      (sound) => (table) => sound(table),
    ),
  },
  {
    ...part,
    broken: 'copies what says something about a person',
    breakage: breaking<typeof tables>('src/features/copy/copiedtables.ts').function(
      'impersonalColumns',
      () => () => new Set<string>(),
    ),
  },
]
