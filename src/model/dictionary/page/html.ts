/** Text into HTML. Used by every file of the page: nothing of a declaration reaches the page in another way. */

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
export const escaped = (text: string): string => text.replace(/[&<>"']/g, (found) => entities[found] ?? found)

/** Words between backquotes are code, as in the declarations' descriptions. */
export const prose = (text: string): string => escaped(text).replace(/`([^`]+)`/g, '<code>$1</code>')

export const code = (text: string): string => `<code>${escaped(text)}</code>`

export const linkTo = (table: string, text = table): string =>
  `<a href="#${escaped(table)}"><code>${escaped(text)}</code></a>`
