import { defineConfig, mergeConfig } from 'vitest/config'
import { shipped } from './support/harness/compiled.js'

/** deploy/prometheus as promtool reads it, run by `npm run test:metrics`. Without promtool, the suite reports that. */
export default mergeConfig(
  shipped,
  defineConfig({
    test: {
      include: ['test/metrics/**/*.test.ts'],
      testTimeout: 300_000,
      hookTimeout: 120_000,
    },
  }),
)
