/**
 * A process of `shopsync schedule` for which a day passes in minutes: every wait is skipped. When this many hours are
 * over, it prints the memory use after each job as JSON. Arguments: the configuration's file, the hours.
 *
 * The engine compiles code that runs often, and keeps the result: over a day the heap grows by a tenth, although the
 * program leaves nothing behind. Nothing is compiled here, so that a leak of a few kilobytes per run shows.
 */
import { writeSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Clock, systemClock } from '../../../src/engine/base/clock.js'
import { SkippingClock } from './clocks.js'

for (const flag of ['--expose-gc', '--no-opt', '--no-sparkplug']) setFlagsFromString(flag)
const collect = runInNewContext('gc') as () => void

const [file = '', hours = '24'] = process.argv.slice(2)
const clock: SkippingClock = new SkippingClock({ ...systemClock })
const skipping: Clock = {
  nowMicros: () => clock.nowMicros(),
  sleep: (milliseconds, signal) => clock.sleep(milliseconds, signal),
}
Object.assign(systemClock, skipping)
const until = clock.nowMicros() + BigInt(Number(hours) * 3600) * 1_000_000n
const memory: { at: number; heap: number; resident: number }[] = []
let isStopping = false

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
  } else if (!line.startsWith('{')) writeSync(1, line)
  return true
}) as typeof process.stderr.write
process.once('exit', () => writeSync(1, JSON.stringify({ memory })))

process.argv.splice(2, Number.POSITIVE_INFINITY, 'schedule', '--config', file)
await import('../../../src/entry.js')
