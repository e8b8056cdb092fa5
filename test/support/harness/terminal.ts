/** The program on a terminal of a given width: a pseudo terminal of util-linux, which combines stdout and stderr. */
import { spawn } from 'node:child_process'
import { stripVTControlCharacters } from 'node:util'
import { program } from './process.js'

export interface TerminalOptions {
  readonly cwd: string
  readonly columns: number
  readonly env?: Record<string, string>
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
      const lines = raw.replaceAll('\r\n', '\n').split('\n')
      resolve({ code, raw, lines: lines.map((text) => stripVTControlCharacters(leftOf(text))) })
    })
  })
}
