import { escaped } from '../../../engine/base/escape.js'

/** Text that is HTML already. Everything else is escaped where it enters a page. */
export class Html {
  constructor(readonly text: string) {}
}

export type Piece = Html | string | number | null | undefined | false | readonly Piece[]

function textOf(piece: Piece): string {
  if (piece instanceof Html) return piece.text
  if (piece === null || piece === undefined || piece === false) return ''
  if (typeof piece === 'object') return piece.map(textOf).join('')
  return escaped(String(piece))
}

/** A template whose values are escaped, unless they are Html themselves. Lists are joined; null and false are nothing. */
export const html = (parts: TemplateStringsArray, ...pieces: readonly Piece[]): Html =>
  new Html(parts.map((part, i) => part + (i < pieces.length ? textOf(pieces[i]) : '')).join(''))
