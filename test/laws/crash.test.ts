/** Law 3 (crash) at any moment; test/long/crash.test.ts takes every moment on Postgres, too. */
import { crashSuite } from '../support/crashsuite.js'

await crashSuite({ every: 3 })
