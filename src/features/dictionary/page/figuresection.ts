/** One figure on the page: what it means, its SQL, and what people often type instead. */
import { escaped, prose } from '../../../engine/base/escape.js'
import { type DictionaryFigure, figureFacts } from '../dictionary.js'
import { exampleMarkup } from './tablesection.js'

/** Figures and relations share names, such as `customers`. */
const figureId = (name: string): string => `figure-${name}`

export const linkToFigure = ({ name, label }: DictionaryFigure): string =>
  `<a href="#${figureId(name)}">${escaped(label)}</a>`

/** A relation named in a fact becomes a link; other code stays code. */
function linked(text: string, known: ReadonlySet<string>): string {
  return prose(text).replace(/<code>(\w+)<\/code>/g, (markup, word: string) =>
    known.has(word) ? `<a href="#${word}">${markup}</a>` : markup,
  )
}

const fact = (name: string, content: string): string => `<div><dt>${name}</dt><dd>${content}</dd></div>`

const mistakes = ({ instead }: DictionaryFigure): string =>
  instead.length === 0
    ? ''
    : `<h4>Common mistakes, and why they are wrong</h4>${instead
        .map(({ sql, why }) => exampleMarkup({ title: why, sql }))
        .join('')}`

export function figureSection(figure: DictionaryFigure, known: ReadonlySet<string>): string {
  const id = figureId(figure.name)
  const facts = figureFacts(figure).map(([name, content]) =>
    fact(
      name,
      name === 'Relation' || name === 'Based on' || name === 'Past days'
        ? linked(content, known)
        : prose(content),
    ),
  )
  return `<section class="table figure" id="${id}" aria-labelledby="${id}-head"><h3 id="${id}-head"><a href="#${id}">${escaped(figure.label)}</a></h3>
<p class="about"><code>${escaped(figure.name)}</code>. ${prose(figure.description)}</p>
<dl class="facts">${facts.join('')}</dl>
<div class="examples">${exampleMarkup(figure.example)}${mistakes(figure)}</div></section>`
}
