/** How texts are shown: what is pure in it, for the tests that try every width and every sequence of events. */
export * from '../../../src/shell/grouped.js'
export * from '../../../src/shell/log.js'
export * from '../../../src/shell/progress.js'
export * from '../../../src/shell/terminal.js'
export * from '../../../src/shell/texttable.js'
export * from '../../../src/shell/tracker.js'
export * from '../../../src/shell/width.js'
