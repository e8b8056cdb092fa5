import { defineConfig, mergeConfig } from 'vitest/config'
import { shipped } from './support/harness/compiled.js'

/**
 * The clients of analysts, run by `npm run test:clients`: DuckDB, pandas and dbt, from pip, on both warehouses. One
 * suite at a time: they share a virtual environment, which the first one makes.
 */
export default mergeConfig(
  shipped,
  defineConfig({
    test: {
      include: ['test/clients/**/*.test.ts'],
      testTimeout: 600_000,
      hookTimeout: 900_000,
      provide: { warehouses: 'both' },
      fileParallelism: false,
    },
  }),
)
