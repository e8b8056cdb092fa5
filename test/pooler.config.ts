import { defineConfig, mergeConfig } from 'vitest/config'
import { shipped } from './support/harness/compiled.js'

/**
 * The program through PgBouncer in transaction mode, run by `npm run test:pooler`. Without PgBouncer, the suite reports
 * that.
 */
export default mergeConfig(
  shipped,
  defineConfig({
    test: {
      include: ['test/pooler/**/*.test.ts'],
      testTimeout: 120_000,
      hookTimeout: 120_000,
      provide: { warehouses: 'both' },
    },
  }),
)
