import type { Paper } from '../../paper.js'
import { answersText } from '../../report/text.js'
import type { WrittenReport } from '../reportfile.js'

/** The answers of the report, and where the page lies. */
export const reportText = ({ data, file }: WrittenReport, paper?: Paper): string =>
  `${answersText(data, paper)}\n\nThe report: ${file}`
