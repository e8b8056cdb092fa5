/** What the pages show for copying: blocks of lines, by the language that their fence names. */
import { textOf } from './tree.js'

export interface Block {
  readonly page: string
  /** `'shell'` for indented blocks; `''` for fences without a language. */
  readonly language: string
  readonly text: string
}

/** The fenced and the indented blocks of a page, in their order. */
export function blocksOf(page: string): Block[] {
  const blocks: Block[] = []
  const found = textOf(page).matchAll(/^```(\w*)\n([\s\S]*?)^```$|(?:^ {4}\S.*\n)+/gm)
  for (const [whole, language = 'shell', text] of found)
    blocks.push({ page, language, text: text ?? whole.replaceAll(/^ {4}/gm, '') })
  return blocks
}

/** The commands of a block, without comments: every line of an indented one, those behind `$` of a transcript. */
export function commandsOf({ language, text }: Block): string[] {
  const lines = text.split('\n')
  const typed = lines.filter((line) => line.startsWith('$ ')).map((line) => line.slice(2))
  const commands = language === 'shell' ? lines : language === '' ? typed : []
  return commands.map((line) => line.replace(/\s+# .*$/, '').trim()).filter((line) => line !== '')
}

/** The words of a line of the program in which a shell has nothing to do; undefined for any other. */
export const plainWords = (line: string): string[] | undefined =>
  /^shopsync [\w./: -]+$/.test(line) ? line.split(/ +/).slice(1) : undefined
