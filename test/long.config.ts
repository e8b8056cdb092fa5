import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { defineConfig, mergeConfig } from 'vitest/config'
import { shipped } from './support/harness/compiled.js'
import { LongReporter, playedParts } from './support/harness/long.js'
import { byRank } from './support/harness/order.js'
import { filesIn, root, targetsOf } from './support/harness/tree.js'

/**
 * Suites of which `npm test` plays a part (test/support/harness/size.ts): directly, or by a suite that several files share, or
 * with stories beside them (test/support/world/stories.ts).
 */
const sizes = 'test/support/harness/size.ts'
const suites = new Set(filesIn('test/support', '.ts'))
const sized = filesIn('test', '.test.ts').filter(
  (file) =>
    !file.startsWith('test/search/') &&
    (existsSync(join(root, file.replace('.test.ts', '.txt'))) ||
      targetsOf(file).some(
        (target) => target === sizes || (suites.has(target) && targetsOf(target).includes(sizes)),
      )),
)

const longest = /\/(long\/promises|laws\/(pool|motion))\.test/

/**
 * The long suites, run by `npm run test:long`: the same laws over many more cases, and what takes minutes. A run that was cut
 * off goes on; remove dist/long.json to play everything again.
 */
export default mergeConfig(
  shipped,
  defineConfig({
    test: {
      include: ['test/long/**/*.test.ts', ...sized],
      exclude: [...playedParts],
      passWithNoTests: true,
      reporters: ['default', new LongReporter()],
      sequence: { sequencer: byRank(({ moduleId }) => (longest.test(moduleId) ? 0 : 1)) },
      testTimeout: 3_600_000,
      hookTimeout: 120_000,
      provide: { warehouses: 'both', size: 'all', played: playedParts },
    },
  }),
)
