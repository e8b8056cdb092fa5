/** What the pages show for copying: blocks of lines, by the language of their fence. */
import { textOf } from './tree.js'

export interface Block {
  readonly page: string
  /** `'shell'` for indented blocks; `''` for fences without a language. */
  readonly language: string
  readonly text: string
}

/** The fenced and indented blocks of a page, in order. */
export function blocksOf(page: string): Block[] {
  const blocks: Block[] = []
  const found = textOf(page).matchAll(/^```(\w*)\n([\s\S]*?)^```$|(?:^ {4}\S.*\n)+/gm)
  for (const [whole, language = 'shell', text] of found)
    blocks.push({ page, language, text: text ?? whole.replaceAll(/^ {4}/gm, '') })
  return blocks
}

/**
 * The commands of a block, without comments: every line of an indented block, and the lines after `$` in a transcript.
 */
export function commandsOf({ language, text }: Block): string[] {
  const lines = text.split('\n')
  const typed = lines.filter((line) => line.startsWith('$ ')).map((line) => line.slice(2))
  const commands = language === 'shell' ? lines : language === '' ? typed : []
  return commands.map((line) => line.replace(/\s+# .*$/, '').trim()).filter((line) => line !== '')
}

/** The words of a program call that doesn't need a shell; undefined for any other line. */
export const plainWords = (line: string): string[] | undefined =>
  /^shopsync [\w./: -]+$/.test(line) ? line.split(/ +/).slice(1) : undefined
