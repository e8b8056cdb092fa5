/** The program on a terminal of a given width, where stdout and stderr are the same. */
import { spawn } from 'node:child_process'
import { stripVTControlCharacters } from 'node:util'
import { shopsync } from './call.js'
import { program } from './process.js'

export interface TerminalOptions {
  readonly cwd: string
  readonly columns: number
  readonly env?: Record<string, string>
  /** What is typed at its prompt. */
  readonly stdin?: string
}

export interface OnTerminal {
  readonly code: number | null
  /** Everything that was written, including control characters. */
  readonly raw: string
  /** The lines as they are at the end. */
  readonly lines: readonly string[]
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`

/** What is left of a line after parts of it were cleared and rewritten. */
const leftOf = (line: string): string => line.slice(line.lastIndexOf('\r\u001B[2K') + 1)

const linesOf = (raw: string): string[] =>
  raw
    .replaceAll('\r\n', '\n')
    .split('\n')
    .map((text) => stripVTControlCharacters(leftOf(text)))

/** In this process, on streams that say they are a terminal. */
export async function atTerminal(words: readonly string[], options: TerminalOptions): Promise<OnTerminal> {
  const { code, stdout: raw } = await shopsync(words, options)
  return { code, raw, lines: linesOf(raw) }
}

/** In a process, on a pseudo terminal of util-linux. */
export function onTerminal(words: readonly string[], options: TerminalOptions): Promise<OnTerminal> {
  const call = [process.execPath, '--', program, ...words].map(quoted).join(' ')
  const line = `stty cols ${options.columns} rows 40 && exec ${call}`
  const { PATH = '' } = process.env
  return new Promise((resolve, reject) => {
    const child = spawn('script', ['-qec', line, '/dev/null'], {
      cwd: options.cwd,
      env: { PATH, SHELL: '/bin/sh', TERM: 'xterm-256color', ...options.env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let raw = ''
    child.stdout.on('data', (chunk: Buffer) => {
      raw += chunk.toString()
    })
    child.once('error', reject)
    child.once('close', (code) => {
      resolve({ code, raw, lines: linesOf(raw) })
    })
  })
}
