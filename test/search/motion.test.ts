/** Laws 6 and 9 over scenarios that no run before has played: npm run test:search. */
import { motionSuite } from '../support/motionsuite.js'
import { searched } from '../support/searched.js'

motionSuite({ ...searched(), onPostgres: 0.5 })
