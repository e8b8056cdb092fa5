import { defineConfig, mergeConfig } from 'vitest/config'
import { seldomOptimized, shipped } from './support/harness/compiled.js'

/** On a stage (test/support/mutants/stage.ts): the tests that promises name, with mutants in the program. */
export default mergeConfig(
  shipped,
  defineConfig({
    test: {
      runner: 'test/support/mutants/runner.ts',
      isolate: false,
      execArgv: seldomOptimized,
      maxWorkers: 1,
      // A test that hangs has failed, and doesn't have to hang for long.
      testTimeout: 60_000,
      hookTimeout: 60_000,
    },
  }),
)
