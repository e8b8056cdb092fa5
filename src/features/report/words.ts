import { paragraphs, plural } from '../../engine/base/format.js'
import { foreignWarning } from '../../shell/belongingwords.js'
import type { Terminal } from '../../shell/terminal.js'
import type { ReportData } from './data.js'
import type { OperationsData } from './operationsdata.js'
import { answersText, neverSynced } from './reporttext.js'
import type { Written } from './work.js'

/** The report's answers, and where the page is. */
export const reportText = ({ data, file }: Written<ReportData>, terminal?: Terminal): string =>
  `${answersText(data, terminal)}\n\nThe report: ${file}`

/** The start of the operator's page, and where it is. */
export function operationsText({ data, file }: Written<OperationsData>): string {
  const { belongsTo, incidents, isEmpty, late, absent = neverSynced } = data
  const found = isEmpty
    ? absent
    : incidents.length === 0
      ? 'No incident is open.'
      : `${plural(incidents.length, 'incident')} open: ${incidents.map(({ message }) => message).join('; ')}`
  return paragraphs([foreignWarning(belongsTo), found, late && `${late}.`, `The operator's page: ${file}`])
}
