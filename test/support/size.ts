import { inject } from 'vitest'

/** How much a suite plays: some of it in `npm test`, all of it in `npm run test:long`. */
export const sized = <T>(some: T, all: T): T => (inject('size') === 'all' ? all : some)

/** Each nth of some cases in `npm test`, and all of them in `npm run test:long`. */
export const someOf = <T>(n: number, all: readonly T[]): readonly T[] =>
  all.filter((_, i) => sized(i % n === 0, true))
