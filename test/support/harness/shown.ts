/** How texts are shown: what is pure in it, for the tests that try every width and every sequence of events. */
export { incidentsText } from '../../../src/features/health/incidentwords.js'
export { cursorNames, groupLines } from '../../../src/shell/grouped.js'
export { createLog } from '../../../src/shell/log.js'
export { ProgressDisplay, timeToGo } from '../../../src/shell/progress.js'
export { harmless, painted, plainTerminal, type Terminal } from '../../../src/shell/terminal.js'
export { type Heading, right, table, unbroken } from '../../../src/shell/texttable.js'
export { resumption, Tracker } from '../../../src/shell/tracker.js'
export { layOut, widthOf, wrapped } from '../../../src/shell/width.js'
