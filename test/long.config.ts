import { defineConfig, mergeConfig } from 'vitest/config'
import { chosenWarehouses, shipped } from './support/compiled.js'

/** The long suites, run by `npm run test:long`: the same laws as in test/laws, over many more cases. */
export default mergeConfig(
  shipped,
  defineConfig({
    test: {
      include: ['test/long/**/*.test.ts'],
      testTimeout: 3_600_000,
      hookTimeout: 120_000,
      provide: { warehouses: chosenWarehouses('both') },
    },
  }),
)
