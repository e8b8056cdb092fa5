import type { Terminal } from '../../shell/terminal.js'
import { answersText } from './reporttext.js'
import type { WrittenReport } from './work.js'

/** The answers of the report, and where the page lies. */
export const reportText = ({ data, file }: WrittenReport, terminal?: Terminal): string =>
  `${answersText(data, terminal)}\n\nThe report: ${file}`
