/** Laws 6 and 9 over cases that no run before has played, in memory and then over HTTP: npm run test:search. */
import { describe, inject } from 'vitest'
import { motionSuite } from '../support/world/motionsuite.js'

process.env.WALKS ??= '150'
process.env.WALKS_FROM ??= String(inject('search').seed)
await import('../engine/list/walk.test.js')

describe('motion', () => motionSuite({ ...inject('search'), onPostgres: 0.5, compared: 0.2 }))
