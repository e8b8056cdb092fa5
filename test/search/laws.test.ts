/** The laws over cases that no run before has played, and walks in memory: npm run test:apart -- search. */
import { inject } from 'vitest'
import { lawSuite, laws, motions } from '../support/world/lawsuite.js'

process.env.WALKS ??= '150'
process.env.WALKS_FROM ??= String(inject('search').seed)
await import('../engine/list/walk.test.js')

lawSuite([...laws, ...motions], inject('search'))
