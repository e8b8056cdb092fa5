import { inject } from 'vitest'

/** How much a suite plays: some of it in `npm test`, all of it in `npm run test:long`. */
export const sized = <T>(some: T, all: T): T => (inject('size') === 'all' ? all : some)
