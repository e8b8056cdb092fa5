/** Laws 1, 2, 4, 5, 7 and 8 over cases that no run before has played: npm run test:search. */
import { inject } from 'vitest'
import { lawSuite } from '../support/world/lawsuite.js'

lawSuite(inject('search'))
