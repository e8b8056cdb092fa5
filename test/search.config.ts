import { defineConfig, mergeConfig } from 'vitest/config'
import { shipped } from './support/harness/compiled.js'
import { searchOf } from './support/world/searched.js'

/** The laws over random cases, for 36 seconds: `npm run test:search`. */
export default mergeConfig(
  shipped,
  defineConfig({
    test: {
      include: ['test/search/**/*.test.ts'],
      testTimeout: 3_600_000,
      hookTimeout: 120_000,
      provide: { warehouses: 'both', search: searchOf(process.env) },
    },
  }),
)
