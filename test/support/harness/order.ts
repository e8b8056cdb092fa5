import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * The order in which files begin, lowest rank first, as vitest wants it. What takes longest should begin first: begun last, it
 * would leave the other workers idle.
 */
export const byRank = (rank: (file: TestSpecification) => number): typeof BaseSequencer =>
  class extends BaseSequencer {
    override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
      return (await super.sort(files)).toSorted((one, other) => rank(one) - rank(other))
    }
  }
