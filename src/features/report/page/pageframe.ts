/* What all pages of the report share: they are self-contained, without a network or any script but their own. */
import { createHash } from 'node:crypto'
import { Html, html, type Piece } from './figure.js'
import { pageScript } from './pagescript.js'
import { hatchPatterns, pageStyle } from './reportstyle.js'

/** The browser may load nothing but the page itself, and run only the script with this digest. */
function policy(): string {
  const digest = createHash('sha256').update(pageScript).digest('base64')
  return `default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-${digest}'`
}

/** A whole page as text. */
export function pageFrame({
  title,
  header,
  main,
  footer,
}: {
  /** In the window's title bar. */
  readonly title: string
  readonly header: Piece
  readonly main: Piece
  readonly footer: Piece
}): string {
  return html`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy()}">
<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark">
<title>${title}</title><link rel="icon" href="data:,">
<style>${new Html(pageStyle)}</style></head><body>
<a class="skip" href="#main">Skip to the figures</a>
${new Html(hatchPatterns)}
<header>${header}</header>
<main id="main">${main}</main>
<footer><p>${footer}</p></footer>
<div class="tip" hidden></div>
<script>${new Html(pageScript)}</script></body></html>
`.text
}
