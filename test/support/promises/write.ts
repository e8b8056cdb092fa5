/** `npm run promises`: updates the table in docs/guarantees.md. */
import { writePromises } from './table.js'

writePromises()
