import { defineConfig, mergeConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { shipped } from './test/support/compiled.js'

/**
 * Begins with the laws that take minutes. In a clean clone vitest knows no durations and begins with the largest files;
 * these are small, and one of them, begun last, would leave the other processor idle for minutes.
 */
class LawsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const isLong = ({ moduleId }: TestSpecification): boolean =>
      /laws\/(motion|kill|mutants|crash)\.test/.test(moduleId)
    return [...sorted.filter(isLong), ...sorted.filter((file) => !isLong(file))]
  }
}

export default mergeConfig(
  shipped,
  defineConfig({
    test: {
      include: ['test/**/*.test.ts'],
      exclude: [
        'test/long/**',
        'test/browser/**',
        'test/clients/**',
        'test/deploy/**',
        'test/pooler/**',
        'test/metrics/**',
      ],
      sequence: { sequencer: LawsFirst },
      testTimeout: 180_000,
      hookTimeout: 180_000,
    },
  }),
)
