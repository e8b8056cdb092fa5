/** `npm run promises`: updates the table in docs/promises.md. */
import { writePromises } from './table.js'

writePromises()
