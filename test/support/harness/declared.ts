/** What the program declares of itself, for the tests that compare it with pages, schemas and files for deployment. */
import { features } from '../../../src/main.js'
import { commandsOf } from '../../../src/shell/features.js'

export { alertKinds } from '../../../src/features/health/alertsettings.js'
export { metricNames } from '../../../src/features/health/metricnames.js'
export { calendarTimes } from '../../../src/features/init/calendartimes.js'
export { jobSchema } from '../../../src/features/jobs/jobfile.js'
export { messageReference } from '../../../src/shell/messagereference.js'
export { packageFolder } from '../../../src/shell/package.js'
export { commandsIn } from '../../../src/shell/typedlines.js'

/** Every command, with its flags and its examples. */
export const commands = commandsOf(features)
