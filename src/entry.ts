import { setMaxListeners } from 'node:events'
import { fstatSync, writeFileSync, writeSync } from 'node:fs'
import { Writable } from 'node:stream'
import { Bug, bugExitCode } from './engine/base/errors.js'
import { features } from './main.js'
import { call } from './shell/call.js'
import { collectAt } from './shell/collectat.js'
import type { Io, SignalName } from './shell/io.js'

/*
 * Where answers go. A reader with half an answer must not be told that all is well: if an answer couldn't be written
 * completely, for example because the disk is full, the program exits with 1.
 */

function isFile(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isFile()
  } catch {
    return false
  }
}

/** Node's own stream writes as much of a text as fits on a full disk, and silently drops the rest. */
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

/*
 * What nothing has caught, and an event loop with nothing left to do while the command still waits: Node would exit with 1,
 * as if a document told what failed, or with 0. The command ends with 70; what is still under way is not waited for.
 */
let tellCrash = (error: unknown): void => {
  writeSync(2, `shopsync: ${error instanceof Error ? error.stack : error}\nThis should not have happened.\n`)
}

function crashed(error: unknown): void {
  process.exitCode = bugExitCode
  tellCrash(error)
}

for (const name of ['uncaughtException', 'unhandledRejection']) process.on(name, crashed)
process.once('beforeExit', () => crashed(new Bug('The command waits for something that will not come')))

let failure: NodeJS.ErrnoException | undefined

const stdout: Writable = isFile(1) ? wholeFile() : process.stdout

/** If the reader of a pipe goes away (`| head`), the output ends and the work continues. */
function ignoreEpipe(): void {
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') failure ??= error
  })
  process.stderr.on('error', () => {})
}

/** Ends the process once all output is written. */
function endWith(exitCode: number): void {
  const end = (): void => {
    if (failure)
      process.stderr.write(
        `shopsync: The output could not be written (${failure.code}): free space, and type it again\n`,
      )
    process.exit(process.exitCode ?? (failure ? exitCode || 1 : exitCode))
  }
  // A stream that has failed only reports it in the next turn.
  stdout.write('', () => setImmediate(end))
}

const signalNames: readonly SignalName[] = ['SIGINT', 'SIGTERM']

/**
 * More than the number of requests under way at the largest concurrency settings. Each listens to one signal, and Node
 * would warn.
 */
const mostListeners = 5000

function workingDirectory(): string {
  try {
    return process.cwd()
  } catch {
    writeSync(2, 'shopsync: The folder that it was started in is gone. Type cd, and then the command again\n')
    return process.exit(2)
  }
}

const io: Io = {
  environment: process.env,
  workingDirectory: workingDirectory(),
  // Node opens it on first access, and most commands never need it.
  get stdin() {
    return process.stdin
  },
  stdout,
  stderr: process.stderr,
  onSignal: (listener) => {
    for (const name of signalNames) process.on(name, listener)
    return () => {
      for (const name of signalNames) process.off(name, listener)
    }
  },
  onCrash: (listener) => {
    tellCrash = listener
  },
  interrupt: () => process.kill(process.pid, 'SIGINT'),
  exit: (exitCode) => process.exit(exitCode),
  started: { node: process.execPath, program: process.argv[1] ?? '' },
  collectAt,
}

setMaxListeners(mostListeners)
// While the last text is being written, nothing else listens: a signal must not cut it short.
for (const name of signalNames) process.on(name, () => {})
ignoreEpipe()
const exitCode = await call(features, process.argv.slice(2), io)
// Text may still be on its way to stdout. The process ends after it, whatever else would keep the process alive.
endWith(exitCode)
