import { defineConfig, mergeConfig } from 'vitest/config'
import { shipped } from './support/harness/compiled.js'

/**
 * Suites that need more than Node and npm: a browser, Python's packages, PgBouncer, promtool, other versions of Node. Run by
 * `npm run test:browser` and the like, one file at a time: some share what they install. Each says what is missing, and skips.
 */
export default mergeConfig(
  shipped,
  defineConfig({
    test: {
      include: ['test/{browser,clients,deploy,metrics,node,pooler}/**/*.test.ts'],
      testTimeout: 600_000,
      // For Node 20, SQLite's driver may have to be compiled.
      hookTimeout: 1_800_000,
      provide: { warehouses: 'both' },
      fileParallelism: false,
    },
  }),
)
