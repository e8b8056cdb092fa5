import { defineConfig, mergeConfig } from 'vitest/config'
import { shipped } from './test/support/compiled.js'

export default mergeConfig(
  shipped,
  defineConfig({
    test: {
      include: ['test/**/*.test.ts'],
      exclude: ['test/long/**'],
      testTimeout: 180_000,
      hookTimeout: 180_000,
    },
  }),
)
