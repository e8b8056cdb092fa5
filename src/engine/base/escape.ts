/* Makes text from outside safe for people, wherever they read it: on pages, on terminals, and in logs. */

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Escapes text for HTML. Everything that the pages of the report and the dictionary show goes through this. */
export const escaped = (text: string): string =>
  visible(text).replace(/[&<>"']/g, (found) => entities[found] ?? found)

/** The same for sentences of declarations, in which words in backquotes are code. */
export const prose = (text: string): string => escaped(text).replace(/`([^`]+)`/g, '<code>$1</code>')

const asEscape = (control: string): string => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`

/**
 * Shows what isn't text the way JSON would write it. A control character (C0, C1 or DEL) could move the cursor, change the
 * window title or type for the reader; one that sets the direction of writing makes a line read as another; a separator
 * of lines or paragraphs makes two of it. A JSON document keeps its meaning.
 */
export const visible = (text: string): string =>
  text.replaceAll(/(?![\n\t])[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}]/gu, asEscape)
