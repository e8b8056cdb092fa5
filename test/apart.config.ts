import { defineConfig, mergeConfig } from 'vitest/config'
import { shipped } from './support/harness/compiled.js'
import { searchOf } from './support/world/searched.js'

/** Only by its name: its time begins now. */
const isSearch = process.argv.includes('search')

/**
 * Suites that need more than Node and npm (a browser, Python's packages, PgBouncer, promtool, other versions of Node), and
 * the laws over random cases, for 36 seconds. `npm run test:apart -- browser` runs one, the next file after the last: some
 * share what they install. Each says what is missing, and skips.
 */
export default mergeConfig(
  shipped,
  defineConfig({
    test: {
      include: [`test/${isSearch ? 'search' : '{browser,clients,deploy,metrics,node,pooler}'}/**/*.test.ts`],
      testTimeout: isSearch ? 3_600_000 : 1_800_000,
      // SQLite's driver may have to be compiled.
      hookTimeout: 1_800_000,
      provide: { warehouses: 'both', search: searchOf(process.env) },
      fileParallelism: false,
    },
  }),
)
