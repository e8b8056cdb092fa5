import { availableParallelism } from 'node:os'
import { defineConfig, mergeConfig } from 'vitest/config'
import { compiled, seldomOptimized } from './test/support/harness/compiled.js'
import { byRank } from './test/support/harness/order.js'
import { testFiles } from './test/support/harness/projects.js'

const order = ['process', 'warehouse', 'pure']

const longest = /\/(motion|kill|mutants|promises|crash|pool|transcripts)\.test/

const files = testFiles()
const project = (name: keyof typeof files, pool: 'threads' | 'forks') => ({
  extends: true as const,
  test: {
    name,
    include: files[name],
    pool,
    execArgv: pool === 'forks' ? seldomOptimized : [],
    isolate: false,
    setupFiles: [name === 'pure' ? 'test/support/harness/pure.ts' : 'test/support/harness/setup.ts'],
  },
})

export default mergeConfig(
  compiled,
  defineConfig({
    test: {
      projects: [project('pure', 'threads'), project('warehouse', 'forks'), project('process', 'forks')],
      // Project after project: a worker that has ended one file begins the next one of its project without starting anew.
      sequence: {
        sequencer: byRank(({ moduleId, project }) =>
          longest.test(moduleId) ? -1 : order.indexOf(project.name),
        ),
      },
      // Workers wait for Postgres and for threads a third of their time: one more than processors keeps these busy.
      maxWorkers: availableParallelism() + 1,
      testTimeout: 180_000,
      hookTimeout: 180_000,
    },
  }),
)
