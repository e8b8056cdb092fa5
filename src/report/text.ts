import { indent, paragraphs, table } from '../format.js'
import { answersOf, type QuestionAnswer } from './answers.js'
import type { ReportData } from './data.js'

/** The first screen of the report for a terminal: the three questions and their answers. */
export function answersText(data: ReportData): string {
  const [scope] = data.scopes
  if (scope === undefined) return neverSynced
  return paragraphs(answersOf(data, scope).map(answerInWords))
}

/** What a warehouse without data gets in place of the answers. */
export const neverSynced =
  'Nothing has been synced into this warehouse yet. Type shopsync sync, and then shopsync report.'

function answerInWords({ question, sentence, facts }: QuestionAnswer): string {
  const title = `── ${question} `.padEnd(73, '─')
  const rows = facts.map(({ label, value, notes, trends }) => [
    label,
    value,
    [...notes, ...trends.map(({ month, trend }) => `${trend.text} vs. ${month}`)].join(', '),
  ])
  const lines = table(['', '', ''], rows).split('\n').slice(2).join('\n')
  return [title, sentence, ...(rows.length > 0 ? [indent(lines)] : [])].join('\n')
}
