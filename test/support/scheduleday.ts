/**
 * A process of `shopsync schedule` for which a day passes in minutes: every wait is skipped. Prints the memory in
 * use after each job, as JSON, when so many hours are over. Words: the configuration's file, the hours.
 *
 * The engine compiles what runs often, and keeps that code: for a day the heap grows by a tenth, while nothing of the
 * program stays behind. So that a leak of a few kilobytes a run shows, nothing is compiled here.
 */

import { Writable } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { stayUp } from '../../src/features/schedule/work.js'
import { features } from '../../src/main.js'
import { withConfig } from '../../src/shell/commandcontext.js'
import { loadConfiguration } from '../../src/shell/configuration.js'
import type { Io } from '../../src/shell/io.js'
import { Output } from '../../src/shell/output.js'
import { Signals } from '../../src/shell/signals.js'
import { SkippingClock } from './clocks.js'

for (const flag of ['--expose-gc', '--no-opt', '--no-sparkplug']) setFlagsFromString(flag)
const collect = runInNewContext('gc') as () => void

const [file = '', hours = '24'] = process.argv.slice(2)
const clock = new SkippingClock()
const until = clock.nowMicros() + BigInt(Number(hours) * 3600) * 1_000_000n
const memory: { at: number; heap: number; resident: number }[] = []

const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })

// When the log says that a job has ended, the heap is looked at.
process.stderr.write = ((text: string | Uint8Array): boolean => {
  const line = String(text)
  if (line.includes('"Job ended"')) {
    collect()
    // The clock keeps what it skipped: that is no memory of the program.
    clock.slept.length = 0
    const { heapUsed: heap, rss: resident } = process.memoryUsage()
    memory.push({ at: Number(clock.nowMicros() / 1000n), heap, resident })
    if (clock.nowMicros() >= until) process.kill(process.pid, 'SIGTERM')
  } else if (!line.startsWith('{')) process.stdout.write(line)
  return true
}) as typeof process.stderr.write

const globals = { config: file, envFile: undefined, json: false, quiet: false, logLevel: undefined }
const io: Io = {
  environment: process.env,
  workingDirectory: process.cwd(),
  stdin: process.stdin,
  stdout: nowhere,
  stderr: process.stderr,
  onSignal: (listener) => {
    process.once('SIGTERM', listener)
    return () => {}
  },
  interrupt: () => {},
  exit: (exitCode) => process.exit(exitCode),
  started: { node: process.execPath, program: '' },
  collectAt: () => {},
}
const { config } = await loadConfiguration({ features, globals, io })
const out = new Output({ json: false, quiet: false, stdout: nowhere, stderr: nowhere })
const signals = new Signals(io, () => {})
const rest = { features, command: 'schedule', argument: undefined, second: undefined, options: {} }
const code = await withConfig({ ...rest, globals, out, signals, io }, config, stayUp, clock)
process.stdout.write(JSON.stringify({ code, memory }), () => process.exit(code))
