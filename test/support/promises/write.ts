/** `npm run promises`: brings the table in docs/guarantees.md up to date. */
import { writePromises } from './table.js'

writePromises()
