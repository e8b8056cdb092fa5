/**
 * For each promise of what stays up around the runs (schedule, jobs, alerts, heartbeats, the server, the networks), what
 * keeps it: taken away, its test fails. `npm run test:long -- service`; SERVICE='webhook|overlap' takes those whose promise
 * or mend matches.
 */
import { mutantSuite } from '../support/mutantsuite.js'
import { serviceMutants } from '../support/servicemutants.js'

mutantSuite(serviceMutants, process.env.SERVICE)
