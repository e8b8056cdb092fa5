/* Escapes outside text where some characters act as commands: in HTML pages and on terminals. */

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes text for HTML. Everything that the pages of the report and the dictionary show goes through this. */
export const escaped = (text: string): string => text.replace(/[&<>"']/g, (found) => entities[found] ?? found)

/** The same for sentences of declarations, in which words in backquotes are code. */
export const prose = (text: string): string => escaped(text).replace(/`([^`]+)`/g, '<code>$1</code>')

const asEscape = (control: string): string => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`

/**
 * Escapes text for a terminal. A control character (C0, C1 or DEL) could move the cursor, change the window title or
 * type for the reader, so it is shown the way JSON would write it. A JSON document keeps its meaning.
 */
export const visible = (text: string): string => text.replaceAll(/(?![\n\t])\p{Cc}/gu, asEscape)
