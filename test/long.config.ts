import { defineConfig, mergeConfig } from 'vitest/config'
import { chosenWarehouses, shipped } from './support/compiled.js'
import { filesIn, targetsOf } from './support/tree.js'

/** Tests of which `npm test` plays a sample (test/support/sample.ts). */
const sampled = filesIn('test', '.test.ts').filter((file) =>
  targetsOf(file).includes('test/support/sample.ts'),
)

/**
 * The long suites, run by `npm run test:long`: the same laws as in test/laws, over many more cases, and every case of the
 * tests of which `npm test` plays a sample.
 */
export default mergeConfig(
  shipped,
  defineConfig({
    test: {
      include: ['test/long/**/*.test.ts', ...sampled],
      testTimeout: 3_600_000,
      hookTimeout: 120_000,
      provide: { warehouses: chosenWarehouses('both'), whole: true },
    },
  }),
)
