import type { Paper } from '../../shell/terminal.js'
import { answersText } from './reporttext.js'
import type { WrittenReport } from './work.js'

/** The answers of the report, and where the page lies. */
export const reportText = ({ data, file }: WrittenReport, paper?: Paper): string =>
  `${answersText(data, paper)}\n\nThe report: ${file}`
