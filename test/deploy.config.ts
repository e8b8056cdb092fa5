import { defineConfig, mergeConfig } from 'vitest/config'
import { shipped } from './support/compiled.js'

/** deploy/ checked by what checks such files, run by `npm run test:deploy`; what is lacking is named and left out. */
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
