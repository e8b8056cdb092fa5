import { defineConfig, mergeConfig } from 'vitest/config'
import { shipped } from './support/harness/compiled.js'

/** The pages in a real browser, run by `npm run test:browser`. Without Chromium, the suite reports that and skips. */
export default mergeConfig(
  shipped,
  defineConfig({
    test: {
      include: ['test/browser/**/*.test.ts'],
      testTimeout: 120_000,
      hookTimeout: 240_000,
    },
  }),
)
