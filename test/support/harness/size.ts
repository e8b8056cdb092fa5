/** How much a suite plays: some of it in `npm test`, all of it in `npm run test:long`, which finds it by this import. */
import { inject } from 'vitest'

/** Whether all of it is played. */
export const isWhole = (): boolean => inject('size') === 'all'

export const sized = <T>(some: T, all: T): T => (isWhole() ? all : some)

/** Each nth of some cases, or all of them. */
export const someOf = <T>(n: number, all: readonly T[]): readonly T[] =>
  all.filter((_, i) => sized(i % n === 0, true))

/** The first cases, or all of them. */
export const sample = <T>(cases: readonly T[], few = 1): readonly T[] => sized(cases.slice(0, few), cases)
