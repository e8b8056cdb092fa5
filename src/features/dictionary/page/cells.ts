import { escaped } from '../../../engine/base/escape.js'

/** Words in backquotes are code, as in the declarations' descriptions. */
export const prose = (text: string): string => escaped(text).replace(/`([^`]+)`/g, '<code>$1</code>')

export const code = (text: string): string => `<code>${escaped(text)}</code>`

export const linkTo = (table: string, text = table): string =>
  `<a href="#${escaped(table)}"><code>${escaped(text)}</code></a>`
