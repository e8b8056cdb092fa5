import { escaped } from '../../../engine/base/escape.js'

export const code = (text: string): string => `<code>${escaped(text)}</code>`

export const linkTo = (table: string, text = table): string =>
  `<a href="#${escaped(table)}"><code>${escaped(text)}</code></a>`
