import { defineConfig, mergeConfig } from 'vitest/config'
import { shipped } from './support/harness/compiled.js'

/** Checks deploy/ with the tools for such files, run by `npm run test:deploy`. Missing tools are named and skipped. */
export default mergeConfig(
  shipped,
  defineConfig({
    test: {
      include: ['test/deploy/**/*.test.ts'],
      testTimeout: 600_000,
      hookTimeout: 600_000,
    },
  }),
)
