import { defineConfig, mergeConfig } from 'vitest/config'
import { shipped } from './support/compiled.js'

/** The clients of analysts, run by `npm run test:clients`: DuckDB and pandas, from pip, on both warehouses. */
export default mergeConfig(
  shipped,
  defineConfig({
    test: { include: ['test/clients/**/*.test.ts'], testTimeout: 600_000, hookTimeout: 900_000 },
  }),
)
