/**
 * The dictionary as one self-contained file, with its style and script. The script shows one page per
 * relation.
 */
import { createHash } from 'node:crypto'
import { escaped, prose } from '../../../engine/base/escape.js'
import {
  type Dictionary,
  type DictionaryFigure,
  type DictionaryTable,
  figureFacts,
  figuresAbout,
  figuresTitle,
  firstSentence,
  parts,
  questionsAbout,
  questionsTitle,
} from '../dictionary.js'
import { incomingJoins } from '../joins.js'
import { dictionaryScript as script } from './dictionaryscript.js'
import { dictionaryStyle as style } from './dictionarystyle.js'
import { code, exampleMarkup, linkTo, tableSection } from './tablesection.js'

/** What applies to every table. */
const legend: readonly (readonly [string, string])[] = [
  [
    'Joins',
    'Every key begins with `tenant_id`. Ids are unique only within a tenant, so join on `tenant_id` as well, as the examples do.',
  ],
  [
    'Live rows',
    'Records that no longer exist at the source keep their rows, with `_deleted_at` set. Rows of nested arrays have no such column, so join them to their owner.',
  ],
  ['Money', 'Whole cents. Divide by 100.0 for display, after summing.'],
  [
    'Instants',
    "UTC: `timestamptz` in Postgres; in SQLite text, `YYYY-MM-DDTHH:MM:SS.ffffffZ`, which sorts in time order. SQLite's views show them as `YYYY-MM-DD HH:MM:SS.ffffff`.",
  ],
  ['Days', "Days in the shop's time zone, which the configuration can set. Timestamps stay in UTC."],
  ['Hours, percent', 'Decimal numbers: 1.5 hours is 90 minutes, and 7.55 percent is 7.55 out of 100.'],
  ['Booleans, JSON', '`boolean` and `jsonb` in Postgres; 0 or 1 and text in SQLite.'],
  [
    'Null',
    '`never`: every row has a value. `not in practice`: the API always sends one, so null means the record lacked it or it could not be stored (`sync_quarantine`). `may be`: null means what the description says.',
  ],
  ['Values', 'Enumerations can hold values not listed here, because the API may add some.'],
  [
    'Examples',
    'They run as they are on SQLite and Postgres. On Postgres, first `set search_path` to the schemas of the tables and views.',
  ],
]

const partNotes: Partial<Record<DictionaryTable['part'], string>> = {
  state:
    "What shopsync keeps about its own work. These tables hold no shop data, so don't build models on them.",
}

interface Group {
  readonly part: DictionaryTable['part']
  readonly title: string
  readonly tables: readonly DictionaryTable[]
}

const navigation = (groups: readonly Group[]): string =>
  groups
    .map(({ title, tables }) => {
      const links = tables.map(({ name }) => `<li><a href="#${escaped(name)}">${escaped(name)}</a></li>`)
      return `<div data-list><h2>${escaped(title)}</h2><ul>${links.join('')}</ul></div>`
    })
    .join('')

/** A list on the first page: each link, with one sentence about its target. */
const indexOf = (title: string, links: readonly (readonly [link: string, description: string])[]): string =>
  `<h2>${escaped(title)}</h2><dl class="index">${links
    .map(([link, description]) => `<dt>${link}</dt><dd>${prose(firstSentence(description))}</dd>`)
    .join('')}</dl>`

const indexes = (figures: readonly DictionaryFigure[], groups: readonly Group[]): string =>
  [
    indexOf(
      figuresTitle,
      figures.map((figure) => [linkToFigure(figure), figure.description]),
    ),
    ...groups.map(({ title, tables }) =>
      indexOf(
        title,
        tables.map(({ name, description }) => [linkTo(name), description]),
      ),
    ),
  ].join('\n')

const figuresPart = (figures: readonly DictionaryFigure[], known: ReadonlySet<string>): string =>
  `<div data-part><h2>${figuresTitle}</h2><p class="part-note">${prose(figuresAbout)}</p>${figures
    .map((figure) => figureSection(figure, known))
    .join('\n')}</div>`

const listOfFigures = (figures: readonly DictionaryFigure[]): string =>
  `<div data-list><h2>${figuresTitle}</h2><ul>${figures.map((figure) => `<li>${linkToFigure(figure)}</li>`).join('')}</ul></div>`

/** The first page: what applies to every table, and a link to each. */
const opening = (dictionary: Dictionary, groups: readonly Group[]): string =>
  `<div id="home"><h1>Data dictionary</h1>
<dl class="legend">${legend.map(([word, text]) => `<dt>${word}</dt><dd>${prose(text)}</dd>`).join('')}</dl>
${indexes(dictionary.figures, groups)}</div>`

const sha256 = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

export function toHtml(dictionary: Dictionary): string {
  const { tables, figures } = dictionary
  const known = new Set(tables.map(({ name }) => name))
  const incoming = incomingJoins(tables)
  const groups = parts
    .map(([part, title]) => ({ part, title, tables: tables.filter((table) => table.part === part) }))
    .filter((group) => group.tables.length > 0)
  const sections = groups.map(({ part, title, tables: own }) => {
    const note = partNotes[part] === undefined ? '' : `<p class="part-note">${prose(partNotes[part])}</p>`
    const markup = own.map((table) =>
      tableSection(table, known, {
        incoming: incoming.get(table.name) ?? [],
        figures: figures.filter(({ relation }) => relation === table.name).map(linkToFigure),
      }),
    )
    return `<div data-part><h2>${escaped(title)}</h2>${note}${markup.join('\n')}</div>`
  })
  return `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src ${sha256(style)}; script-src ${sha256(script)}">
<title>Data dictionary</title><style>${style}</style></head><body>
<a class="skip" href="#content">Skip to the content</a>
<header><strong><a href="#home">Data dictionary</a></strong><form role="search"><input id="search-box" type="search" aria-label="Search figures, tables, columns and texts" placeholder="Search figures, tables, columns ( / )" autocomplete="off" spellcheck="false"><output id="search-count" for="search-box" aria-live="polite"></output></form>
<button id="menu" type="button" aria-expanded="false" aria-controls="tables">Contents</button></header>
<div class="frame"><nav id="tables" aria-label="Contents">${listOfFigures(figures)}${navigation(groups)}${questionsLink}</nav>
<main id="content" tabindex="-1">${opening(dictionary, groups)}
${figuresPart(figures, known)}
${sections.join('\n')}
${questionsSection(dictionary.questions)}</main></div>
<script>${script}</script></body></html>
`
}

/** The id of the section. */
const questionsId = 'open_questions'

const heads = ['Question', 'Setting', 'What shopsync does'] as const

const questionsSection = (questions: Dictionary['questions']): string =>
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

const questionsLink = `<div data-list><ul><li><a href="#${questionsId}">${escaped(questionsTitle.toLowerCase())}</a></li></ul></div>`

/** Figures and relations share names, such as `customers`. */
const figureId = (name: string): string => `figure-${name}`

const linkToFigure = ({ name, label }: DictionaryFigure): string =>
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

function figureSection(figure: DictionaryFigure, known: ReadonlySet<string>): string {
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
