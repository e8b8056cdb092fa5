/**
 * For each promise of what stays up around the runs (schedule, jobs, alerts, heartbeats, the server, the networks,
 * metrics), what
 * keeps it: taken away, its test fails. `npm run test:long -- service`; SERVICE='webhook|overlap' takes those whose promise
 * or mend matches.
 */
import { metricMutants } from '../support/metricmutants.js'
import { mutantSuite } from '../support/mutantsuite.js'
import { serviceMutants } from '../support/servicemutants.js'

mutantSuite({ ...serviceMutants, ...metricMutants }, process.env.SERVICE)
