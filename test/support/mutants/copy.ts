/**
 * What makes a copy equal the original (docs/warehouse.md, Moving a warehouse): one function of it is broken at a time.
 */

import { breaking } from './breakage.js'
import { mutants } from './promise.js'

export const copy = mutants({
  'a copy has everything': {
    'test/features/copy/copy.test.ts: every table is the same': {
      "doesn't copy quarantine": () =>
        breaking('features/copy/copiedtables', 'daily').copiedTables(async (sound, ...given) => {
          const found = await sound(...given)
          return { ...found, tables: found.tables.filter(({ name }) => name !== 'sync_quarantine') }
        }),
    },
  },
  'both sides are compared': {
    "test/features/copy/copying.test.ts: reports it if the copy doesn't equal the original": {
      'compares the original with itself': () =>
        breaking('features/copy/copyrows', 'daily').compareTable(async (sound, ...given) => {
          const { source } = await sound(...given)
          return { source, target: source }
        }),
    },
  },
  'an interrupted copy continues': {
    'test/features/copy/copying.test.ts: equals the current original if that continued meanwhile': {
      'leaves every existing row as it is': () =>
        breaking('features/copy/stream', 'daily').changesOf((sound, sides) =>
          sound({ ...sides, isSame: () => true }),
        ),
    },
  },
  'nothing else is touched': {
    'test/features/copy/copying.test.ts: is refused if the target holds something else, and nothing is touched':
      {
        'copies into a warehouse that holds something else': () =>
          breaking('features/copy/copytarget', 'daily').checkTarget((sound, ...given) =>
            sound(...given).catch(() => ({ isBegun: false, hasTables: true })),
          ),
      },
  },
  'a copy of some tenants has nothing of others': {
    'test/features/copy/parts.test.ts: the copies of all tenants have the rows of the warehouse, and nobody else’s':
      {
        'copies the rows of every tenant': () =>
          breaking('features/copy/copiedtables').isNotCopied((sound, table) => sound(table)),
        'copies what says something about a person': () =>
          breaking('features/copy/copiedtables').impersonalColumns(() => new Set<string>()),
      },
  },
})
