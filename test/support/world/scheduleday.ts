/**
 * A process of `shopsync schedule` for which a day passes in minutes: every wait is skipped. When this many hours are
 * over, it prints the memory use after each job as JSON. Arguments: the configuration's file, the hours.
 *
 * The engine compiles code that runs often, and keeps the result: over a day the heap grows by a tenth, although the
 * program leaves nothing behind. Nothing is compiled here, so that a leak of a few kilobytes per run shows.
 */

import { Writable } from 'node:stream'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { runJobs } from '../../../src/features/schedule/work.js'
import { features } from '../../../src/main.js'
import { withConfig } from '../../../src/shell/commandcontext.js'
import { loadConfiguration } from '../../../src/shell/configuration.js'
import type { Io } from '../../../src/shell/io.js'
import { Output } from '../../../src/shell/output.js'
import { Signals } from '../../../src/shell/signals.js'
import { Opening } from '../../../src/shell/stayup.js'
import { SkippingClock } from './clocks.js'

for (const flag of ['--expose-gc', '--no-opt', '--no-sparkplug']) setFlagsFromString(flag)
const collect = runInNewContext('gc') as () => void

const [file = '', hours = '24'] = process.argv.slice(2)
const clock = new SkippingClock()
const until = clock.nowMicros() + BigInt(Number(hours) * 3600) * 1_000_000n
const memory: { at: number; heap: number; resident: number }[] = []
let isStopping = false

const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })

// When the log reports that a job has ended, the heap is measured.
process.stderr.write = ((text: string | Uint8Array): boolean => {
  const line = String(text)
  if (line.includes('"Job ended"')) {
    collect()
    // The clock stores what it skipped: that isn't the program's memory.
    clock.slept.length = 0
    const { heapUsed: heap, rss: resident } = process.memoryUsage()
    memory.push({ at: Number(clock.nowMicros() / 1000n), heap, resident })
    // A second signal would end the process at once, and a second job may end while the first one stops it.
    if (clock.nowMicros() >= until && !isStopping) {
      isStopping = true
      process.kill(process.pid, 'SIGTERM')
    }
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
const code = await withConfig(
  { ...rest, globals, out, signals, io },
  config,
  (context) => runJobs(context, new Opening(context, true, new Map())),
  clock,
)
process.stdout.write(JSON.stringify({ code, memory }), () => process.exit(code))
