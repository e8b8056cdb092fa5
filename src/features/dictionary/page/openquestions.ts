/** What the API's document leaves open, as a section of the page that the search finds like a table. */
import { escaped } from '../../../engine/base/escape.js'
import type { Dictionary } from '../dictionary.js'
import { questionsAbout, questionsTitle } from '../dictionary.js'
import { code, prose } from './cells.js'

/** The id of the section. */
export const questionsId = 'open_questions'

const heads = ['Question', 'Setting', 'What shopsync does'] as const

export const questionsSection = (questions: Dictionary['questions']): string =>
  `<div data-part><section class="table" id="${questionsId}" aria-labelledby="${questionsId}-head"><h3 id="${questionsId}-head"><a href="#${questionsId}">${questionsTitle}</a></h3>
<p class="about">${prose(questionsAbout)}</p>
<table role="table"><caption class="unseen">${questionsTitle}</caption>
<thead role="rowgroup"><tr role="row">${heads.map((head) => `<th role="columnheader" scope="col">${head}</th>`).join('')}</tr></thead>
<tbody role="rowgroup">${questions
    .map(
      ({ question, answer, setting }) =>
        `<tr role="row"><th role="rowheader" scope="row">${prose(question)}</th><td role="cell">${setting === undefined ? '' : code(setting)}</td><td role="cell" class="meaning">${prose(answer)}</td></tr>`,
    )
    .join('\n')}</tbody></table></section></div>`

export const questionsLink = `<div data-list><ul><li><a href="#${questionsId}">${escaped(questionsTitle.toLowerCase())}</a></li></ul></div>`
