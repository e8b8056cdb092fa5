import { indent, paragraphs } from '../../engine/base/format.js'
import { plainTerminal, type Terminal } from '../../shell/terminal.js'
import { table } from '../../shell/texttable.js'
import { answersOf, readingOrder } from './answers.js'
import type { ReportData } from './data.js'
import type { QuestionAnswer } from './fact.js'

/** The first screen of the report for a terminal: the questions and their answers. */
export function answersText(data: ReportData, terminal: Terminal = plainTerminal): string {
  const [scope] = data.scopes
  if (scope === undefined) return data.absent ?? neverSynced
  const answers = answersOf(data, scope)
  return paragraphs(
    readingOrder.flatMap((question) =>
      answers.filter(({ id }) => id === question).map((answer) => answerInWords(answer, terminal)),
    ),
  )
}

/** Shown instead of the answers for a warehouse without data. */
export const neverSynced =
  'Nothing has been synced into this warehouse yet. Run shopsync sync, then shopsync report.'

function answerInWords({ question, sentence, facts }: QuestionAnswer, terminal: Terminal): string {
  const title = `── ${question} `.padEnd(Math.min(73, terminal.columns), '─')
  const rows = facts.map(({ label, value, notes, trends }) => [
    label,
    value,
    [...notes, ...trends.map(({ label, trend }) => `${trend.text} vs. ${label}`)].join(', '),
  ])
  const lines = table(['', '', ''], rows, { ...terminal, columns: terminal.columns - 2 })
  return [title, sentence, ...(rows.length > 0 ? [indent(lines)] : [])].join('\n')
}
