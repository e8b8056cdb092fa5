/*
 * Where answers go. Who has half an answer must not be told that all is well: an answer that could not be written whole,
 * such as onto a disk that is full, ends the program with 1. Used by entry.ts.
 */
import { fstatSync, writeFileSync } from 'node:fs'
import { Writable } from 'node:stream'

function isFile(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isFile()
  } catch {
    return false
  }
}

/** Node's own stream writes as much of a text as a full disk takes, and says nothing of the rest. */
const wholeFile = (): Writable =>
  new Writable({
    decodeStrings: false,
    write: (text: string | Uint8Array, _encoding, done) => {
      try {
        writeFileSync(1, text)
        done()
      } catch (error) {
        done(error instanceof Error ? error : new Error(String(error)))
      }
    },
  })

let failure: NodeJS.ErrnoException | undefined

export const stdout: Writable = isFile(1) ? wholeFile() : process.stdout

/** When the reader of a pipe goes away (`| head`), the output ends and the work goes on. */
export function bearClosedPipes(): void {
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') failure ??= error
  })
  process.stderr.on('error', () => {})
}

/** Ends the process once what was said is written. */
export function endWith(exitCode: number): void {
  const end = (): void => {
    if (failure)
      process.stderr.write(
        `shopsync: The output could not be written (${failure.code}): free space, and type it again\n`,
      )
    process.exit(failure ? exitCode || 1 : exitCode)
  }
  // A stream that has failed tells so in the next turn.
  stdout.write('', () => setImmediate(end))
}
