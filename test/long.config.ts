import { defineConfig } from 'vitest/config'

/** The long suites, run by `npm run test:long`: the same laws as in test/laws, over many more cases. */
export default defineConfig({
  test: {
    include: ['test/long/**/*.test.ts'],
    globalSetup: ['test/support/global.ts'],
    testTimeout: 3_600_000,
    hookTimeout: 120_000,
    pool: 'forks',
    maxWorkers: 2,
  },
})
