import { Stop } from '../errors.js'

/** Throws Stop unless a person types the word. `undone`: what a refusal says was not done, and how to do without a question. */
export async function confirmTyped(word: string, question: string, undone: string): Promise<void> {
  const refused = (message: string): Stop => new Stop(message, { exitCode: 2, hint: undone })
  if (!process.stdin.isTTY) throw refused('Nobody is there to confirm: standard input is no terminal')
  const { createInterface } = await import('node:readline/promises')
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  try {
    const typed = (await terminal.question(question)).trim()
    if (typed !== word) throw refused(`Found "${typed}", expected ${word}`)
  } finally {
    terminal.close()
  }
}
