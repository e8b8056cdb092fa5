/** Laws 1, 2 and 4 over cases that no run before has played: npm run test:search. */
import { inject } from 'vitest'
import { lawSuite, laws } from '../support/world/lawsuite.js'

lawSuite(laws, inject('search'))
