/** Laws 5, 6 and 9 over cases that no run before has played, in memory and then over HTTP: npm run test:search. */
import { inject } from 'vitest'
import { lawSuite, motions } from '../support/world/lawsuite.js'

process.env.WALKS ??= '150'
process.env.WALKS_FROM ??= String(inject('search').seed)
await import('../engine/list/walk.test.js')

lawSuite(motions, inject('search'))
