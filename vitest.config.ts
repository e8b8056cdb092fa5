import { availableParallelism } from 'node:os'
import { defineConfig, mergeConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { compiled } from './test/support/harness/compiled.js'
import { testFiles } from './test/support/harness/projects.js'

const order = ['process', 'warehouse', 'pure']

/**
 * Begins with the files that take longest: begun last, one of them would leave the other processor idle. Then project after
 * project, because a worker that has ended one file begins the next one of its project without starting anew.
 */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const rank = ({ moduleId, project }: TestSpecification): number =>
      /\/(motion|kill|mutants|promises|crash|pool|transcripts)\.test/.test(moduleId)
        ? -1
        : order.indexOf(project.name)
    return sorted.toSorted((a, b) => rank(a) - rank(b))
  }
}

const files = testFiles()
const project = (name: keyof typeof files, pool: 'threads' | 'forks') => ({
  extends: true as const,
  test: {
    name,
    include: files[name],
    pool,
    isolate: false,
    setupFiles: [name === 'pure' ? 'test/support/harness/pure.ts' : 'test/support/harness/setup.ts'],
  },
})

export default mergeConfig(
  compiled,
  defineConfig({
    test: {
      projects: [project('pure', 'threads'), project('warehouse', 'forks'), project('process', 'forks')],
      sequence: { sequencer: LongestFirst },
      // Workers wait for Postgres and for threads a third of their time: one more than processors keeps these busy.
      maxWorkers: availableParallelism() + 1,
      testTimeout: 180_000,
      hookTimeout: 180_000,
    },
  }),
)
