/** Law 9 on a list in memory, over walks that no run before has played: npm run test:search. */
import { searched } from '../support/searched.js'

process.env.WALKS_FROM ??= String(searched().seed)
await import('../walk/walk.test.js')
