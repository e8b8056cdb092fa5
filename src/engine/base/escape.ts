/* Foreign text on its way to where some characters are commands: pages of HTML, and terminals. */

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/** Text into HTML: nothing reaches the pages of the report and of the dictionary in another way. */
export const escaped = (text: string): string => text.replace(/[&<>"']/g, (found) => entities[found] ?? found)

const asEscape = (control: string): string => `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`

/**
 * Text for a terminal: a control character, of C0, C1 or DEL, could move the cursor, retitle the window or type for the
 * reader, and is shown as JSON would write it. So a document of JSON stays the same document.
 */
export const visible = (text: string): string => text.replaceAll(/(?![\n\t])\p{Cc}/gu, asEscape)
