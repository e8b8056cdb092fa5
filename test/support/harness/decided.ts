/** What features decide from what they are given, and nothing else: for tests of every case. */
export { wantedLists } from '../../../src/features/targets/roundnow.js'
export { becomes } from '../../../src/features/worker/pool.js'
