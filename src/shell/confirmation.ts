import { Stop } from '../engine/base/errors.js'
import { visible } from '../engine/base/escape.js'
import type { Io } from './io.js'

/** Throws Stop unless a person types the word. */
export async function confirmTyped(
  word: string,
  {
    question,
    undone,
    signal,
    io,
  }: {
    readonly question: string
    /** For a refusal: what was not done, and how to do it without the prompt. */
    readonly undone: string
    /** Fires when the program should end. */
    readonly signal: AbortSignal
    readonly io: Pick<Io, 'stdin' | 'stderr' | 'interrupt'>
  },
): Promise<void> {
  const refused = (message: string): Stop => new Stop(message, { exitCode: 2, hint: undone })
  if (!io.stdin.isTTY) throw refused('Cannot ask for confirmation: standard input is not a terminal')
  const { createInterface } = await import('node:readline/promises')
  const terminal = createInterface({ input: io.stdin, output: io.stderr })
  // At its prompt, the terminal passes Ctrl-C to the program as a key; this turns it back into a signal.
  terminal.once('SIGINT', () => io.interrupt())
  const closed = new Promise<never>((_, reject) => {
    terminal.once('close', () => reject(refused('The input ended before anything was typed')))
  })
  try {
    const typed = (await Promise.race([terminal.question(visible(question), { signal }), closed])).trim()
    if (typed !== word) throw refused(`Found "${typed}", expected ${word}`)
  } finally {
    closed.catch(() => {})
    terminal.close()
  }
}
