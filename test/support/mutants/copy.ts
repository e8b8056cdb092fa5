/**
 * What makes a copy equal the original (docs/warehouse.md, Moving a warehouse): one function of it is broken at a time.
 */

import { breaking } from './breakage.js'
import { mutants } from './promise.js'

const copiedtables = breaking(() => import('../../../src/features/copy/copiedtables.js'))
const copyrows = breaking(() => import('../../../src/features/copy/copyrows.js'))
const copytarget = breaking(() => import('../../../src/features/copy/copytarget.js'))
const stream = breaking(() => import('../../../src/features/copy/stream.js'))

export const copy = mutants([
  [
    'a copy has everything',
    "doesn't copy quarantine",
    copiedtables.function('copiedTables', (sound) => async (...given) => {
      const found = await sound(...given)
      return { ...found, tables: found.tables.filter(({ name }) => name !== 'sync_quarantine') }
    }),
    'test/features/copy/copy.test.ts: every table is the same',
    'daily',
  ],
  [
    'both sides are compared',
    'compares the original with itself',
    copyrows.function('compareTable', (sound) => async (...given) => {
      const { source } = await sound(...given)
      return { source, target: source }
    }),
    "test/features/copy/copying.test.ts: reports it if the copy doesn't equal the original",
    'daily',
  ],
  [
    'an interrupted copy continues',
    'leaves every existing row as it is',
    stream.function('changesOf', (sound) => (sides) => sound({ ...sides, isSame: () => true })),
    'test/features/copy/copying.test.ts: equals the current original if that continued meanwhile',
    'daily',
  ],
  [
    'nothing else is touched',
    'copies into a warehouse that holds something else',
    copytarget.function(
      'checkTarget',
      (sound) =>
        (...given) =>
          sound(...given).catch(() => ({ isBegun: false, hasTables: true })),
    ),
    'test/features/copy/copying.test.ts: is refused if the target holds something else, and nothing is touched',
    'daily',
  ],
  [
    'a copy of some tenants has nothing of others',
    'copies the rows of every tenant',
    copiedtables.function('isNotCopied', (sound) => (table) => sound(table)),
    'test/features/copy/parts.test.ts: the copies of all tenants have the rows of the warehouse, and nobody else’s',
  ],
  [
    'a copy of some tenants has nothing of others',
    'copies what says something about a person',
    copiedtables.function('impersonalColumns', () => () => new Set<string>()),
    'test/features/copy/parts.test.ts: the copies of all tenants have the rows of the warehouse, and nobody else’s',
  ],
])
