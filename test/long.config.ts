import { defineConfig, mergeConfig } from 'vitest/config'
import { chosenWarehouses, shipped } from './support/compiled.js'

/** Suites of `npm test` that play all of what they have, if `size` is `all` (support/size.ts). */
const sized = [
  'test/derived/mutants.test.ts',
  'test/engine/list/{sequences,walk}.test.ts',
  'test/engine/run/{lives,paging}.test.ts',
  'test/engine/warehouse/recordhistory.test.ts',
  'test/upgrade/migration.test.ts',
  'test/laws/{crash,faults,kill,laws,motion,motionevents,resume}.test.ts',
]

/** The long suites, run by `npm run test:long`: the same laws over many more cases, and what takes minutes. */
export default mergeConfig(
  shipped,
  defineConfig({
    test: {
      include: ['test/long/**/*.test.ts', ...sized],
      testTimeout: 3_600_000,
      hookTimeout: 120_000,
      provide: { warehouses: chosenWarehouses('both'), size: 'all' },
    },
  }),
)
