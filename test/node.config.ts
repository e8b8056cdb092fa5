import { defineConfig, mergeConfig } from 'vitest/config'
import { shipped } from './support/harness/compiled.js'

/**
 * The installed program on the lines of Node that people run, taken from npm; run by `npm run test:node`. If npm can't be
 * reached, the suite reports what is missing and skips it.
 */
export default mergeConfig(
  shipped,
  defineConfig({
    test: {
      include: ['test/node/**/*.test.ts'],
      testTimeout: 600_000,
      // For Node 20, SQLite's driver may have to be compiled.
      hookTimeout: 1_800_000,
      provide: { warehouses: 'both' },
    },
  }),
)
