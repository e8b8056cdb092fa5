/** Text into HTML. Used by the pages of the report and of the dictionary: nothing reaches them in another way. */
const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export const escaped = (text: string): string => text.replace(/[&<>"']/g, (found) => entities[found] ?? found)
