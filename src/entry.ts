#!/usr/bin/env -S node --
// Without the two dashes Node takes --env-file for its own flag, and ends with 9 where the file is not there.
import { setMaxListeners } from 'node:events'
import { features } from './main.js'
import { call } from './shell/call.js'
import { collectAt } from './shell/heap.js'
import type { Io, SignalName } from './shell/io.js'
import { bearClosedPipes, endWith, stdout } from './shell/stdout.js'

const signalNames: readonly SignalName[] = ['SIGINT', 'SIGTERM']

/** More than the requests under way at the largest settings of concurrency: each listens to one signal, and Node would warn. */
const mostListeners = 5000

const io: Io = {
  environment: process.env,
  workingDirectory: process.cwd(),
  // Node opens it when it is first asked for, and most commands never do.
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
  interrupt: () => process.kill(process.pid, 'SIGINT'),
  exit: (exitCode) => process.exit(exitCode),
  started: { node: process.execPath, program: process.argv[1] ?? '' },
  collectAt,
}

setMaxListeners(mostListeners)
// While the last text is on its way nobody else listens: a signal must not cut it short.
for (const name of signalNames) process.on(name, () => {})
bearClosedPipes()
const exitCode = await call(features, process.argv.slice(2), io)
// Text may still be on its way to stdout: the process ends after it, whatever else would keep the process alive.
endWith(exitCode)
